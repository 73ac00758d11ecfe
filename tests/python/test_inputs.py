"""Rows and predictions given to the package: which of them calibrate, and which are errors."""

import json
import re
import warnings

import numpy as np
import pytest

from examples import N_JOBS
from widthwise import (
    Calibration,
    Localizer,
    OnlinePredictor,
    Predictor,
    WidthwiseRegressor,
    crps,
    evaluate_intervals,
    plan,
)

stats = pytest.importorskip("scipy.stats")
sklearn = pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

LEVEL = 0.9


def lower_bound(trials, calibration_rows, repeats=1):
    """A bound that coverage at LEVEL falls below once in a million: beta-binomial for one repeat, else normal."""
    rank = -(-(calibration_rows + 1) * 9 // 10)
    law = stats.betabinom(trials, rank, calibration_rows + 1 - rank)
    if repeats == 1:
        return law.ppf(1e-6) / trials
    return law.mean() / trials + stats.norm.ppf(1e-6) * law.std() / trials / np.sqrt(repeats)


# ---- cross-validated predictions


class Wide:
    """Nearly as many features as rows: the models of the folds differ strongly from the model of all rows."""

    def __init__(self, seed, n=200, d=185, more=2000):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + more, d))
        y = X[:, 0] + rng.normal(size=n + more)
        self.X, self.y = X[:n], y[:n]
        self.new_X, self.new_y = X[n:], y[n:]
        self.estimator = LinearRegression().fit(self.X, self.y)
        self.y_pred_cv = cross_val_predict(LinearRegression(), self.X, self.y)


def covered(y, intervals):
    return np.mean((intervals[:, 0, 0] <= y) & (y <= intervals[:, 1, 0]))


def test_cross_validated_predictions_calibrate_nothing_and_conformalize_makes_the_intervals_valid():
    repeats, calibration_rows, trials = 8, 500, 1500
    misused, found = [], []
    for seed in range(repeats):
        wide = Wide(seed)
        model = WidthwiseRegressor(
            wide.estimator, prefit=True, score_transform="identity", random_state=0, n_jobs=N_JOBS
        )
        model.fit(wide.X, wide.y, y_pred=wide.y_pred_cv)  # as if the deployed model had made them
        misused.append(covered(wide.new_y, model.predict_interval(wide.new_X)[1]))

        model.fit(wide.X, wide.y, y_pred_cv=wide.y_pred_cv)
        with pytest.warns(UserWarning, match="predicted by the deployed model: WidthwiseRegressor.conformalize"):
            _, intervals = model.predict_interval(wide.new_X)
        assert np.all(np.isinf(intervals))
        model.conformalize(wide.new_X[:calibration_rows], wide.new_y[:calibration_rows])
        _, intervals = model.predict_interval(wide.new_X[calibration_rows:])
        assert len(intervals) == trials
        found.append(covered(wide.new_y[calibration_rows:], intervals))
    bound = lower_bound(trials, calibration_rows, repeats)
    print(f"misused {np.mean(misused):.3f}, conformalized {np.mean(found):.3f}, bound {bound:.3f}")
    assert np.mean(misused) < 0.85 < bound < np.mean(found)


def test_cross_validated_predictions_train_on_all_rows_and_the_file_records_it(rows, fresh, tmp_path):
    unfitted = WidthwiseRegressor(score_transform="identity", random_state=0)
    model = unfitted.fit(rows.X, rows.y, y_pred_cv=rows.y_pred)
    assert (model.fit_report_["fit_rows"], model.fit_report_["calibration_rows"]) == (3000, 0)
    model.save(tmp_path / "model.safetensors")
    loaded = WidthwiseRegressor.load(tmp_path / "model.safetensors")
    assert loaded.predictor_._model.notes["trained_with"] == "cross-validated predictions"
    for predict in (
        lambda: loaded.predict_interval(fresh.X, y_pred=fresh.y_pred),
        lambda: loaded.predict_quantile(fresh.X, 0.9, y_pred=fresh.y_pred),
        lambda: loaded.predict_p(fresh.X, fresh.y, y_pred=fresh.y_pred),
    ):
        with pytest.warns(UserWarning, match="cross-validated predictions only train the localizer"):
            predict()
    loaded.conformalize(fresh.X[:1000], fresh.y[:1000], y_pred=fresh.y_pred[:1000])
    assert loaded.evaluate(fresh.X[1000:], fresh.y[1000:], y_pred=fresh.y_pred[1000:]).valid
    own = unfitted.fit(rows.X, rows.y, y_pred=rows.y_pred)
    assert own.predictor_._model.notes["trained_with"] == "predictions of the deployed model"


def test_a_localizer_takes_either_kind_of_predictions(rows):
    own = Localizer(score_transform="identity").fit(rows.X, rows.y, rows.y_pred)
    folds = Localizer(score_transform="identity").fit(rows.X, rows.y, y_pred_cv=rows.y_pred)
    assert folds._model.notes["trained_with"] == "cross-validated predictions"
    np.testing.assert_array_equal(own.scores(rows.X, rows.y, rows.y_pred), folds.scores(rows.X, rows.y, rows.y_pred))
    with pytest.raises(ValueError, match="both y_pred and y_pred_cv are given"):
        Localizer().fit(rows.X, rows.y, rows.y_pred, y_pred_cv=rows.y_pred)
    with pytest.raises(ValueError, match="both y_pred and y_pred_cv are given"):
        WidthwiseRegressor().fit(rows.X, rows.y, y_pred=rows.y_pred, y_pred_cv=rows.y_pred)
    with pytest.raises(ValueError, match="neither y_pred nor y_pred_cv is given"):
        Localizer().fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="or is the deployed model"):
        WidthwiseRegressor(LinearRegression()).fit(rows.X, rows.y, y_pred_cv=rows.y_pred)


# ---- groups


def test_rows_with_groups_do_not_mix_with_rows_without(rows, fresh, tmp_path):
    model = WidthwiseRegressor(score_transform="identity", random_state=0, n_jobs=N_JOBS)
    predictor = model.fit(rows.X, rows.y, y_pred=rows.y_pred).predictor_
    groups = np.arange(2000) % 2
    with pytest.raises(
        ValueError, match=r"these rows have groups, but the 750 rows in the calibration set have none.*replac"
    ):
        predictor.calibrated(fresh.X, fresh.y, fresh.y_pred, groups=groups)
    grouped = predictor.calibrated(fresh.X, fresh.y, fresh.y_pred, groups=groups, replace=True)
    with pytest.raises(ValueError, match="these rows have no groups, but the 2000 rows in the calibration set have"):
        grouped.calibrated(rows.X, rows.y + 0.1, rows.y_pred)
    with pytest.raises(ValueError, match="the calibration has none"):
        predictor.predict_interval(fresh.X, fresh.y_pred, groups=groups)
    # A calibration with only group 0 has groups, also in a file.
    only = predictor.calibrated(fresh.X, fresh.y, fresh.y_pred, groups=0 * groups, replace=True)
    only.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="calibrates each group separately; pass a group for every row"):
        Predictor.load(tmp_path / "model.safetensors").predict_interval(fresh.X, fresh.y_pred)
    with pytest.raises(ValueError, match="pass the group of the row to predict as group="):
        grouped.calibration.quantile(LEVEL)


# ---- weights


def test_a_weighted_calibration_needs_test_weights_whatever_their_scale():
    rng = np.random.default_rng(0)
    scores, weights = rng.exponential(size=(2, 500))
    calibration = Calibration().add(scores, weights=weights)
    with pytest.raises(ValueError, match="test_weight is required; pass the likelihood ratio of the row"):
        calibration.quantile(LEVEL)
    with pytest.raises(ValueError, match="test_weight is required; pass the likelihood ratio of the row"):
        calibration.p_values(scores)
    with pytest.raises(ValueError, match="has weights; pass the likelihood ratio of every row"):
        calibration.add([1.0])
    times_64 = Calibration().add(scores, weights=64 * weights)
    assert calibration.quantile(LEVEL, test_weight=0.7) == times_64.quantile(LEVEL, test_weight=64 * 0.7)
    p = calibration.p_values(scores, test_weight=weights)
    np.testing.assert_array_equal(p, times_64.p_values(scores, test_weight=64 * weights))
    np.testing.assert_array_equal(p[:1], calibration.p_values(scores[:1], test_weight=weights[0]))


# ---- the range of outcomes


def test_outcomes_outside_the_range_are_counted_and_named(rows, fresh):
    message = r"of 3,000 outcomes lie outside the outcome range \(0 to 1\): row {} is {}, row"
    bad = np.flatnonzero((rows.y < 0) | (rows.y > 1))
    with pytest.raises(ValueError, match=f"{len(bad):,} " + message.format(bad[0] + 1, repr(float(rows.y[bad[0]])))):
        Localizer(outcome_range=(0, 1)).fit(rows.X, rows.y, rows.y_pred)
    with pytest.raises(ValueError, match=f"{len(bad):,} " + message.format(bad[0] + 1, repr(float(rows.y[bad[0]])))):
        WidthwiseRegressor(LinearRegression(), outcome_range=(0, 1)).fit(np.nan_to_num(rows.X), rows.y)

    # Bounds and outcomes are in the user's units; here the unit of the residuals is far from 1.
    y, y_pred = 1e6 * rows.y, 1e6 * rows.y_pred
    top = float(y.max())
    model = WidthwiseRegressor(score_transform="identity", outcome_range=(-np.inf, top), random_state=0, n_jobs=N_JOBS)
    model.fit(rows.X, y, y_pred=y_pred)
    new_y = np.minimum(1e6 * fresh.y, top)
    new_y[[7, 1200]] = top + 1, top + 2
    expected = rf"2 of 2,000 outcomes lie outside the outcome range \(at most {top!r}\): row 8 is "
    with pytest.raises(ValueError, match=expected) as refused:
        model.conformalize(fresh.X, new_y, y_pred=1e6 * fresh.y_pred)
    assert "or without a range. Keep these rows" in str(refused.value) and "remove" not in str(refused.value)
    found = model.evaluate(fresh.X, new_y, y_pred=1e6 * fresh.y_pred)
    assert found["missed_by_range"]["rows"] == 2
    assert re.search(expected, found["missed_by_range"]["text"])
    _, intervals = model.predict_interval(fresh.X, y_pred=1e6 * fresh.y_pred)
    inside = (intervals[:, 0, 0] <= new_y) & (new_y <= intervals[:, 1, 0])
    assert not inside[[7, 1200]].any()
    assert found["levels"][0]["coverage"]["successes"] == inside.sum()
    assert "count as missed" in " ".join(str(found).split())
    assert len(model.predictor_.calibration) == 750
    new_y[[7, 1200]] = top
    model.conformalize(fresh.X, new_y, y_pred=1e6 * fresh.y_pred)


def counts(n, seed):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 4, (n, 2))
    return X, random.poisson(1 + X[:, 0]).astype(float), 1 + X[:, 0]


def test_outcomes_between_the_steps_are_counted_and_named():
    X, y, f = counts(400, 0)
    model = WidthwiseRegressor(
        score_transform="identity", outcome_range=(0, np.inf), outcome_step=1, random_state=0, n_jobs=N_JOBS
    ).fit(X, y, y_pred=f)
    _, bounds = model.predict_interval(X, y_pred=f)
    assert np.all(bounds % 1 == 0) and bounds.min() == 0
    new = counts(400, 9)[0]
    off = y.copy()
    off[[7, 100]] += 0.5
    expected = rf"2 of 400 outcomes are not multiples of the outcome step 1: row 8 is {off[7]}, row 101 is"
    for refused in (
        lambda: model.conformalize(new, off, y_pred=f),
        lambda: WidthwiseRegressor(outcome_step=1).fit(X, off, y_pred=f),
        lambda: Localizer(outcome_step=1).fit(X, off, f),
    ):
        with pytest.raises(ValueError, match=expected) as error:
            refused()
        assert "or without a step. Keep these rows" in str(error.value)
    found = model.evaluate(*counts(300, 1)[:2], y_pred=counts(300, 1)[2])
    assert found["missed_by_range"] is None
    X, off, f = counts(300, 2)
    off[5] += 0.5
    found = model.evaluate(X, off, y_pred=f)
    assert found["missed_by_range"]["rows"] == 1
    assert "rows outside the rounded bounds count as missed" in found["missed_by_range"]["text"]
    with pytest.raises(ValueError, match="ends at 0.5, which is not a multiple of the outcome step 1"):
        WidthwiseRegressor(outcome_range=(0.5, np.inf), outcome_step=1).fit(X, off, y_pred=f)


def test_a_step_without_exact_multiples_keeps_every_form_of_an_outcome_inside():
    X, y, f = counts(400, 3)
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": N_JOBS}
    for forms in ([0.1 * y, y / 10], [np.round(0.1 * y, 1), 0.1 * y]):
        model = WidthwiseRegressor(outcome_step=0.1, **options).fit(X, forms[0], y_pred=0.1 * f)
        _, bounds = model.predict_interval(X, y_pred=0.1 * f)
        inside = [(bounds[:, 0, 0] <= form) & (form <= bounds[:, 1, 0]) for form in forms]
        assert np.array_equal(*inside)
    assert np.all(np.abs(10 * bounds - np.round(10 * bounds)) < 1e-12)


def test_fit_and_evaluate_advise_a_range_and_a_step_that_outcomes_suggest():
    X, y, f = counts(600, 4)
    new = counts(400, 5)
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": N_JOBS}
    plain = WidthwiseRegressor(**options).fit(X, y, y_pred=f)
    for text in (plain.fit_report_["summary"], " ".join(str(plain.fit_report_).split())):
        assert re.search(r"Outcomes are never negative, but \d+\.\d% of the lower bounds are", text)
        assert "outcome_range=(0, np.inf)" in text and "--outcome-step 1 (outcome_step=1)" in text
    advice = plain.evaluate(*new[:2], y_pred=new[2])["verdict"]["advice"]
    assert [one["kind"] for one in advice][-2:] == ["outcome_range", "outcome_step"]
    told = WidthwiseRegressor(outcome_range=(0, np.inf), outcome_step=1, **options).fit(X, y, y_pred=f)
    assert "outcome" not in told.fit_report_["summary"]
    kinds = [one["kind"] for one in told.evaluate(*new[:2], y_pred=new[2])["verdict"]["advice"]]
    assert not {"outcome_range", "outcome_step"} & set(kinds)


# ---- outcomes among the features


@pytest.mark.parametrize("name", ["price", "copy"])
@pytest.mark.parametrize("kind", [np.float64, np.float32, str])
def test_outcomes_among_the_features_are_an_error(rows, name, kind):
    pandas = pytest.importorskip("pandas")
    y = np.round(rows.y, 0) if kind is str else rows.y  # text with more than 1,000 labels is left out
    copy = y.astype(np.int64).astype(str) if kind is str else y.astype(kind)
    frame = rows.frame().assign(**{name: copy})
    frame.loc[:9, name] = None if kind is str else np.nan
    outcomes = pandas.Series(y, name="price")
    message = f"the features contain the outcomes: column '{name}' equals the outcome in every row; drop it"
    for model in (Localizer(n_jobs=N_JOBS), WidthwiseRegressor(n_jobs=N_JOBS, score_transform="identity")):
        with pytest.raises(ValueError, match=message):
            model.fit(frame, outcomes, y_pred=rows.y_pred)


def test_a_name_that_outcomes_inherited_is_no_error(rows):
    pandas = pytest.importorskip("pandas")
    frame = rows.frame()
    outcomes = pandas.Series(rows.y, name="size")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        localizer = Localizer(n_jobs=N_JOBS, score_transform="identity").fit(frame, outcomes, rows.y_pred)
    assert localizer.features == list(frame.columns)
    assert localizer._model.target == "size_"


def test_few_rows_or_values_may_equal_the_outcomes_by_chance():
    X = np.tile([[0.0], [1.0]], (50, 1))
    Localizer(score_transform="identity").fit(X, X[:, 0], np.full(100, 0.5))
    few = np.arange(10.0)
    Localizer(score_transform="identity").fit(few[:, None], few, few + 1.0)


# ---- the columns of an estimator in a file


class Positions(BaseEstimator):
    """An estimator that uses the positions of columns, not their names."""

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.asarray(X), y, rcond=None)[0]
        return self

    def predict(self, X):
        return np.asarray(X) @ self.coef_


def test_a_loaded_model_checks_the_columns_as_before_saving(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = 5 * X["a"] - X["b"] + rng.normal(size=400)
    model = WidthwiseRegressor(Positions(), score_transform="identity", random_state=0, n_jobs=N_JOBS).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    loaded = WidthwiseRegressor.load(tmp_path / "model.safetensors", estimator=model.estimator_)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert list(loaded.feature_names_in_) == ["a", "b", "c"] and loaded.n_features_in_ == 3
    for columns in (["c", "b", "a"], ["a", "b"], ["a", "b", "d"]):
        changed = X.reindex(columns=columns, fill_value=0.0)
        messages = []
        for each in (model, loaded):
            with pytest.raises(ValueError, match="feature names should match|features, but") as error:
                each.predict_interval(changed)
            messages.append(str(error.value))
        assert messages[0] == messages[1]

    arrays = WidthwiseRegressor(Positions(), score_transform="identity", random_state=0).fit(X.to_numpy(), y)
    arrays.save(tmp_path / "arrays.safetensors")
    notes = arrays.predictor_._model.notes
    assert json.loads(notes["estimator_columns"]) == {"count": 3, "names": None}
    loaded = WidthwiseRegressor.load(tmp_path / "arrays.safetensors", estimator=arrays.estimator_)
    with pytest.raises(ValueError, match="2 features"):
        loaded.predict(X.to_numpy()[:, :2])


# ---- one call for plain arrays, another for all else


def test_plain_arrays_get_the_intervals_of_the_general_call(rows, fresh):
    localizer = Localizer(random_state=0, n_jobs=N_JOBS).fit(rows.X, rows.y, y_pred=rows.y_pred)
    predictor = Predictor(localizer, localizer.calibrate(fresh.X, fresh.y, fresh.y_pred))
    X, f = fresh.X[:7], fresh.y_pred[:7]
    expected = predictor.predict_interval(X, f, confidence_level=[LEVEL])
    every = predictor.predict_interval(X.tolist(), f)
    wide, twice = np.repeat(X, 2, axis=1), np.repeat(f, 2)
    for like_x in (X, np.asfortranarray(X), wide[:, ::2], X[::-1].copy()[::-1], X.astype(">f8"), np.ma.array(X)):
        for like_f in (f, twice[::2], f.astype(">f8"), np.ma.array(f), f.tolist()):
            for found in (
                predictor.predict_interval(like_x, like_f, confidence_level=LEVEL),
                predictor.predict_interval(like_x, like_f, confidence_level=np.float64(LEVEL)),
            ):
                np.testing.assert_equal(found, expected)
            np.testing.assert_equal(predictor.predict_interval(like_x, like_f), every)
    hidden = np.ma.array(X, mask=np.zeros_like(X, dtype=bool))
    hidden[0, 0] = np.ma.masked
    missing = X.copy()
    missing[0, 0] = np.nan
    np.testing.assert_equal(
        predictor.predict_interval(hidden, f, confidence_level=LEVEL),
        predictor.predict_interval(missing, f, confidence_level=LEVEL),
    )


def test_plain_arrays_are_warned_of_and_refused_as_others(rows, fresh):
    localizer = Localizer(random_state=0, n_jobs=N_JOBS).fit(rows.X, rows.y, y_pred=rows.y_pred)
    few = Predictor(localizer, localizer.calibrate(fresh.X[:5], fresh.y[:5], fresh.y_pred[:5]))
    X, f = fresh.X[5:8], fresh.y_pred[5:8]
    with pytest.warns(UserWarning, match="are infinite: the level needs"):
        _, intervals = few.predict_interval(X, f, confidence_level=LEVEL)
    assert np.isinf(intervals).all()
    with pytest.raises(ValueError, match="this model has no base model"):
        few.predict_interval(X, confidence_level=0.5)
    with pytest.raises(ValueError, match="X has 3 rows, y_pred has 2"):
        few.predict_interval(X, f[:2], confidence_level=0.5)
    with pytest.raises(ValueError, match="X has 2 features, but 3 were seen"):
        few.predict_interval(X[:, :2], f, confidence_level=0.5)
    for level in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="confidence_level: expected a number strictly between 0 and 1"):
            few.predict_interval(X, f, confidence_level=level)


# ---- errors name the argument, what was found and what to do


@pytest.fixture(scope="module")
def named():
    """A frame with columns of numbers and labels, and outcomes."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 60)
    return pandas.DataFrame({"wind": x, "carrier": rng.choice(["AA", "DL"], 60)}), x + rng.normal(size=60)


@pytest.fixture(scope="module")
def plain(named):
    X, y = named
    return WidthwiseRegressor(LinearRegression(), random_state=0, calibration_size=30).fit(X[["wind"]], y)


def replaced(y, value):
    changed = y.astype(object)
    changed[3] = value
    return changed


FIT_ERRORS = {
    "text": (lambda y: {"y": y.astype(str).astype(object)}, r"^y\[0\] is '.*'; expected a number; convert text with"),
    "one text": (lambda y: {"y": replaced(y, "1.5")}, r"^y\[3\] is '1.5'; expected a number; convert text with"),
    "missing": (lambda y: {"y": replaced(y, np.nan)}, r"^y\[3\] is nan; drop the rows without an outcome$"),
    "none": (lambda y: {"y": replaced(y, None)}, r"^y\[3\] is nan; drop the rows without an outcome$"),
    "infinite": (lambda y: {"y": replaced(y, np.inf)}, r"^y\[3\] is inf; expected a finite number; drop the rows"),
    "short": (lambda y: {"y": y[:50]}, "^X has 60 rows, y has 50$"),
    "name of y": (lambda y: {"y": "wind"}, r"^y is 'wind'; expected one number per row, such as X\['wind'\]$"),
    "groups": (lambda y: {"groups": "carriers"}, "^groups: X has no column 'carriers'; did you mean 'carrier'.$"),
    "several groups": (lambda y: {"groups": ["wind", "carriers"]}, "^groups: X has no column 'carriers'; did you mean"),
    "unlike groups": (lambda y: {"groups": "zz"}, "^groups: X has no column 'zz'; its columns are wind, carrier$"),
    "one group": (lambda y: {"groups": 3}, "^groups is 3; expected one label per row$"),
    "weights": (lambda y: {"weights": "wnd"}, "^weights: X has no column 'wnd'; did you mean 'wind'.$"),
    "sample weight": (lambda y: {"sample_weight": "wind"}, r"^sample_weight is 'wind'; expected one number per row"),
    "clusters": (lambda y: {"clusters": "carrier"}, r"^clusters is 'carrier'; expected labels .* X\['carrier'\]$"),
    "time": (
        lambda y: {"time": "wind"},
        r"^time is 'wind'; expected labels or times of the rows, such as X\['wind'\]$",
    ),
    "prediction": (lambda y: {"y_pred": "wind"}, r"^y_pred is 'wind'; expected one number per row"),
}


@pytest.mark.parametrize(("arguments", "message"), FIT_ERRORS.values(), ids=FIT_ERRORS)
@pytest.mark.parametrize("is_frame", [True, False], ids=["frame", "matrix"])
def test_errors_of_fit_name_the_argument(named, arguments, message, is_frame):
    X, y = named
    given = {"y": y} | arguments(y)
    if not is_frame and ("groups" in given or "weights" in given):
        if isinstance(given.get("groups", given.get("weights")), str):
            message = "^(groups|weights) is '.*', but the columns of X have no names; pass one value per row$"
        elif isinstance(given["groups"], list):
            message = "^X has 60 rows, groups has 2$"
    with pytest.raises((TypeError, ValueError), match=message):
        WidthwiseRegressor().fit(X if is_frame else X[["wind"]].to_numpy(), **given)


PREDICT_ERRORS = {
    "no quantiles": (lambda m, X, y: m.predict_quantile(X, None), "^quantiles is None; expected one or more numbers"),
    "empty quantiles": (lambda m, X, y: m.predict_quantile(X, []), r"^quantiles is \[\]; expected one or more numbers"),
    "percent": (lambda m, X, y: m.predict_quantile(X, [95]), r"^quantiles is \[95\]; expected one or more numbers"),
    "level": (
        lambda m, X, y: m.predict_interval(X, 90),
        "^confidence_level: expected .*, found 90; did you mean 0.9.$",
    ),
    "level of evaluate": (
        lambda m, X, y: m.evaluate(X, y, confidence_level=0.0),
        "^confidence_level: expected .* found 0$",
    ),
    "groups": (
        lambda m, X, y: m.predict_interval(X, groups="wnd"),
        "^groups: X has no column 'wnd'; did you mean 'wind'",
    ),
    "weights": (
        lambda m, X, y: m.predict_p(X, y, weights="wnd"),
        "^weights: X has no column 'wnd'; did you mean 'wind'",
    ),
    "clusters": (
        lambda m, X, y: m.conformalize(X, y, clusters="wnd"),
        "^clusters: X has no column 'wnd'; did you mean",
    ),
    "by": (lambda m, X, y: m.evaluate(X, y, by="wnd"), "^by: X has no column 'wnd'; did you mean 'wind'.$"),
    "one value to test by": (lambda m, X, y: m.evaluate(X, y, by=3), "^by is 3; expected one number per row$"),
    "sizes": (
        lambda m, X, y: m.predict_interval(X, cluster_sizes="wind"),
        "^cluster_sizes is 'wind'; expected one number",
    ),
    "no table": (lambda m, X, y: m.predictor_.predict_interval(None, y), "^X is None; expected a table"),
}


@pytest.mark.parametrize(("call", "message"), PREDICT_ERRORS.values(), ids=PREDICT_ERRORS)
def test_errors_of_prediction_name_the_argument(named, plain, call, message):
    X, y = named
    with pytest.raises((TypeError, ValueError), match=message):
        call(plain, X[["wind"]], y)


Y = np.linspace(-1, 1, 40)
BOUNDS = np.tile([-1.0, 1.0], (40, 1))
ARRAY_ERRORS = {
    "no outcomes": (lambda: Localizer().fit(Y[:, None], None, Y), "^y is None; expected one number per row$"),
    "no scores": (lambda: Calibration().add(None), "^scores is None; expected one number per row$"),
    "groups": (lambda: Calibration().add(Y, groups=[1, 2]), "^scores has 40 values, groups has 2$"),
    "weights": (lambda: Calibration().add(Y, weights=[1, 2]), "^scores has 40 values, weights has 2$"),
    "keys": (lambda: Calibration().add(Y, key=[1, 2]), "^scores has 40 values, key has 2$"),
    "level": (lambda: Calibration().add(Y).quantile(90), "^confidence_level: expected .* found 90; did you mean 0.9"),
    "plan": (lambda: plan(90, rows=100), "^confidence_level: expected .* found 90; did you mean 0.9"),
    "swapped": (
        lambda: Predictor(Calibration(), Localizer()),
        "^expected a Localizer and a Calibration, found Calibration",
    ),
    "a path": (
        lambda: OnlinePredictor("a.safetensors"),
        "^predictor is a str; expected a Predictor or a Width",
    ),
    "no level": (lambda: evaluate_intervals(BOUNDS, Y, confidence_level=None), "^confidence_level is None; expected"),
    "probabilities": (lambda: crps(Y[:, None], Y, [95]), r"^probabilities is \[95\]; expected one or more numbers"),
    "categories": (
        lambda: WidthwiseRegressor(categorical_features="city").fit(Y[:, None], Y),
        r"^categorical_features is 'city'; expected a list, such as \['city'\]$",
    ),
    "seed": (lambda: WidthwiseRegressor(random_state="a").fit(Y[:, None], Y), "^random_state is 'a'; expected an int"),
}


@pytest.mark.parametrize(("call", "message"), ARRAY_ERRORS.values(), ids=ARRAY_ERRORS)
def test_errors_of_arrays_name_the_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
