"""Rows that fitted or calibrated a model are detected in any order of rows and columns and any kind of table."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, report

pd = pytest.importorskip("pandas")


def make(n, seed, columns=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, len(columns))), columns=list(columns))
    return X, (X.iloc[:, 0] + rng.normal(size=n)).to_numpy()


def shuffled(X, y, seed=0):
    """All rows but one, with rows and columns in another order."""
    order = np.random.default_rng(seed).permutation(len(y))[1:]
    return X.iloc[order, ::-1], y[order]


@pytest.fixture(scope="module")
def rows():
    return make(1000, 1)


@pytest.fixture(scope="module")
def fresh():
    return make(800, 2)


@pytest.fixture(scope="module")
def localizer(rows):
    X, y = rows
    return Localizer(score_transform="identity").fit(X, y, X["a"])


@pytest.fixture(scope="module")
def model(rows):
    return WidthwiseRegressor(DecisionTreeRegressor(random_state=0), score_transform="identity", random_state=0).fit(
        *rows
    )


def test_a_decision_tree_is_not_calibrated_with_its_own_rows(model, rows, fresh):
    X, y = shuffled(*rows)
    before = model.predictor_
    for replace in (False, True):
        with pytest.raises(ValueError, match=r"75% of these rows were used to fit the model.*Drop these rows"):
            model.conformalize(X[["a", "b", "c"]], y, replace=replace)
    assert model.predictor_ is before
    # The error prevents this: a tree has no errors on its training rows, so intervals would have width 0.
    held = copy.deepcopy(model)
    held.conformalize(*fresh, replace=True)
    inside = held.evaluate(*make(800, 3))["levels"][0]["coverage"]["share"]
    assert inside > 0.85


def test_numpy_fitted_and_pandas_shuffled_are_the_same_rows(rows):
    X, y = rows
    localizer = Localizer(score_transform="identity").fit(X.to_numpy(), y, X["a"])
    again, outcomes = shuffled(X.set_axis(localizer.features, axis=1), y)
    with pytest.raises(ValueError, match="100% of these rows were used to fit the model"):
        localizer.calibrate(again, pd.Series(outcomes, name="other"), again[localizer.features[0]])


def test_rows_of_a_calibration_are_refused_in_any_order(localizer, fresh):
    X, y = fresh
    calibration = localizer.calibrate(X, y, X["a"])
    again, outcomes = shuffled(X, y)
    for kept in (calibration, pickle.loads(pickle.dumps(calibration)), Calibration().merge(calibration)):
        with pytest.raises(ValueError, match=r"100% of these rows are already in the calibration set.*new Calibration"):
            localizer.calibrate(again, outcomes, again["a"], calibration=kept)
        assert len(kept) == len(y)


def test_a_saved_predictor_recognises_its_rows(localizer, rows, fresh, tmp_path):
    X, y = fresh
    Predictor(localizer, localizer.calibrate(X, y, X["a"])).save(tmp_path / "p.safetensors")
    predictor = Predictor.load(tmp_path / "p.safetensors")
    again, outcomes = shuffled(X, y)
    with pytest.raises(ValueError, match="already in the calibration set"):
        predictor.calibrated(again, outcomes, again["a"])
    assert len(predictor.calibrated(again, outcomes, again["a"], replace=True).calibration) == len(outcomes)
    again, outcomes = shuffled(*rows)
    with pytest.raises(ValueError, match="used to fit the model"):
        predictor.calibrated(again, outcomes, again["a"], replace=True)
    with pytest.raises(ValueError, match="used to fit the model"):
        Predictor(localizer, Calibration()).calibrated(again, outcomes, again["a"])


def test_new_rows_are_taken(localizer, fresh):
    predictor = Predictor(localizer, localizer.calibrate(fresh[0], fresh[1], fresh[0]["a"]))
    for seed in range(3, 6):
        X, y = make(500, seed)
        predictor = predictor.calibrated(X, y, X["a"])
    assert len(predictor.calibration) == 2300


def test_evaluations_and_reports_say_when_rows_are_not_new(model, rows, tmp_path):
    X, y = shuffled(*rows)
    X = X[["a", "b", "c"]]
    with pytest.warns(UserWarning, match="75% of these rows were used to fit the model, 25% to calibrate it"):
        evaluation = model.evaluate(X, y)
    assert evaluation["seen"]["fitted"] == pytest.approx(0.75, abs=0.01)
    assert evaluation["levels"][0]["verdict"]["word"] == "not new" and not evaluation.valid
    text = " ".join(str(evaluation).split())
    assert "does not estimate the coverage of new rows" in text and "Valid" not in text
    page = report(model, X, y)
    assert page.verdict.startswith(
        "These rows do not measure the coverage of new rows: 75% of these rows were used to fit the model"
    )
    assert page.verdict in page.html and "are valid" not in page.html

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.evaluate(*make(500, 4))["seen"] is None


def test_counts_that_repeat_are_no_alarm():
    rng = np.random.default_rng(0)

    def table(n):
        X = rng.integers(0, 2, (n, 3)).astype(float)
        return X, rng.poisson(1 + X.sum(axis=1)).astype(float)

    X, y = table(2000)
    localizer = Localizer(score_transform="identity").fit(X, y, 1 + X.sum(axis=1))
    for _ in range(20):
        new, outcomes = table(1000)
        localizer.calibrate(new, outcomes, 1 + new.sum(axis=1))
    order = rng.permutation(2000)
    with pytest.raises(ValueError, match="used to fit the model"):
        localizer.calibrate(X[order], y[order], 1 + X[order].sum(axis=1))
