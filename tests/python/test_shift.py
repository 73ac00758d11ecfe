"""Weights for covariate shift: given likelihood ratios, learnt ones, and sample weights for training."""

import os
from pathlib import Path

import markdown
import numpy as np
import pandas
import pytest
from programs import worker_options
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

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
        calibrated = weighted.calibrated(x, y, x[:, 1], weights=ratio(x), replace=True, population="source")
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
        model.conformalize(x, y, y_pred=x[:, 1], population="source")
    for bad in (np.nan, 0.0, -1.0, np.inf):
        weights = ratio(x)
        weights[7] = bad
        with pytest.raises(ValueError, match=r"weights\[7\] is"):
            model.conformalize(x, y, y_pred=x[:, 1], weights=weights, population="source")
    model.conformalize(x, y, y_pred=x[:, 1], weights=ratio(x), population="source")
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


# ---- learnt weights


def test_learnt_weights_restore_coverage():
    rng = np.random.default_rng(11)
    found = []
    for _ in range(20 if FULL else 6):
        (x, y), (unlabelled, _), (new, outcomes) = source(6000, rng), target(3000, rng), target(4000, rng)
        options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1, "calibration_size": 0.5}
        plain = WidthwiseRegressor(**options).fit(x, y, y_pred=x[:, 1])
        learnt = WidthwiseRegressor(**options).fit(x, y, y_pred=x[:, 1], shift_to=unlabelled)
        assert learnt.fit_report_["shift"]["rows"] == 3000
        # Phi(TILT / sqrt(2)) = 0.76 with the known ratio, with a standard error of 0.014 on this hold-out.
        assert abs(learnt.fit_report_["shift"]["auc"] - 0.76) < 4 * 0.014
        assert 900 < learnt.fit_report_["effective_rows"] < 2000  # 3000 exp(-TILT^2) = 1104 with the known ratio
        found.append([covered(m.predict_interval(new, y_pred=new[:, 1])[1], outcomes) for m in (learnt, plain)])
    learnt, plain = np.mean(found, axis=0)
    assert abs(learnt - 0.9) < 0.015
    assert plain < 0.85


def test_rows_of_shift_to_can_be_predicted():
    """The classifier has seen the rows of shift_to; their coverage is that of other rows of the population."""
    rng = np.random.default_rng(12)
    found = []
    for _ in range(20 if FULL else 4):
        (x, y), (unlabelled, outcomes), (new, new_outcomes) = source(2000, rng), target(500, rng), target(2000, rng)
        options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1, "calibration_size": 0.5}
        model = WidthwiseRegressor(**options).fit(x, y, y_pred=x[:, 1], shift_to=unlabelled)
        found.append(
            [
                covered(model.predict_interval(unlabelled, y_pred=unlabelled[:, 1])[1], outcomes),
                covered(model.predict_interval(new, y_pred=new[:, 1])[1], new_outcomes),
            ]
        )
    same, other = np.mean(found, axis=0)
    assert same > other - 0.02


def test_learnt_weights_are_stored_in_the_model(tmp_path):
    rng = np.random.default_rng(13)
    (x, y), (unlabelled, _), (new, outcomes) = source(3000, rng), target(1000, rng), target(1000, rng)
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    model.fit(x, y, shift_to=unlabelled)
    model.save(tmp_path / "model.safetensors")
    again = WidthwiseRegressor.load(tmp_path / "model.safetensors", model.estimator_)
    assert np.array_equal(model.predict_interval(new)[1], again.predict_interval(new)[1])
    with pytest.raises(ValueError, match="learns its weights; do not pass weights"):
        model.predict_interval(new, weights=ratio(new))
    x, y = source(1000, rng)
    model.conformalize(x, y, population="source")
    assert covered(model.predict_interval(new)[1], outcomes) > 0.85


def test_populations_without_overlap_are_warned_of():
    rng = np.random.default_rng(14)
    x, y = source(1000, rng)
    model = WidthwiseRegressor(score_transform="identity", random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="hardly overlap"):
        model.fit(x, y, y_pred=x[:, 1], shift_to=x + 10)
    _, intervals = model.predict_interval(x + 10, y_pred=x[:, 1])
    assert np.mean(np.isinf(intervals)) > 0.9
    with pytest.raises(ValueError, match="found both weights and shift_to"):
        model.fit(x, y, y_pred=x[:, 1], weights=ratio(x), shift_to=x)
    with pytest.raises(ValueError, match="rows of shift_to; learning weights needs at least 20"):
        model.fit(x, y, y_pred=x[:, 1], shift_to=x[:5])


def test_categories_shift(program, tmp_path):
    rng = np.random.default_rng(15)

    def frame(n, p):
        kind = rng.choice(["calm", "wild", "rare"], n, p=p)
        spread = pandas.Series(kind).map({"calm": 1.0, "wild": 5.0, "rare": 1.0}).to_numpy()
        x = rng.normal(size=n)
        return pandas.DataFrame({"x": x, "kind": kind, "y": x + spread * rng.normal(size=n)})

    fit, unlabelled, new = (
        frame(4000, [0.8, 0.2, 0.0]),
        frame(1000, [0.2, 0.78, 0.02]).drop(columns="y"),
        frame(4000, [0.2, 0.8, 0]),
    )
    model = WidthwiseRegressor(score_transform="identity", random_state=0, n_jobs=1, calibration_size=0.5)
    model.fit(fit[["x", "kind"]], fit["y"], shift_to=unlabelled)
    assert abs(covered(model.predict_interval(new[["x", "kind"]])[1], new["y"]) - 0.9) < 0.03
    fit.to_csv(tmp_path / "fit.csv", index=False)
    unlabelled.to_csv(tmp_path / "to.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    options = ["--target", "y", "--base", "trees", "--shift-to", "to.csv", "--score-transform", "identity"]
    options += ["--calibration-size", "0.5"]
    done = program("fit", "fit.csv", *options, "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "learnt weights" in done.stdout
    _, intervals = Predictor.load(tmp_path / "model.safetensors").predict_interval(new)
    assert abs(covered(intervals, new["y"]) - 0.9) < 0.03
    workers = worker_options(0, 2, "127.0.0.1:9091")
    done = program("fit", "fit.csv", *options, *workers, "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 2
    assert "fit without workers" in done.stderr


@pytest.mark.skipif("WIDTHWISE_DATA" not in os.environ, reason="needs the data sets")
def test_airfoil_with_the_exponential_tilt_of_the_paper():
    """The experiment of Tibshirani et al. (2019): a quarter of the rows tilted by exp(x'b), b = (-1, 0, 0, 0, 1)."""
    file = Path(os.environ["WIDTHWISE_DATA"]) / "more/airfoil.csv"
    if not file.exists():
        pytest.skip("no airfoil.csv")
    table = pandas.read_csv(file)
    y = table.pop("pressure").to_numpy()
    x = table.to_numpy(dtype=float)
    x[:, 0], x[:, 4] = np.log(x[:, 0]), np.log(x[:, 4])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    tilt = np.exp(x @ np.array([-1, 0, 0, 0, 1]))
    rng = np.random.default_rng(16)
    found = []
    for _ in range(500 if FULL else 40):
        order = rng.permutation(len(y))
        fit, calibration, pool = np.split(order, [375, 750])
        test = rng.choice(pool, len(pool) // 4, p=tilt[pool] / tilt[pool].sum())
        mean = LinearRegression().fit(x[fit], y[fit])
        calibrated = {}
        for name, weights in (("with", tilt), ("without", np.ones_like(tilt))):
            model = WidthwiseRegressor(mean, prefit=True, score_transform="identity", calibration_size=0, n_jobs=1)
            model.fit(x[fit], y[fit], weights=weights[fit])
            model.conformalize(x[calibration], y[calibration], weights=weights[calibration], population="source")
            calibrated[name] = covered(model.predict_interval(x[test], weights=weights[test])[1], y[test])
        found.append((calibrated["with"], calibrated["without"]))
    with_weights, without = np.mean(found, axis=0)
    error = np.std(found, axis=0)[0] / np.sqrt(len(found))
    print(f"airfoil, {len(found)} repetitions: {with_weights:.3f} with weights, {without:.3f} without")
    assert abs(with_weights - 0.9) < 0.01 + 3 * error
    assert without < with_weights - 0.04


# ---- sample weights


def test_sample_weights_train_and_do_not_calibrate():
    rng = np.random.default_rng(21)
    x = rng.normal(size=(3000, 1))
    kind = np.arange(3000) % 2
    y = np.where(kind == 1, 5.0, -5.0) + rng.normal(size=3000)
    weights = np.where(kind == 1, 1.0, 1e-3)
    for estimator in (None, LinearRegression()):
        model = WidthwiseRegressor(estimator, random_state=0, n_jobs=1)
        model.fit(x, y, sample_weight=weights)
        assert abs(model.predict(x).mean() - 5) < 0.5
        _, intervals = model.predict_interval(x)
        assert 0.86 < covered(intervals, y) < 0.95  # of all rows, each of which counts once
    with pytest.raises(ValueError, match="does not take sample_weight"):
        WidthwiseRegressor(KNeighborsRegressor()).fit(x, y, sample_weight=weights)
    for bad in (-1.0, np.nan, np.inf):
        broken = weights.copy()
        broken[3] = bad
        with pytest.raises(ValueError, match="sample_weight"):
            WidthwiseRegressor(n_jobs=1).fit(x, y, sample_weight=broken)
    with pytest.raises(ValueError, match="sample"):
        WidthwiseRegressor(n_jobs=1).fit(x, y, sample_weight=0 * weights)


def test_sample_weights_on_the_command_line(program, tmp_path):
    rng = np.random.default_rng(22)
    x = rng.normal(size=2000)
    frame = pandas.DataFrame({"x": x, "y": x + rng.normal(size=2000), "s": rng.integers(0, 3, 2000)})
    frame.to_csv(tmp_path / "fit.csv", index=False)
    options = ["--target", "y", "--base", "trees", "--base-options", "rounds=20"]
    done = program("fit", "fit.csv", *options, "--sample-weight", "s", "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert Predictor.load(tmp_path / "model.safetensors").features == ["x"]


def test_the_document_shows_real_output():
    assert markdown.differences(Path(__file__).parents[2] / "docs/shift.md") == []
