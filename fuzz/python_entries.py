"""Fuzz every function of the Python package with unusual arrays, tables and options, generated from bytes.

Each call must return a result or raise one of the exceptions listed in docs/python.md, with a readable message. Any
other exception and any crash is a failure. `python fuzz/python_entries.py FOLDER -max_total_time=600` searches with
atheris (pip install atheris), which takes the options of libFuzzer. Without atheris, `--replay COUNT` runs COUNT random
inputs with a fixed seed, and `--replay 0 FILE ...` runs stored inputs.
"""

from __future__ import annotations

import pickle
import random
import sys
import warnings
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

try:
    import atheris
except ImportError:  # not needed for --replay
    atheris = None

with atheris.instrument_imports(include=["widthwise"]) if atheris else nullcontext():
    import widthwise
    from widthwise import (
        Calibration,
        Localizer,
        OnlinePredictor,
        Predictor,
        WidthwiseRegressor,
        evaluate_intervals,
        plan,
    )

EXPECTED = (ValueError, TypeError, OSError, ImportError)

ROWS = 30
X = np.random.default_rng(0).normal(size=(ROWS, 2))
F = X[:, 0].copy()
Y = F + np.random.default_rng(1).normal(size=ROWS)

ODD_SCALARS = [
    *(None, True, False, 0, 1, 2, 3, -1, 7, 30, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 10**30),
    *(0.0, -0.0, 0.5, 0.9, 0.999999999, 1.0, 1.5, -3.0, 5e-324, 1e308, float("nan"), float("inf"), float("-inf")),
    *("", "0.9", "marginal", "narrow", "all", "\0", "\udcff", b"x", 1j, Decimal("0.9"), np.float32(0.9), np.int8(-1)),
    *(
        np.datetime64("2020-01-01"),
        np.timedelta64(1, "s"),
        np.ma.masked,
        pd.NA,
        pd.NaT,
        (),
        (0, 1),
        (0.8, 0.95),
        [0.5, 0.9],
    ),
    *({}, object(), np.array(0.9), np.array([]), np.array([[0.9]])),
]
DTYPES = [
    *("f8", "f4", "f2", "g", ">f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", "?", "c16"),
    *("M8[s]", "M8[ns]", "m8[D]", "U3", "S3", "O", "V8"),
]
ROW_COUNTS = [ROWS, ROWS, ROWS, ROWS, ROWS - 1, ROWS + 1, 0, 1, 2]
GOOD_NUMBERS = (0.5, 0.9, [0.8, 0.9])


class Bytes:
    """Choices derived from bytes; zeros after the last byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._rate = (3, 10, 40)[self.below(3)]  # one choice in this many is unusual

    def take(self, n: int) -> bytes:
        taken = self._data[self._at : self._at + n]
        self._at += n
        return taken + bytes(n - len(taken))

    def below(self, n: int) -> int:
        return int.from_bytes(self.take(2), "little") % n

    def pick(self, choices):
        return choices[self.below(len(choices))]

    def odd(self, rate: int | None = None) -> bool:
        return self.below(rate or self._rate) == 0


def odd_array(data: Bytes, rows: int, columns: int | None):
    """An array of a dtype and a layout that users may have."""
    shape = (rows,) if columns is None else (rows, columns)
    count = int(np.prod(shape))
    dtype = np.dtype(data.pick(DTYPES))
    if dtype.kind == "O":
        values = np.array(
            [data.pick(ODD_SCALARS) for _ in range(min(count, 4))] + [1.5] * max(0, count - 4), dtype=object
        )
    elif dtype.kind in "USV":
        values = np.array([b"1.5", b"x", b""] * count)[:count].astype(dtype)
    else:
        raw = np.frombuffer((data.take(64) * (count // 4 + 1))[: 8 * count], dtype="i8")
        with np.errstate(all="ignore"):
            values = (raw % 1000 / 7 if dtype.kind in "fc" and data.odd(2) else raw).astype(dtype)
        if dtype.kind in "fc" and count and data.odd(2):
            values[data.below(count)] = data.pick([np.nan, np.inf, -np.inf, 1e39, 5e-324, -0.0])
    values = values[:count].reshape(shape)
    layout = data.below(8)
    if layout == 0:
        values = np.ma.array(values, mask=np.arange(count).reshape(shape) % 5 == 1)
    elif layout == 1:
        values = values[::-1]
    elif layout == 2:
        values = np.asfortranarray(values)
    elif layout == 3:
        values = np.repeat(values, 2, axis=0)[::2]
    elif layout == 4:
        values.flags.writeable = False
    elif layout == 5:
        values = np.broadcast_to(values[:1], shape)
    elif layout == 6:
        values = values.tolist()
    return values


def polars_series(values):
    """A series made through Arrow, because polars aborts the process for some numpy arrays."""
    return pl.Series(pa.array(values))


def column(data: Bytes, good: np.ndarray):
    """A column for a parameter: usually valid, or unusual in one way."""
    if not data.odd():
        kind = data.below(6)
        return [good, good.tolist(), pd.Series(good), pl.Series(good), pa.array(good), np.flip(good)][kind]
    if data.odd(4):
        return data.pick(ODD_SCALARS)
    rows = data.pick(ROW_COUNTS)
    values = odd_array(data, rows, None if not data.odd(6) else data.below(3))
    try:
        return data.pick([np.asarray, pd.Series, polars_series, pa.array, lambda same: same])(values)
    except Exception:  # noqa: BLE001 - inputs that the other package rejects
        return values


def table(data: Bytes):
    if not data.odd():
        columns = {"x0": X[:, 0], "x1": X[:, 1]}
        return data.pick(
            [lambda: X, lambda: pd.DataFrame(columns), lambda: pl.DataFrame(columns), lambda: pa.table(columns)]
        )()
    if data.odd(4):
        return data.pick(ODD_SCALARS)
    rows, width = data.pick(ROW_COUNTS), data.below(4)
    if data.odd(2):
        return odd_array(data, rows, width)
    names = [data.pick(["x0", "x1", "x2", "", "y", "a\0b", "é"]) for _ in range(width)]
    columns = [odd_array(data, rows, None) for _ in names]
    try:
        made = pa.table([pa.array(values) for values in columns], names=names)
        kind = data.below(5)
        return [made, made.slice(1), pa.concat_tables([made, made]), made.to_pandas(), pl.from_arrow(made)][kind]
    except Exception:  # noqa: BLE001 - inputs that the other package rejects
        return pd.DataFrame(dict(zip(names, map(list, columns), strict=True)))


def option(data: Bytes, *good):
    return data.pick(good) if not data.odd() else data.pick(ODD_SCALARS)


def integers(data: Bytes):
    if data.odd(2):
        return None
    return column(data, np.arange(ROWS) % 3 if data.odd(2) else np.arange(ROWS))


# ---- the functions under test


def fit_localizer(data: Bytes) -> None:
    localizer = Localizer(
        score_transform="identity" if not data.odd(8) else data.pick(["exp", "nothing", "", 3]),
        goal=option(data, None, "even", 0.5),
        confidence_level=option(data, *GOOD_NUMBERS),
        two_sided=option(data, None, False),
        level_window=option(data, None, "all"),
        outcome_range=option(data, None, (-1e9, 1e9)),
        outcome_step=option(data, None, 1, 0.1, -1, float("nan")),
        random_state=option(data, 0, 5),
        n_jobs=option(data, 1),
        guarantee=option(data, "marginal", 0.9),
    )
    localizer.fit(table(data), column(data, Y), column(data, F))
    localizer.half_widths(table(data), column(data, F), option(data, [0.5], [1.0, 2.0]))


def use_predictor(data: Bytes) -> None:
    rows, f = table(data), column(data, F)
    use = data.below(5)
    if use == 0:
        _, intervals = PREDICTOR.predict_interval(
            rows, f, confidence_level=option(data, *GOOD_NUMBERS), groups=integers(data)
        )
        assert not np.isnan(intervals).any(), "an interval is not a number"
        assert (intervals[:, 0] <= intervals[:, 1]).all(), "a lower bound lies above its upper bound"
    elif use == 1:
        p = PREDICTOR.predict_p(rows, column(data, Y), f, groups=integers(data))
        assert ((p > 0) & (p <= 1)).all(), "a p-value is outside (0, 1]"
    elif use == 2:
        PREDICTOR.predict_quantile(rows, option(data, *GOOD_NUMBERS), f, groups=integers(data))
    elif use == 3:
        str(PREDICTOR.evaluate(rows, column(data, Y), f, confidence_level=option(data, 0.9), groups=integers(data)))
    else:
        PREDICTOR.with_guarantee(option(data, "marginal", 0.9)).calibrated(
            rows, column(data, Y), f, groups=integers(data), key=integers(data), replace=bool(data.below(2))
        )


def use_calibration(data: Bytes) -> None:
    calibration = Calibration(capacity=option(data, 10, 1_000_000), random_state=option(data, 0, 1))
    calibration.add(
        column(data, np.abs(Y)),
        above=None if data.odd(2) else column(data, Y > 0),
        weights=None if data.odd(2) else column(data, np.abs(F)),
        groups=None if data.odd(2) else integers(data),
        first_row=option(data, None, 0, 100),
        key=None if not data.odd(4) else integers(data),
    )
    calibration.quantile(option(data, 0.9), group=option(data, None, 0), guarantee=option(data, "marginal"))
    calibration.p_values(column(data, Y), group=option(data, None, 0), test_weight=option(data, None, 1.0))
    assert pickle.loads(pickle.dumps(calibration)) == calibration
    calibration.merge(calibration)


def use_online(data: Bytes) -> None:
    online = OnlinePredictor(
        PREDICTOR,
        option(data, None, *GOOD_NUMBERS),
        method=data.pick(["adaptive", "decaying"]) if not data.odd(8) else option(data, ""),
        step=option(data, None, 0.1),
        window_rows=option(data, None, 5, 100),
    )
    for _ in range(data.below(4)):
        issued = online.predict_interval(table(data), column(data, F))
        batch = option(data, None, issued.batch)
        if data.odd(4):
            online.drop(issued.batch if batch is None else batch)
        else:
            online.observe(table(data), column(data, Y), column(data, F), batch=batch)
    online.track(table(data), column(data, Y), column(data, F), batch_size=option(data, 1, 7), delay=option(data, 0, 3))
    again = pickle.loads(pickle.dumps(online))
    assert again.coverage == online.coverage or np.isnan(online.coverage).any()


def damaged(data: Bytes, good: bytes) -> bytes:
    """The bytes of an object with a few changes."""
    changed = bytearray(good)
    for _ in range(1 + data.below(4)):
        at = data.below(2**16) * 7 % max(1, len(changed))
        kind = data.below(3)
        if kind == 0 and changed:
            changed[at] = data.below(256)
        elif kind == 1:
            changed[at:at] = data.take(data.below(9))
        else:
            del changed[at : at + data.below(2 * len(good))]
    return bytes(changed)


def load_bytes(data: Bytes) -> None:
    kind = data.below(3)
    if kind == 0:
        read = widthwise._core.Model.from_bytes(damaged(data, MODEL_BYTES))
        Predictor._of(read).predict_interval(X, F if read.needs_predictions else None)
    elif kind == 1:
        Calibration.from_bytes(damaged(data, CALIBRATION_BYTES)).quantile(0.9)
    else:
        Predictor.load(option(data, "nothing.safetensors", "/", "/dev/null", "/proc/self/mem"))


def judge(data: Bytes) -> None:
    if data.odd(3):
        plan(
            option(data, 0.9),
            **data.pick([{"tolerance": option(data, 0.02)}, {"rows": option(data, 99)}]),
            confidence=option(data, 0.95),
            guarantee=option(data, "marginal"),
        )
        return
    bounds = np.column_stack([F - 1, F + 1])
    evaluate_intervals(
        bounds if not data.odd(4) else odd_array(data, ROWS, 2),
        column(data, Y),
        confidence_level=option(data, 0.9),
        calibration_rows=option(data, 99),
        X=option(data, None, X),
        guarantee=option(data, "marginal"),
    )


def use_regressor(data: Bytes) -> None:
    model = WidthwiseRegressor(
        score_transform="identity",
        confidence_level=option(data, *GOOD_NUMBERS),
        cv=option(data, 2, 5),
        calibration_size=option(data, 0.25, 10, 0),
        random_state=option(data, None, 0),
        n_jobs=1,
        outcome_range=option(data, None),
        guarantee=option(data, "marginal"),
    )
    model.fit(table(data), column(data, Y), y_pred=column(data, F))
    model.predict_interval(table(data), option(data, *GOOD_NUMBERS), y_pred=column(data, F))
    model.conformalize(X + 3, column(data, Y), y_pred=column(data, F), replace=bool(data.below(2)))


ENTRIES = [fit_localizer, use_predictor, use_calibration, use_online, load_bytes, judge, use_regressor]

_learnt = Localizer(score_transform="identity").fit(X, Y, F)
PREDICTOR = Predictor(_learnt, _learnt.calibrate(X + 9, Y, F))
MODEL_BYTES = PREDICTOR._model.to_bytes()
CALIBRATION_BYTES = PREDICTOR.calibration.to_bytes()


def run_one(content: bytes) -> None:
    """Run one input; raise only exceptions that the package must not raise."""
    data = Bytes(content)
    entry = data.pick(ENTRIES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            entry(data)
        except EXPECTED as error:
            if "incompatible function arguments" in str(error):
                raise AssertionError(f"{entry.__name__}: an argument reaches C++ unchecked: {error}") from error


def replay(count: int, files: list[str], seed: int = 0) -> None:
    """Run the inputs of the files, and `count` inputs of random bytes."""
    for file in files:
        run_one(Path(file).read_bytes())
    generator = random.Random(seed)
    for i in range(count):
        content = generator.randbytes(generator.choice((8, 60, 400)))
        try:
            run_one(content)
        except BaseException:
            print(f"input {i} of seed {seed}: {content.hex()}", file=sys.stderr)
            raise


def main() -> None:
    if sys.argv[1:2] == ["--replay"]:
        replay(int(sys.argv[2]), sys.argv[3:])
        return
    if atheris is None:
        raise SystemExit("searching needs atheris: pip install atheris; --replay COUNT does without")
    atheris.Setup(sys.argv, run_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
