"""Weights for covariate shift: given likelihood ratios, learnt ones, and sample weights for training."""

import os

import numpy as np
import pandas
import pytest

import widthwise
from widthwise import Predictor, WidthwiseRegressor

FULL = os.environ.get("WIDTHWISE_FULL") == "1"
TILT = 1.0


def source(n, rng):
    """Rows whose errors grow with the first feature."""
    return _rows(rng.normal(size=(n, 3)), rng)


def target(n, rng):
    """Rows with the density of the source times exp(TILT x): a shift of the first feature, where errors are large."""
    return _rows(rng.normal(size=(n, 3)) + np.array([TILT, 0, 0]), rng)


def _rows(x, rng):
    return x, x[:, 1] + np.exp(0.5 * x[:, 0]) * rng.normal(size=len(x))


def ratio(x):
    return np.exp(TILT * x[:, 0] - TILT**2 / 2)


def fitted(rng, **options):
    """A model of one width for all rows, so that coverage depends on the shift; y_pred is the known mean."""
    x, y = source(1000, rng)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0, random_state=0, n_jobs=1)
    return model.fit(x, y, y_pred=x[:, 1], **({"weights": ratio(x)} if options.get("weighted") else {}))


def covered(intervals, y):
    return np.mean((intervals[:, 0, 0] <= y) & (y <= intervals[:, 1, 0]))


def test_coverage_under_a_known_shift_is_that_of_the_level():
    rng = np.random.default_rng(1)
    weighted, plain = fitted(rng, weighted=True).predictor_, fitted(rng).predictor_
    found = []
    repetitions = 2000 if FULL else 200
    for _ in range(repetitions):
        (x, y), (new, outcomes) = source(1000, rng), target(300, rng)
        calibrated = weighted.calibrated(x, y, x[:, 1], weights=ratio(x), replace=True)
        with_weights = calibrated.predict_interval(new, new[:, 1], weights=ratio(new))[1]
        without = plain.calibrated(x, y, x[:, 1], replace=True).predict_interval(new, new[:, 1])[1]
        found.append((covered(with_weights, outcomes), covered(without, outcomes)))
    with_weights, without = np.mean(found, axis=0)
    error = np.std(found, axis=0)[0] / np.sqrt(repetitions)
    assert error < 0.0025
    assert 0.9 - 3 * error < with_weights < 0.9 + 0.005 + 3 * error
    assert without < 0.85


def test_the_same_intervals_on_the_command_line(program, tmp_path):
    rng = np.random.default_rng(2)
    for name, (x, y) in {"fit.csv": source(1500, rng), "new.csv": target(400, rng)}.items():
        frame = pandas.DataFrame(x, columns=["a", "b", "c"]).assign(y=y, w=ratio(x))
        frame.to_csv(tmp_path / name, index=False)
    options = ["--target", "y", "--base", "trees", "--base-options", "rounds=20", "--weight", "w"]
    done = program("fit", "fit.csv", *options, "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "weighted (effective sample size" in done.stdout
    done = program("predict", "model.safetensors", "new.csv", "-o", "out.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = pandas.read_parquet(tmp_path / "out.parquet")
    new = pandas.read_csv(tmp_path / "new.csv")
    predictor = Predictor.load(tmp_path / "model.safetensors")
    assert predictor.features == ["a", "b", "c"]
    _, intervals = predictor.predict_interval(new)
    assert np.array_equal(out[["lower_0.9", "upper_0.9"]].to_numpy(), intervals[:, :, 0])
    evaluation = predictor.evaluate(new, new["y"])
    assert "approximate" in str(evaluation)
    done = program("evaluate", "model.safetensors", "new.csv", cwd=tmp_path)
    assert "This is approximate" in " ".join(done.stdout.split())


def test_weights_are_required_and_checked():
    rng = np.random.default_rng(3)
    model, plain = fitted(rng, weighted=True), fitted(rng)
    x, y = source(500, rng)
    with pytest.raises(ValueError, match="the model has weights; pass the likelihood ratios"):
        model.conformalize(x, y, y_pred=x[:, 1])
    for bad in (np.nan, 0.0, -1.0, np.inf):
        weights = ratio(x)
        weights[7] = bad
        with pytest.raises(ValueError, match=r"weights\[7\] is"):
            model.conformalize(x, y, y_pred=x[:, 1], weights=weights)
    model.conformalize(x, y, y_pred=x[:, 1], weights=ratio(x))
    with pytest.raises(ValueError, match="the model has weights"):
        model.predict_interval(x, y_pred=x[:, 1])
    with pytest.raises(ValueError, match="was fitted without weights; do not pass weights"):
        plain.conformalize(x, y, y_pred=x[:, 1], weights=ratio(x))
    p_values = model.predict_p(x, y, y_pred=x[:, 1], weights=ratio(x))
    quantiles = model.predict_quantile(x, 0.95, y_pred=x[:, 1], weights=ratio(x))
    assert p_values.shape == (500,)
    assert quantiles.shape == (500, 1)


def test_unsupported_combinations_are_errors():
    rng = np.random.default_rng(4)
    x, y = source(500, rng)
    for options, message in (({"guarantee": 0.95}, "marginal"), ({"pool_groups": 20}, "cannot pool groups")):
        model = WidthwiseRegressor(score_transform="identity", n_jobs=1, **options)
        with pytest.raises(ValueError, match=message):
            model.fit(x, y, y_pred=x[:, 1], weights=ratio(x), groups=(x[:, 2] > 0).astype(int))
    model = WidthwiseRegressor(score_transform="identity", n_jobs=1).fit(x, y, y_pred=x[:, 1], weights=ratio(x))
    with pytest.raises(ValueError, match="weights"):
        widthwise.OnlinePredictor(model.predictor_)
    with pytest.raises(ValueError, match="weights"):
        model.predictor_.with_guarantee(0.95)
    pytest.importorskip("onnx")
    from widthwise.onnx import export

    with pytest.raises(ValueError, match="the calibration has weights"):
        export(model.predictor_)


def test_groups_and_weights_combine():
    rng = np.random.default_rng(5)
    x, y = source(4000, rng)
    groups = (x[:, 2] > 0).astype(int)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1)
    model.fit(x, y, y_pred=x[:, 1], weights=ratio(x), groups=groups)
    new, outcomes = target(4000, rng)
    _, intervals = model.predict_interval(new, y_pred=new[:, 1], weights=ratio(new), groups=(new[:, 2] > 0).astype(int))
    assert 0.84 < covered(intervals, outcomes) < 0.96


def test_batches_read_the_column_of_weights():
    from widthwise._batches import Intervals

    rng = np.random.default_rng(6)
    x, y = source(800, rng)
    frame = pandas.DataFrame(x, columns=["a", "b", "c"]).assign(y_pred=x[:, 1], w=ratio(x))
    model = WidthwiseRegressor(score_transform="identity", random_state=0, n_jobs=1)
    model.fit(frame[["a", "b", "c"]], y, y_pred=frame["y_pred"], weights=frame["w"])
    predictor = model.predictor_
    batch = frame.rename(columns={"y_pred": predictor._model.prediction})
    made = Intervals.of(predictor, None, None).columns(predictor._model, batch)
    _, intervals = model.predict_interval(frame[["a", "b", "c"]], y_pred=frame["y_pred"], weights=frame["w"])
    assert np.array_equal(made["lower_0.9"], intervals[:, 0, 0])
