"""Values that are not numbers, or that a conversion would change, are errors; masked values are missing."""

import datetime
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, OnlinePredictor, Predictor, WidthwiseRegressor, evaluate_intervals, plan

N = 40
X = np.random.default_rng(0).normal(size=(N, 2))
F = X[:, 0].copy()
Y = F + np.random.default_rng(1).normal(size=N)
AT_3 = np.arange(N) == 3


def masked(values):
    return np.ma.array(values, mask=np.broadcast_to(AT_3 if np.ndim(values) == 1 else AT_3[:, None], np.shape(values)))


def localizer(**options):
    return Localizer(score_transform="identity", **options)


def regressor(**options):
    return WidthwiseRegressor(LinearRegression(), score_transform="identity", random_state=0, **options)


@pytest.fixture(scope="module")
def learnt():
    return localizer().fit(X, Y, F)


@pytest.fixture(scope="module")
def predictor(learnt):
    return Predictor(learnt, learnt.calibrate(X + 9, Y, F))


NOT_NUMBERS = {
    "dates": (Y.astype("datetime64[s]"), "holds dates .datetime64.s..; derive numbers first"),
    "durations": (Y.astype("timedelta64[s]"), "holds durations"),
    "dates of pandas": (pd.Series(Y.astype("datetime64[s]")), "holds dates"),
    "dates of pandas with a zone": (pd.Series(Y.astype("datetime64[s]")).dt.tz_localize("UTC"), "holds dates"),
    "dates of polars": (pl.Series(Y).cast(pl.Int64).cast(pl.Datetime), "holds dates"),
    "dates of Arrow": (pa.array(Y.astype(int)).cast(pa.timestamp("s")), "holds dates"),
    "dates as objects": ([datetime.date(2020, 1, 1)] * N, "must be a number"),
    "complex numbers": (Y + 1j, "complex"),
    "text": (Y.astype(str), "holds <U"),
    "text in a list": (list(Y.astype(str)), "holds <U"),
    "text as objects": (Y.astype(str).astype(object), r"\[0\] is '.*'; expected a number; convert text"),
    "bytes": (Y.astype("S20"), "holds .S20"),
    "one text among numbers": ([*Y[1:].tolist(), "1.5"], "expected a number|holds <U"),
    "too large": ([*Y[1:].tolist(), 10**400], "too large for a double"),
}


@pytest.mark.parametrize(("values", "message"), NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_values_that_are_not_numbers_are_refused(learnt, predictor, values, message):
    refused = pytest.raises((ValueError, TypeError), match=message)
    with refused:
        localizer().fit(X, values, F)
    with refused:
        learnt.calibrate(X, Y, values)
    with refused:
        predictor.evaluate(X, values, F)
    with refused:
        Calibration().add(values)
    with refused:
        evaluate_intervals(np.tile([-1.0, 1.0], (N, 1)), values, confidence_level=0.9, calibration_rows=99)


@pytest.mark.parametrize(
    "kind",
    ["datetime64[s]", "timedelta64[D]", complex, str, "S20"],
    ids=["dates", "durations", "complex", "text", "bytes"],
)
def test_a_matrix_of_no_numbers_is_refused(predictor, kind):
    wrong = X.astype(kind)
    with pytest.raises(ValueError, match="X holds|Complex data not supported"):
        localizer().fit(wrong, Y, F)
    with pytest.raises(ValueError, match="X holds|Complex data not supported"):
        predictor.predict_interval(wrong, F)
    with pytest.raises(ValueError, match="X holds|Complex data not supported"):
        regressor().fit(wrong, Y)


def test_numbers_of_any_kind_are_taken_as_they_are(learnt):
    right = learnt.scores(X, Y, F)
    for same in (
        Y.astype(object),
        Y.astype(np.longdouble),
        Y.astype(">f8"),
        pd.Series(Y, dtype="Float64"),
        pl.Series(Y),
        pa.array(Y),
        pa.chunked_array([Y[:10], Y[10:]]),
        np.ma.array(Y),
        Y.tolist(),
        [Decimal(y) for y in Y.tolist()],
    ):
        assert np.array_equal(learnt.scores(X, same, F), right)
    whole = learnt.scores(X, np.round(Y), F)
    assert np.array_equal(learnt.scores(X, np.round(Y).astype(np.float16), F), whole)
    assert np.array_equal(learnt.scores(X, np.round(Y).astype(np.int8), F), whole)
    assert np.array_equal(learnt.scores(X, Y > 0, F), learnt.scores(X, (Y > 0).astype(float), F))


def test_masked_features_are_missing():
    grown = np.column_stack([X, np.abs(Y - F)])
    hidden = np.ma.array(grown, mask=np.zeros(grown.shape, dtype=bool))
    hidden[::2, 2] = np.ma.masked
    as_nan = hidden.filled(np.nan)
    fitted = Localizer(goal=0.85, n_jobs=1).fit(hidden, Y, F)
    assert np.array_equal(fitted.parameters(hidden, F), fitted.parameters(as_nan, F))
    assert not np.array_equal(fitted.parameters(hidden, F), fitted.parameters(hidden.data, F))
    assert np.array_equal(
        Localizer(goal=0.85, n_jobs=1).fit(as_nan, Y, F).parameters(as_nan, F), fitted.parameters(as_nan, F)
    )
    model = WidthwiseRegressor(n_jobs=1, random_state=0, cv=2).fit(hidden, Y)
    assert np.array_equal(model.predict(hidden), model.predict(as_nan))


@pytest.mark.parametrize("missing", [masked(Y), np.where(AT_3, np.nan, Y), pd.Series(Y, dtype="Float64").where(~AT_3)])
def test_missing_outcomes_and_predictions_are_refused_with_their_row(learnt, predictor, missing):
    with pytest.raises(ValueError, match="row 4 of 'y' is nan"):
        localizer().fit(X, missing, F)
    with pytest.raises(ValueError, match="row 4 of 'y_pred' is nan"):
        localizer().fit(X, Y, missing)
    with pytest.raises(ValueError, match=r"y\[3\] is nan"):
        learnt.calibrate(X + 1, missing, F)
    with pytest.raises(ValueError, match=r"y_pred\[3\] is nan"):
        learnt.calibrate(X + 1, Y, missing)
    with pytest.raises(ValueError, match=r"y\[3\] is nan"):
        predictor.evaluate(X + 1, missing, F)
    with pytest.raises(ValueError, match=r"y\[3\] is nan"):
        regressor().fit(X, missing)
    with pytest.raises(ValueError, match="row 4 of 'y_pred' is nan"):
        WidthwiseRegressor(score_transform="identity").fit(X, Y, y_pred=missing)
    with pytest.raises(ValueError, match="row 4"):
        evaluate_intervals(np.tile([-1.0, 1.0], (N, 1)), missing, confidence_level=0.9, calibration_rows=99)


def test_labels_and_keys_are_exact_or_refused(learnt):
    def calibrated(**options):
        return learnt.calibrate(X + 2, Y, F, **options)

    whole = np.arange(N)
    large = np.where(AT_3, np.uint64(2**63), whole.astype(np.uint64))
    assert calibrated(groups=large).groups[-1] == "9223372036854775808"
    assert len(calibrated(key=large)) == N
    assert calibrated(groups=np.full(N, 2**63 - 1, dtype=np.uint64)).groups == [2**63 - 1]
    for name, problem in {"groups": "missing", "key": "masked"}.items():
        with pytest.raises(ValueError, match=rf"{name}\[3\] is {problem}"):
            calibrated(**{name: masked(whole)})
        with pytest.raises(ValueError, match=name):
            calibrated(**{name: whole + 0.5})
    assert calibrated(groups=[2**70] * N).groups == ["1180591620717411303424"]


@pytest.mark.parametrize("group", [1, "0", 2**64, True, np.nan])
def test_a_group_without_rows_has_no_finite_quantile(group):
    calibration = Calibration().add(np.arange(9.0), groups=[5] * 9)
    assert calibration.quantile(0.5, group="5") == calibration.quantile(0.5, group=5) == 4
    assert calibration.quantile(0.5, group=group) == np.inf
    with pytest.raises(ValueError, match=r"group\[0\] is 1.5; expected text, booleans or integers"):
        calibration.quantile(0.5, group=1.5)


@pytest.mark.parametrize("above", [["False"], [np.nan], [0.5], [2], np.ma.array([True], mask=True)])
def test_sides_are_true_or_false(above):
    with pytest.raises(ValueError, match="above"):
        Calibration().add([1.0], above=above)
    assert Calibration().add([1.0, 2.0], above=[0, 1]) == Calibration().add([1.0, 2.0], above=[False, True])


def test_two_columns_of_one_name_are_refused(learnt):
    names = ["x0", "x1", "x1"]
    columns = [X[:, 0], X[:, 1], Y]
    for table in (pa.table(columns, names=names), pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)):
        with pytest.raises(ValueError, match="duplicate column name 'x1'"):
            localizer().fit(table, Y, F)
        with pytest.raises(ValueError, match="duplicate column name 'x1'"):
            learnt.scores(table, Y, F)


@pytest.mark.parametrize("library", [pa.table, pl.DataFrame, pd.DataFrame])
def test_names_of_columns_are_never_cut(learnt, library):
    table = library({"x0": X[:, 0], "x1": X[:, 1], "y\0": Y})
    with pytest.raises(ValueError, match="the name of the column .*y.x00. is not valid UTF-8"):
        localizer().fit(table, Y, F)
    with pytest.raises(ValueError, match="is not valid UTF-8"):
        learnt.scores(table, Y, F)


@pytest.mark.parametrize("cv", [0, -3, True])
def test_fewer_than_one_fold_is_refused(cv):
    for model in (regressor(cv=cv), WidthwiseRegressor(score_transform="identity", cv=cv)):
        with pytest.raises(ValueError, match="cv is .*; expected a whole number from 1"):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="cv is 1; expected a whole number from 2"):
        regressor(cv=1, calibration="cross").fit(X, Y)


WHOLE_NUMBERS = {
    "random_state": lambda value, _: localizer(random_state=value),
    "random_state ": lambda value, _: Calibration(random_state=value),
    "capacity": lambda value, _: Calibration(capacity=value),
    "first_row": lambda value, _: Calibration().add([1.0], first_row=value),
    "window_rows": lambda value, predictor: OnlinePredictor(predictor, window_rows=value),
    "batch": lambda value, predictor: OnlinePredictor(predictor).observe(X, Y, F, batch=value),
    "batch ": lambda value, predictor: OnlinePredictor(predictor).drop(value),
    "batch_size": lambda value, predictor: OnlinePredictor(predictor).track(X, Y, F, batch_size=value),
    "delay": lambda value, predictor: OnlinePredictor(predictor).track(X, Y, F, delay=value),
    "calibration_rows": lambda value, _: evaluate_intervals(
        np.tile([-1.0, 1.0], (N, 1)), Y, confidence_level=0.9, calibration_rows=value
    ),
    "rows": lambda value, _: plan(rows=value),
}


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**64, 1.5, "1", True, np.nan])
@pytest.mark.parametrize(("name", "use"), WHOLE_NUMBERS.items(), ids=WHOLE_NUMBERS)
def test_parameters_that_are_no_whole_number_are_refused(predictor, name, use, value):
    with pytest.raises(ValueError, match=f"{name.strip()} is .*; expected a whole number"):
        use(value, predictor)


@pytest.mark.parametrize("level", ["0.9", ["0.9"], 0.9 + 0j, np.timedelta64(1, "s"), [], True])
def test_levels_are_numbers(predictor, level):
    with pytest.raises((ValueError, TypeError)):
        predictor.predict_interval(X, F, confidence_level=level)


@pytest.mark.parametrize("ends", [(5, 1), (np.nan, 1), (0, 1, 2), "01", (1, 1)])
def test_a_range_is_two_numbers_in_order(ends):
    with pytest.raises(ValueError, match="outcome_range"):
        localizer(outcome_range=ends)


@pytest.mark.parametrize("step", [0, -1, np.nan, np.inf, "1", True, (1, 2)])
def test_a_step_is_a_positive_number(step):
    with pytest.raises(ValueError, match="outcome_step"):
        localizer(outcome_step=step)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinite_outcomes_are_not_observed(predictor, infinite):
    online = OnlinePredictor(predictor)
    new = X + 0.5  # rows that did not fit the model
    batch = online.predict_interval(new, F).batch
    wrong = np.where(AT_3, infinite, Y)
    with pytest.raises(ValueError, match=r"y\[3\] is -?inf; expected a finite number, or NaN"):
        online.observe(new, wrong, F, batch=batch)
    with pytest.raises(ValueError, match=r"y\[3\] is -?inf"):
        online.track(new, wrong, F)
    assert online.rows_observed == 0
    online.observe(new, masked(Y), F, batch=batch)  # a masked outcome is not known yet
    assert (online.rows_observed, online.pending) == (N - 1, {batch: 1})


def test_names_of_files_are_never_cut(predictor, tmp_path):
    file = tmp_path / "model.safetensors"
    predictor.save(file)
    for name in (f"{file}\0.bak", os.fsencode(file) + b"\0", Path(f"{file}\0x")):
        with pytest.raises(ValueError, match="NUL"):
            Predictor.load(name)
        with pytest.raises(ValueError, match="NUL"):
            predictor.save(name)
        with pytest.raises(ValueError, match="NUL"):
            OnlinePredictor(predictor).save(name)
    assert os.listdir(tmp_path) == [file.name]


def test_names_of_files_need_not_be_utf8(predictor, tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.safetensors"
    with pytest.raises(FileNotFoundError):
        Predictor.load(name)
    predictor.save(name)
    assert Predictor.load(name).features == Predictor.load(os.fsdecode(name)).features
    Path(os.fsdecode(name)).write_bytes(b"no model")
    with pytest.raises(ValueError, match=r"\\xff.safetensors"):
        Predictor.load(name)
