"""WidthwiseRegressor: validity, compatibility with scikit-learn, and errors."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import N_JOBS, Rows
from widthwise import Predictor, WidthwiseRegressor


def regressor(estimator=None, **options):
    return WidthwiseRegressor(estimator, **{"random_state": 0, "n_jobs": N_JOBS, **options})


def linear():
    return make_pipeline(SimpleImputer(), Ridge())


def coverage(intervals, y, level=0):
    return np.mean((intervals[:, 0, level] <= y) & (y <= intervals[:, 1, level]))


# ---- scikit-learn


@parametrize_with_checks(
    [
        regressor(),
        regressor(Ridge()),
        regressor(make_pipeline(StandardScaler(), Ridge()), goal="narrow", two_sided=True),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "calibration rows are set aside at random, and cv splits the rest"
    },
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_clone_has_the_parameters_and_no_fit(model):
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict([[1, 2, 3]])


def test_a_clone_keeps_an_estimator_that_is_fitted_already(rows):
    estimator = linear().fit(rows.X, rows.y)
    copy = clone(regressor(estimator, prefit=True))
    assert copy.estimator is estimator


def test_parameters_of_the_estimator_are_searched(rows):
    search = GridSearchCV(regressor(linear()), {"estimator__ridge__alpha": [0.1, 1e6]}, cv=2)
    search.fit(rows.X[:600], rows.y[:600])
    assert search.best_params_ == {"estimator__ridge__alpha": 0.1}


def test_it_is_not_taken_for_a_transformer():
    model = WidthwiseRegressor(score_transform="exp")
    assert not hasattr(model, "transform")
    assert model.get_params()["score_transform"] == "exp"
    assert model.set_params(score_transform="erc").get_params()["score_transform"] == "erc"
    assert "score_transform='erc'" in repr(model)


def test_pickle(model, fresh):
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_interval(fresh.X)[1], model.predict_interval(fresh.X)[1])


# ---- the guarantee


@pytest.mark.parametrize("goal", ["even", "narrow", 0.5])
@pytest.mark.parametrize("own", [False, True])
def test_coverage_is_at_the_level(rows, fresh, goal, own):
    model = regressor(linear() if own else None, goal=goal).fit(rows.X, rows.y)
    y_pred, intervals = model.predict_interval(fresh.X, confidence_level=[0.5, 0.9, 0.95])
    assert y_pred.shape == (2000,)
    assert intervals.shape == (2000, 2, 3)
    assert np.all(np.diff(intervals[:, 1, :] - intervals[:, 0, :], axis=1) >= 0)
    assert np.all((intervals[:, 0] <= y_pred[:, None]) & (y_pred[:, None] <= intervals[:, 1]))
    evaluation = model.evaluate(fresh.X, fresh.y, confidence_level=[0.5, 0.9, 0.95])
    assert evaluation.valid
    for j, level in enumerate(evaluation["levels"]):
        assert level["coverage"]["share"] == coverage(intervals, fresh.y, j)


def test_widths_follow_the_noise(model, fresh):
    _, intervals = model.predict_interval(fresh.X)
    width = intervals[:, 1, 0] - intervals[:, 0, 0]
    known = ~np.isnan(fresh.X[:, 0])
    assert np.corrcoef(width[known], fresh.scale[known])[0, 1] > 0.8
    assert model.fit_report_["chosen"]["mean_width"] < model.fit_report_["fixed"]["mean_width"]
    assert "narrower than one width" in model.fit_report_["summary"]


class Watching(RegressorMixin, BaseEstimator):
    """Records all outcomes that were passed to fit."""

    seen = set()

    def fit(self, X, y):
        Watching.seen |= set(y.tolist())
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return 2 * np.nan_to_num(X[:, 0])


def test_no_estimator_ever_sees_a_calibration_row(rows):
    Watching.seen = set()
    model = regressor(Watching()).fit(rows.X, rows.y)
    assert len(Watching.seen) == 2250
    assert len(model.predictor_.calibration) == 750
    # The calibration scores are those of exactly the rows that were not passed to fit.
    hidden = ~np.isin(rows.y, list(Watching.seen))
    again = regressor(Watching(), calibration_size=0).fit(rows.X[~hidden], rows.y[~hidden])
    assert len(again.predictor_.calibration) == 0
    assert hidden.sum() == 750


def test_p_values_are_uniform_at_most(model, fresh):
    p = model.predict_p(fresh.X, fresh.y)
    for level in (0.05, 0.1, 0.5):
        assert np.mean(p <= level) <= level + 4 * np.sqrt(level * (1 - level) * (1 / 2000 + 1 / 750))
    assert np.all((p > 0) & (p <= 1))
    far = model.predict_p(fresh.X[:1], fresh.y[:1] + 1000)
    assert far[0] == pytest.approx(1 / 751)


def test_quantiles_are_ordered_and_valid(model, fresh):
    quantiles = model.predict_quantile(fresh.X, [0.1, 0.5, 0.9])
    assert quantiles.shape == (2000, 3)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert np.mean(fresh.y <= quantiles[:, 2]) >= 0.87
    assert np.mean(fresh.y >= quantiles[:, 0]) >= 0.87


def test_the_range_of_outcomes_cuts_intervals(rows, fresh):
    y = np.maximum(rows.y, 0)
    model = regressor(outcome_range=(0, np.inf)).fit(rows.X, y)
    assert model.predict_interval(fresh.X)[1].min() == 0


def test_two_sides_are_learnt_separately(rows, fresh):
    rng = np.random.default_rng(3)
    skewed = [r.y_pred + r.scale * rng.exponential(size=len(r.y)) for r in (rows, fresh)]
    model = regressor(two_sided=True).fit(rows.X, skewed[0], y_pred=rows.y_pred)
    y_pred, intervals = model.predict_interval(fresh.X, y_pred=fresh.y_pred)
    below, above = y_pred - intervals[:, 0, 0], intervals[:, 1, 0] - y_pred
    assert np.median(above) > 3 * np.median(below)
    assert model.evaluate(fresh.X, skewed[1], y_pred=fresh.y_pred).valid


# ---- estimators of all kinds


def test_a_prefit_estimator_is_left_alone(rows, fresh):
    other = Rows(1000, seed=7)
    estimator = linear().fit(other.X, other.y)
    before = estimator.predict(fresh.X)
    by_word = regressor(estimator, prefit=True).fit(rows.X, rows.y)
    frozen = regressor(FrozenEstimator(estimator)).fit(rows.X, rows.y)
    assert by_word.estimator_ is estimator
    np.testing.assert_array_equal(by_word.predict(fresh.X), before)
    np.testing.assert_array_equal(by_word.predict_interval(fresh.X)[1], frozen.predict_interval(fresh.X)[1])
    assert by_word.evaluate(fresh.X, fresh.y).valid


def test_given_predictions_replace_those_of_the_estimator(rows, fresh):
    model = regressor().fit(rows.X, rows.y, y_pred=rows.y_pred)
    y_pred, intervals = model.predict_interval(fresh.X, y_pred=fresh.y_pred)
    np.testing.assert_array_equal(y_pred, fresh.y_pred)
    assert model.evaluate(fresh.X, fresh.y, y_pred=fresh.y_pred).valid
    with pytest.raises(ValueError, match="pass the predictions of these rows as y_pred"):
        model.predict_interval(fresh.X)


def test_a_pipeline_on_a_frame_with_text(rows, fresh):
    def frame(r):
        out = r.frame()
        out["colour"] = np.where(np.arange(len(out)) % 2, "red", "green")
        return out

    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), (SimpleImputer(), ["size", "age"])), LinearRegression()
    )
    model = regressor(pipeline).fit(frame(rows), rows.y)
    assert model.predictor_.features == ["size", "age", "noise", "colour"]
    assert list(model.feature_names_in_) == ["size", "age", "noise", "colour"]
    assert model.evaluate(frame(fresh), fresh.y).valid


@pytest.mark.parametrize("library", ["lightgbm", "catboost", "xgboost"])
def test_boosted_trees_of_other_libraries_as_they_are(rows, fresh, library):
    module = pytest.importorskip(library)
    estimator = {
        "lightgbm": lambda: module.LGBMRegressor(n_estimators=50, verbose=-1, n_jobs=1),
        "catboost": lambda: module.CatBoostRegressor(
            iterations=50, verbose=0, thread_count=1, allow_writing_files=False
        ),
        "xgboost": lambda: module.XGBRegressor(n_estimators=50, n_jobs=1),
    }[library]()
    model = regressor(estimator, cv=3).fit(rows.frame(), rows.y)
    assert model.evaluate(fresh.frame(), fresh.y).valid


def test_a_splitter_of_scikit_learn_cross_fits(rows):
    class ByGroup(GroupKFold):
        def split(self, X, y=None, groups=None):
            return super().split(X, y, np.arange(len(y)) % 10)

    model = regressor(linear(), cv=ByGroup(5)).fit(rows.X, rows.y)
    assert model.fit_report_["fit_rows"] == 2250
    with pytest.raises(ValueError, match="without an estimator, expected a number of folds"):
        regressor(cv=ShuffleSplit()).fit(rows.X, rows.y)


@pytest.mark.parametrize(("splitter", "fit_rows"), [(TimeSeriesSplit(4), 1800), (ShuffleSplit(1, random_state=0), 225)])
def test_rows_outside_all_test_folds_do_not_train_the_localizer(rows, fresh, splitter, fit_rows):
    model = regressor(linear(), cv=splitter).fit(rows.X, rows.y)
    assert model.fit_report_["fit_rows"] == fit_rows
    np.testing.assert_array_equal(
        model.predict(fresh.X), regressor(linear()).fit(rows.X, rows.y).predict(fresh.X), "all fitting rows fit it"
    )
    assert model.evaluate(fresh.X, fresh.y).valid


def test_a_splitter_that_needs_groups_says_what_to_do(rows):
    with pytest.raises(ValueError, match=r"GroupKFold needs groups; pass the labels of the rows to fit as clusters="):
        regressor(linear(), cv=GroupKFold(5)).fit(rows.X, rows.y)
    folds = list(GroupKFold(5).split(rows.X, rows.y, np.arange(len(rows.y)) % 10))
    assert regressor(linear(), cv=folds, calibration_size=0).fit(rows.X, rows.y).fit_report_["fit_rows"] == 3000


def test_intervals_as_a_frame_have_the_index_of_the_rows(rows, fresh):
    model = regressor(linear()).fit(rows.frame(), rows.y)
    X = fresh.frame().iloc[[7, 3, 5]]
    frame = model.predict_interval(X, [0.8, 0.95], as_frame=True)
    y_pred, intervals = model.predict_interval(X, [0.8, 0.95])
    assert list(frame.columns) == ["prediction", "lower_0.8", "upper_0.8", "lower_0.95", "upper_0.95"]
    assert list(frame.index) == list(X.index)
    np.testing.assert_array_equal(frame["prediction"], y_pred)
    np.testing.assert_array_equal(frame[["lower_0.95", "upper_0.95"]], intervals[:, :, 1])
    with pytest.raises(ValueError, match="contains a level twice"):
        model.predict_interval(X, [0.8, 0.8], as_frame=True)


# ---- calibration


def test_rows_of_ones_own_calibrate(rows, fresh):
    model = regressor(linear(), calibration_size=0).fit(rows.X, rows.y)
    with pytest.warns(UserWarning, match=r"not calibrated, so its intervals are infinite.*conformalize"):
        _, intervals = model.predict_interval(fresh.X)
    assert np.all(np.isinf(intervals))
    model.conformalize(fresh.X[:1000], fresh.y[:1000])
    assert len(model.predictor_.calibration) == 1000
    model.conformalize(fresh.X[1000:], fresh.y[1000:])
    assert len(model.predictor_.calibration) == 2000
    model.conformalize(fresh.X[:500], fresh.y[:500], replace=True)
    assert len(model.predictor_.calibration) == 500


def test_rows_that_come_twice_are_refused(rows, fresh):
    model = regressor(linear()).fit(rows.X, rows.y).conformalize(fresh.X, fresh.y)
    with pytest.raises(ValueError, match=r"100% of these rows are already in the calibration set.*replace=True"):
        model.conformalize(fresh.X, fresh.y)
    assert len(model.predictor_.calibration) == 2750  # unchanged
    for whole in (regressor(linear()), regressor(linear(), calibration_size=0), regressor()):
        whole.fit(rows.X, rows.y)
        with pytest.raises(ValueError, match=r"\d+% of these rows were used to fit the model"):
            whole.conformalize(rows.X, rows.y)


def test_in_sample_predictions_are_noticed(rows, fresh):
    seen = 0.9 * rows.y + 0.1 * rows.y_pred
    model = regressor(calibration_size=0).fit(rows.X, rows.y, y_pred=seen)
    with pytest.warns(UserWarning, match="in-sample"):
        model.conformalize(fresh.X, fresh.y, y_pred=fresh.y_pred)


def test_too_few_rows_give_infinite_intervals_and_a_warning(fresh):
    small = Rows(60, seed=5)
    model = regressor(linear()).fit(small.X, small.y)
    with pytest.warns(
        UserWarning, match="level 0.99 are infinite: the level needs 99 calibration rows, the model has 15"
    ):
        _, intervals = model.predict_interval(fresh.X, confidence_level=[0.9, 0.99])
    assert np.all(np.isinf(intervals[:, :, 1]))
    assert np.all(np.isfinite(intervals[:, :, 0]))


@pytest.mark.filterwarnings("ignore:.*too few to learn")
def test_ten_rows_have_one_width():
    small = Rows(16, seed=5)
    model = regressor(LinearRegression(), calibration_size=9).fit(np.nan_to_num(small.X), small.y)
    _, intervals = model.predict_interval(np.nan_to_num(small.X), confidence_level=0.9)
    widths = intervals[:, 1, 0] - intervals[:, 0, 0]
    assert np.ptp(widths) < 1e-9 * widths[0]


@pytest.mark.filterwarnings("ignore:every prediction equals")
def test_exact_predictions_have_intervals_without_width():
    X = np.arange(200.0).reshape(-1, 1)
    model = regressor(LinearRegression()).fit(X, np.zeros(200))
    _, intervals = model.predict_interval(X)
    assert np.all(intervals == 0)


# ---- files


def test_a_model_file_gives_the_same_bits(model, fresh, tmp_path):
    model.save(tmp_path / "model.safetensors")
    for loaded in (
        WidthwiseRegressor.load(tmp_path / "model.safetensors"),
        Predictor.load(tmp_path / "model.safetensors"),
    ):
        np.testing.assert_array_equal(loaded.predict_interval(fresh.X)[1], model.predict_interval(fresh.X)[1])


def test_a_file_without_its_estimator_can_be_loaded_with_it(rows, fresh, tmp_path):
    model = regressor(linear(), confidence_level=[0.8, 0.9]).fit(rows.X, rows.y)
    model.save(tmp_path / "model.safetensors")
    loaded = WidthwiseRegressor.load(tmp_path / "model.safetensors", model.estimator_)
    expected = model.predict_interval(fresh.X)
    assert expected[1].shape == (2000, 2, 2)
    np.testing.assert_array_equal(loaded.predict_interval(fresh.X)[1], expected[1])
    bare = WidthwiseRegressor.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(bare.predict_interval(fresh.X, y_pred=expected[0])[1], expected[1])


def test_the_command_line_gives_the_same_bits(rows, fresh, program, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    model = regressor().fit(rows.frame(), rows.y)
    model.save(tmp_path / "model.safetensors")
    parquet.write_table(pyarrow.table(dict(fresh.frame())), tmp_path / "new.parquet")
    done = program("predict", "model.safetensors", "new.parquet", "-o", "out.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = parquet.read_table(tmp_path / "out.parquet").to_pandas()
    y_pred, intervals = model.predict_interval(fresh.frame())
    lower, upper = (
        [name for name in out if name.startswith("lower")],
        [name for name in out if name.startswith("upper")],
    )
    np.testing.assert_array_equal(out[lower[0]], intervals[:, 0, 0])
    np.testing.assert_array_equal(out[upper[0]], intervals[:, 1, 0])
    assert y_pred.shape == (2000,)


# ---- errors


def test_errors_have_the_types_of_scikit_learn(model, rows, tmp_path):
    with pytest.raises(NotFittedError, match="call fit first"):
        WidthwiseRegressor().predict_interval([[1, 2, 3]])
    with pytest.raises(NotFittedError):
        WidthwiseRegressor().save(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="no such model file"):
        WidthwiseRegressor.load(tmp_path / "nothing.safetensors")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="text"):
        WidthwiseRegressor.load(tmp_path / "text")
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        model.predict_interval(rows.X, confidence_level=1.5)
    with pytest.raises(ValueError, match="even, narrow or a number from 0 to 1"):
        regressor(goal="wide").fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="affine is for the goal narrow"):
        regressor(goal="even", score_transform="affine").fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="calibration_size is 1.5"):
        regressor(calibration_size=1.5).fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="prefit=True if the estimator made the predictions"):
        regressor(linear()).fit(rows.X, rows.y, y_pred=rows.y_pred)
    with pytest.raises(NotFittedError):
        regressor(linear(), prefit=True).fit(rows.X, rows.y)
    with pytest.raises(ValueError, match="y_pred has 10"):
        regressor().fit(rows.X, rows.y, y_pred=rows.y_pred[:10])
    with pytest.raises(ValueError, match="features"):
        model.predict(rows.X[:, :2])


def test_columns_are_checked_by_name(rows):
    model = regressor().fit(rows.frame(), rows.y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows.frame().rename(columns={"age": "Age"}))


def test_evaluating_with_the_rows_of_the_fit_is_noticed(model, rows):
    with pytest.warns(UserWarning, match="7[45]% of these rows were used to fit the model, 2[56]% to calibrate it"):
        model.evaluate(rows.X, rows.y)


def test_the_evaluation_reads_well(model, fresh):
    evaluation = model.evaluate(fresh.X, fresh.y, confidence_level=[0.8, 0.9])
    text = str(evaluation)
    assert text.startswith("2,000 rows\n\nThe intervals of 80% and 90% are valid; no place was found where coverage is")
    assert "\n\nLevel 0.8\n  coverage " in text
    assert "Valid." in text
    assert re.search(r"weak places     none of \d+ tested", text)
    assert [level["level"] for level in evaluation["levels"]] == [0.8, 0.9]
    assert "<pre>" in evaluation._repr_html_()
    with pytest.raises(ValueError, match=r"y\[3\] is nan"):
        model.evaluate(fresh.X[:5], [0, 0, 0, np.nan, 0])


def frame_of(kind, X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["x0", "x1", "x2"])
    if kind == "pandas":
        return frame.set_index(np.arange(len(X)) + 7)
    if kind == "numpy":
        return X
    library = pytest.importorskip(kind)
    return library.from_pandas(frame) if kind == "polars" else library.Table.from_pandas(frame)


@pytest.mark.parametrize("kind", ["numpy", "pandas", "polars", "pyarrow"])
def test_a_frame_is_of_the_library_of_the_rows(model, fresh, kind):
    X = frame_of(kind, fresh.X[:20])
    for fitted in (model, model.predictor_):
        found = fitted.predict_interval(X, confidence_level=[0.8, 0.9], as_frame=True)
        assert type(found).__module__.startswith("pandas" if kind == "numpy" else kind)
        names = list(found.column_names if kind == "pyarrow" else found.columns)
        assert names == ["prediction", "lower_0.8", "upper_0.8", "lower_0.9", "upper_0.9"]
        assert np.array_equal(found["upper_0.9"], fitted.predict_interval(X, confidence_level=[0.9])[1][:, 1, 0])
    assert kind != "pandas" or found.index.tolist() == X.index.tolist()


def test_a_loaded_model_says_that_it_has_no_fit_report(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    loaded = WidthwiseRegressor.load(tmp_path / "model.safetensors")
    assert not hasattr(loaded, "fit_report_")
    with pytest.raises(AttributeError, match="a model file does not contain the fit report; keep it next to the file"):
        _ = loaded.fit_report_
    for unknown in (WidthwiseRegressor(), loaded):
        with pytest.raises(AttributeError, match="'WidthwiseRegressor' object has no attribute 'other_'"):
            _ = unknown.other_


def test_a_pipeline_gives_intervals_from_inside_and_through_its_last_step(rows, fresh):
    """As in docs/python.md. Inside, each fold fits the steps to its own rows; outside, they see the calibration rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    options = {"random_state": 0, "n_jobs": 1, "score_transform": "identity"}
    X, X_new = np.nan_to_num(rows.X), np.nan_to_num(fresh.X)
    inside = WidthwiseRegressor(make_pipeline(StandardScaler(), LinearRegression()), **options).fit(X, rows.y)
    _, intervals = inside.predict_interval(X_new)
    outside = make_pipeline(StandardScaler(), WidthwiseRegressor(LinearRegression(), **options)).fit(X, rows.y)
    assert not hasattr(outside, "predict_interval")
    _, same = outside[-1].predict_interval(outside[:-1].transform(X_new))
    np.testing.assert_allclose(intervals, same, rtol=1e-9)
