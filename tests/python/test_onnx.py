"""Graphs in ONNX Runtime give the results of the library, also for rows with missing values."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
import xxhash

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import widthwise.onnx  # noqa: E402
from widthwise import Localizer, Predictor, WidthwiseRegressor, __version__, _core, _tables  # noqa: E402

ROWS = 10_000
LEVELS = [0.5, 0.8, 0.95]
GOALS = {
    "exp": "even",
    "erc": "even",
    "linear": 0.5,
    "sigma": "even",
    "density": "narrow",
    "affine": "narrow",
    "spline": "even",
    "shortest": "even",
}


def rows(n, seed):
    """Features with missing values, outcomes with errors that depend on x, and the true f as predictions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    f = 3 * X[:, 0] + X[:, 1]
    y = f + np.exp(0.7 * X[:, 1] - 0.5) * (rng.exponential(size=n) - 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, f


FIT = rows(600, 1)
CALIBRATION = rows(300, 2)
TEST = rows(ROWS, 3)


@functools.cache
def fitted(**options):
    """A predictor for predictions of another model."""
    low, high = options.get("outcome_range") or (-math.inf, math.inf)
    step = options.get("outcome_step") or 2.0**-40
    (X, y, f), (X_cal, y_cal, f_cal) = FIT, CALIBRATION
    y, y_cal = (np.clip(np.round(values / step) * step, low, high) for values in (y, y_cal))
    localizer = Localizer(n_jobs=1, **options).fit(X, y, f)
    return Predictor(localizer, localizer.calibrate(X_cal, y_cal, f_cal))


@pytest.fixture(scope="module")
def even():
    return fitted(goal="even", two_sided=False)


@pytest.fixture(scope="module")
def regressor():
    X, y, _ = rows(600, 4)
    return WidthwiseRegressor(confidence_level=LEVELS, random_state=0, n_jobs=1).fit(X, y)


def session_of(proto, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(proto, X, y_pred=None, threads=1):
    """The outputs of a graph by name."""
    onnx.checker.check_model(proto, full_check=True)
    session = session_of(proto, threads)
    kinds = {value.name: value.type for value in session.get_inputs()}
    feed = {"x": X.astype(np.float64 if kinds["x"] == "tensor(double)" else np.float32)}
    if y_pred is not None:
        feed["prediction"] = y_pred
    assert set(feed) == set(kinds)
    return dict(zip((value.name for value in session.get_outputs()), session.run(None, feed), strict=True))


def assert_same(outputs, intervals, tolerance=1e-12):
    """Bounds agree relative to the width, or to the mean width of the level, apart from rounding of the bounds."""
    lower, upper = intervals[:, 0], intervals[:, 1]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    width = np.subtract(upper, lower, out=np.zeros_like(lower), where=bounded)
    scale = np.maximum(width, width.mean(axis=0))
    for found, expected in ((outputs["lower"], lower), (outputs["upper"], upper)):
        assert found.shape == expected.shape and found.dtype == np.float64
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(found[~finite], expected[~finite])
        error = np.abs(found[finite] - expected[finite])
        assert np.all(error <= tolerance * scale[finite] + 2 * np.spacing(np.abs(expected[finite])))


def assert_no_narrower(outputs, intervals):
    """Intervals contain the library's: trees and networks give the same bits, and half-widths are rounded up."""
    assert np.all(outputs["lower"] <= intervals[:, 0])
    assert np.all(outputs["upper"] >= intervals[:, 1])


def assert_exported(predictor, X, y_pred=None, levels=None, **options):
    levels = levels or LEVELS
    outputs = run(widthwise.onnx.export(predictor, confidence_level=levels), X, y_pred, **options)
    _, intervals = predictor.predict_interval(X, y_pred, confidence_level=levels)
    assert_same(outputs, intervals)
    assert_no_narrower(outputs, intervals)
    return intervals


# ---- model files as texts and arrays, to construct models that fit does not produce

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "U32": np.uint32, "U8": np.uint8}


def read_file(predictor):
    data = predictor._model.to_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    texts = header.pop("__metadata__")
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        array = np.frombuffer(data[begin + first : begin + last], DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return texts, arrays


def write_file(path, texts, arrays):
    names = {np.dtype(kind): name for name, kind in DTYPES.items()}
    header = {}
    content = b""
    # Wide types first, so that all arrays are aligned.
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize):
        place = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": place}
        content += array.tobytes()
    # The checksum is that of the file with zeros in its place.
    header["__metadata__"] = texts | {"checksum": "0" * 16}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = len(text).to_bytes(8, "little") + text + content
    before, after = data.split(b'"checksum":"' + b"0" * 16, 1)
    checksum = xxhash.xxh3_64_hexdigest(data).encode()
    Path(path).write_bytes(before + b'"checksum":"' + checksum + after)
    return path


# ---- trees


@pytest.mark.parametrize("threads", [1, 2])
def test_base_model_and_localizer_give_the_library_s_numbers(regressor, threads):
    X = TEST[0]
    outputs = run(widthwise.onnx.export(regressor), X, threads=threads)
    y_pred, intervals = regressor.predict_interval(X)
    assert list(outputs) == ["prediction", "lower", "upper"]
    np.testing.assert_array_equal(outputs["prediction"], y_pred)
    assert intervals.shape == (ROWS, 2, len(LEVELS))
    assert_same(outputs, intervals)
    assert_no_narrower(outputs, intervals)


@pytest.mark.parametrize("n", [0, 1, 2, 60, 200])
def test_any_number_of_rows(regressor, n):
    X = TEST[0][:n]
    outputs = run(widthwise.onnx.export(regressor), X, threads=2)
    assert outputs["lower"].shape == outputs["upper"].shape == (n, len(LEVELS))
    if n:
        y_pred, intervals = regressor.predict_interval(X)
        np.testing.assert_array_equal(outputs["prediction"], y_pred)
        assert_same(outputs, intervals)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("transform", GOALS)
def test_every_transform(transform, two_sided):
    X, _, f = TEST
    predictor = fitted(score_transform=transform, goal=GOALS[transform], two_sided=two_sided)
    assert predictor.score_transform == transform
    intervals = assert_exported(predictor, X, f)
    widths = (intervals[:, 1] - intervals[:, 0])[:, -1]
    assert len(np.unique(widths)) > 100
    above = intervals[:, 1] - f[:, None]
    assert np.allclose(above, f[:, None] - intervals[:, 0]) != two_sided


def test_values_at_thresholds(even):
    trees = even._model.localizer_arrays()
    splits = trees["feature"] >= 0
    values = np.random.default_rng(8).choice(trees["value"][splits], (1000, 5)).astype(np.float64)
    for j in range(5):
        own = trees["value"][trees["feature"] == j]
        values[: len(own), j] = own[:1000]
    assert_exported(even, values[:, :4], np.ascontiguousarray(values[:, 4]))


def test_one_width_for_all():
    predictor = fitted(score_transform="identity")
    assert predictor._model.localizer_arrays() is None
    assert_exported(predictor, TEST[0], TEST[2])


@pytest.mark.parametrize("transform", ["identity", "exp", "erc", "density", "affine"])
@pytest.mark.parametrize("score", ["squared", "log"])
def test_scores_that_only_cpp_fits(tmp_path, score, transform):
    texts, arrays = read_file(fitted(score_transform=transform, goal=None))
    assert texts["score"] == "absolute"
    predictor = Predictor.load(write_file(tmp_path / "model", texts | {"score": score}, arrays))
    assert predictor._model.score == score
    assert_exported(predictor, TEST[0], TEST[2])


def test_a_log_score_of_exact_predictions(tmp_path):
    texts, arrays = read_file(fitted(score_transform="identity"))
    predictor = Predictor.load(write_file(tmp_path / "model", texts | {"score": "log"}, arrays))
    X, _, f = rows(100, 5)
    predictor = predictor.calibrated(X, f, f, replace=True)
    assert predictor.calibration.quantile(0.9) == -math.inf
    intervals = assert_exported(predictor, TEST[0], TEST[2], [0.9])
    np.testing.assert_array_equal(intervals[:, 1, 0], TEST[2])


@pytest.mark.parametrize("transform", ["linear", "exp", "affine"])
def test_exact_predictions(transform):
    X, _, f = rows(100, 5)
    predictor = fitted(score_transform=transform, goal=None).calibrated(X, f, f, replace=True)
    assert_exported(predictor, TEST[0], TEST[2], [0.9])


def test_a_forest_without_trees(tmp_path, even):
    texts, arrays = read_file(even)
    for name in ("roots", "output_of", "feature", "value", "left", "right", "missing_left"):
        arrays[f"localizer.{name}"] = arrays[f"localizer.{name}"][:0]
    predictor = Predictor.load(write_file(tmp_path / "model", texts, arrays))
    assert_exported(predictor, TEST[0], TEST[2])


def test_large_predictions_with_narrow_widths():
    far, small = 1e9, 2.0**-10
    (X, y, f), (X_cal, y_cal, f_cal), (X_test, _, f_test) = FIT, CALIBRATION, TEST
    localizer = Localizer(n_jobs=1).fit(X, far + small * y, far + small * f)
    predictor = Predictor(localizer, localizer.calibrate(X_cal, far + small * y_cal, far + small * f_cal))
    assert predictor._model.unit < 0.01
    intervals = assert_exported(predictor, X_test, far + small * f_test)
    assert np.median(intervals[:, 1] - intervals[:, 0]) < 0.01


@pytest.mark.parametrize("outcome_range", [(0, math.inf), (-math.inf, 2.0), (-1.0, 1.0), None])
def test_the_range_of_outcomes_and_predictions_that_are_no_numbers(outcome_range):
    X, _, f = TEST
    predictor = fitted(outcome_range=outcome_range)
    low, high = outcome_range or (-math.inf, math.inf)
    f = f.copy()
    f[:4] = np.nan, math.inf, -math.inf, 1e308
    intervals = assert_exported(predictor, X, f)
    assert np.all(intervals[:3, 0] == low) and np.all(intervals[:3, 1] == high)
    assert np.all(intervals[:, 0] >= low) and np.all(intervals[:, 1] <= high)


@pytest.mark.parametrize(("step", "outcome_range"), [(1, None), (0.25, (0, math.inf)), (0.1, None)])
def test_bounds_are_rounded_to_the_step_of_outcomes(step, outcome_range):
    X, _, f = TEST
    predictor = fitted(outcome_step=step, outcome_range=outcome_range)
    f = f.copy()
    f[:4] = np.nan, math.inf, -math.inf, 1e300
    outputs = run(widthwise.onnx.export(predictor, confidence_level=LEVELS), X, f)
    _, intervals = predictor.predict_interval(X, f, confidence_level=LEVELS)
    assert_no_narrower(outputs, intervals)
    same = np.isclose(outputs["lower"], intervals[:, 0], rtol=1e-12) & np.isclose(
        outputs["upper"], intervals[:, 1], rtol=1e-12
    )
    single = intervals[:, 1] - intervals[:, 0] < step / 2  # perhaps without a multiple: the graph has both neighbours
    assert np.all(same | single) and np.mean(same) > 0.9
    assert np.all(outputs["upper"] - outputs["lower"] <= np.where(single, 1.01 * step, math.inf))


@pytest.mark.parametrize("transform", ["exp", "linear", "affine", "identity"])
def test_too_few_rows_for_a_level(transform):
    X, _, f = TEST
    predictor = fitted(score_transform=transform, goal=None).calibrated(
        *(part[:12] for part in rows(300, 6)), replace=True
    )
    with pytest.warns(UserWarning, match="intervals of level 0.99 are infinite") as caught:
        proto = widthwise.onnx.export(predictor, confidence_level=[0.99, 0.8])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, intervals = predictor.predict_interval(X, f, confidence_level=[0.99, 0.8])
    assert np.all(np.isinf(intervals[:, :, 0])) and np.all(np.isfinite(intervals[:, :, 1]))
    assert_same(run(proto, X, f), intervals)


# ---- networks


def with_network(texts, arrays, part, inputs, outputs, seed):
    """A model file with a network of random weights in place of its base model or localizer."""
    rng = np.random.default_rng(seed)
    texts = {key: text for key, text in texts.items() if not key.startswith(part)}
    arrays = {key: array for key, array in arrays.items() if not key.startswith(part)}
    sizes = [inputs, 24, 17, outputs]
    texts |= {part: "net", f"{part}.bound": "6", f"{part}.layers": str(len(sizes) - 1)}
    arrays |= {f"{part}.centre": rng.normal(size=inputs), f"{part}.scale": rng.uniform(0.5, 2, inputs)}
    for i, (before, after) in enumerate(itertools.pairwise(sizes)):
        weights = rng.normal(size=(after, before)) / math.sqrt(before)
        arrays[f"{part}.{i}.weights"] = weights.astype(np.float32)
        arrays[f"{part}.{i}.biases"] = rng.normal(size=after).astype(np.float32)
    return texts, arrays


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("transform", GOALS)
def test_exported_networks_of_every_transform_cover_what_the_library_covers(tmp_path, transform, two_sided):
    texts, arrays = read_file(fitted(score_transform=transform, goal=GOALS[transform], two_sided=two_sided))
    texts, arrays = with_network(texts, arrays, "localizer", 5, len(arrays["localizer.base"]), 1)
    predictor = Predictor.load(write_file(tmp_path / "model", texts, arrays))
    X, y, f = CALIBRATION
    predictor = predictor.calibrated(X, y, f, replace=True)
    intervals = assert_exported(predictor, *TEST[::2])
    assert len(np.unique(intervals[:, 1, -1] - intervals[:, 0, -1])) > 1000


def test_outcomes_at_the_bounds_stay_inside(tmp_path):
    """Calibration rows whose outcome equals the bound stay inside, in the library and in the graph."""
    texts, arrays = read_file(fitted(goal="even", two_sided=False))
    texts, arrays = with_network(texts, arrays, "localizer", 5, 1, 2)
    predictor = Predictor.load(write_file(tmp_path / "model", texts, arrays))
    X, _, f = rows(2000, 9)
    # Every score is 1 up to rounding.
    y = f + predictor._model.unit / np.exp(predictor._model.parameters(_tables.read(X)[0], f)[:, 0])
    with pytest.warns(UserWarning, match="smaller errors than those of these rows"):
        predictor = predictor.calibrated(X, y, f, replace=True)
    _, intervals = predictor.predict_interval(X, f, confidence_level=0.9)
    covered = y <= intervals[:, 1, 0]
    outputs = run(widthwise.onnx.export(predictor, confidence_level=0.9), X, f)
    assert 0.9 <= covered.mean()
    assert np.all((y <= outputs["upper"][:, 0])[covered])


def test_a_network_as_base_model_and_trees_as_localizer(tmp_path, regressor):
    """A prediction with a different last bit could move a row across a threshold of the localizer."""
    texts, arrays = with_network(*read_file(regressor.predictor_), "base", 4, 1, 3)
    predictor = Predictor.load(write_file(tmp_path / "model", texts, arrays))
    outputs = run(widthwise.onnx.export(predictor, confidence_level=LEVELS), TEST[0])
    y_pred, intervals = predictor.predict_interval(TEST[0], confidence_level=LEVELS)
    np.testing.assert_array_equal(outputs["prediction"], y_pred)
    assert_same(outputs, intervals)
    assert_no_narrower(outputs, intervals)


def network_program():
    path = os.environ.get("WIDTHWISE_NET_PROGRAM")
    if not path:
        pytest.skip("WIDTHWISE_NET_PROGRAM is not set to the program widthwise, which trains networks")
    return path


def net_file(folder, *options, shift=0.0):
    """A model file of the command line, with a network as its localizer."""
    X, y, f = FIT
    X = X + shift
    table = folder / "table.csv"
    np.savetxt(table, np.column_stack([X, y, f]), delimiter=",", header="a,b,c,d,y,p", comments="", fmt="%.17g")
    table.write_text(table.read_text().replace("nan", ""))
    file = folder / "net.safetensors"
    command = [network_program(), "fit", table, "--target", "y", "--prediction", "p", "--localizer", "net", "-o", file]
    command += ["--level", "0.5,0.9", "--threads", "1", *options]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return file


@pytest.mark.parametrize(
    "options", [["--goal", "even"], ["--goal", "narrow", "--two-sided", "--outcome-range", "-9.6,"]]
)
def test_a_network_of_the_command_line(tmp_path, options):
    # So far from 0 that single precision is not enough for x.
    shift = 1.7e9
    file = net_file(tmp_path, *options, shift=shift)
    predictor = Predictor.load(file)
    assert predictor._model.localizer_arrays()["kind"] == "net"
    X, _, f = TEST
    X = X + shift
    X[0, 0], X[1, 0] = math.inf, -math.inf
    f = f.copy()
    f[2] = np.nan
    outputs = run(widthwise.onnx.export(file), X, f)
    _, intervals = predictor.predict_interval(X, f)
    assert np.ptp(intervals[3:, 1, 0] - intervals[3:, 0, 0]) > 0.5
    assert_same(outputs, intervals)
    assert_no_narrower(outputs, intervals)


# ---- inputs and outputs


def test_an_estimator_of_one_s_own_stays_outside():
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y, _ = rows(600, 7)
    model = WidthwiseRegressor(HistGradientBoostingRegressor(max_iter=20), random_state=0, cv=2, n_jobs=1).fit(X, y)
    y_pred, intervals = model.predict_interval(TEST[0])
    outputs = run(widthwise.onnx.export(model), TEST[0], y_pred)
    assert list(outputs) == ["lower", "upper"]
    assert_same(outputs, intervals)


def test_files(tmp_path, regressor):
    saved, graph = tmp_path / "model.safetensors", tmp_path / "model.onnx"
    regressor.save(saved)
    proto = widthwise.onnx.export(str(saved), graph)
    onnx.checker.check_model(str(graph), full_check=True)
    assert onnx.load(graph) == proto == widthwise.onnx.export(saved) == widthwise.onnx.export(regressor)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    _, lower, _ = session.run(None, {"x": TEST[0].astype(np.float32)})
    np.testing.assert_array_equal(lower, run(proto, TEST[0])["lower"])


def test_metadata(even):
    proto = widthwise.onnx.export(even, confidence_level=LEVELS)
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(metadata.pop("features")) == ["x0", "x1", "x2", "x3"]
    assert json.loads(metadata.pop("levels")) == LEVELS
    assert metadata == {
        "guarantee": "marginal",
        "target": "y",
        "transform": "exp",
        "goal": "even",
        "widthwise_version": __version__,
    }
    assert proto.producer_name == "widthwise" and proto.producer_version == __version__


def test_levels_are_those_of_the_model_unless_said(even):
    [lower, _] = widthwise.onnx.export(even).graph.output
    assert lower.type.tensor_type.shape.dim[1].dim_value == 1
    intervals = assert_exported(even, *TEST[::2], levels=[0.9])
    np.testing.assert_array_equal(intervals, even.predict_interval(*TEST[::2])[1])


# ---- errors


def refusal(model, error=ValueError):
    with pytest.raises(error) as caught:
        widthwise.onnx.export(model)
    return str(caught.value)


def test_groups_are_refused(even):
    X, y, f = CALIBRATION
    grouped = even.calibrated(X, y, f, groups=np.arange(len(y)) % 2, replace=True)
    assert "groups" in refusal(grouped) and "replace=True" in refusal(grouped)
    assert "groups" in refusal(even.calibrated(X, y, f, groups=np.full(len(y), 7), replace=True))
    assert "groups" in refusal(even.calibrated(X, y, f, groups=np.zeros(len(y), dtype=int), replace=True))


def test_the_mixture_is_refused(tmp_path, even):
    texts, arrays = read_file(even)
    texts |= {"transform": "mixture", "transform.gamma": "0.01", "transform.epsilon": "0.01"}
    arrays["localizer.base"] = np.zeros(8, dtype=np.float32)
    message = refusal(write_file(tmp_path / "model", texts, arrays))
    assert "mixture" in message and "score_transform='auto'" in message


def test_only_calibrated_models_are_exported(tmp_path, even):
    assert "not fitted" in refusal(WidthwiseRegressor())
    assert "not calibrated" in refusal(Predictor._of(even._model.with_calibration(_core.CalibrationShard())))
    assert "Predictor(localizer, calibration)" in refusal(Localizer(), TypeError)
    assert "found int" in refusal(3, TypeError)
    assert "no such model file" in refusal(tmp_path / "nowhere", FileNotFoundError)
