"""ERT, coverage gaps and CRPS, compared with covmetrics and with direct computation."""

import numpy as np
import pytest

from examples import Rows
from widthwise import _core, _engine, crps, evaluate_intervals

LEVEL = 0.9


@pytest.fixture(scope="module")
def uneven():
    """Intervals of one width around predictions whose errors grow with the first feature; features and outcomes."""
    rows = Rows(2000, seed=5)
    X = np.nan_to_num(rows.X)
    width = np.quantile(np.abs(rows.y - rows.y_pred), LEVEL)
    return X, np.stack([rows.y_pred - width, rows.y_pred + width], axis=1), rows


def cross_fitted(X, covered, seed=0):
    return _core.cross_fit_coverage(X, covered.astype(np.int64), 5, seed, _engine.xgboost_library())


def covered_by(intervals, y):
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])


class Lookup:
    """A classifier for covmetrics that predicts given probabilities; the only feature is the number of the row."""

    probabilities = np.empty(0)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        p = self.probabilities[np.asarray(X)[:, 0].astype(int)]
        return np.column_stack([1 - p, p])


def test_the_ert_is_that_of_covmetrics(uneven):
    losses = pytest.importorskip("covmetrics.losses")
    from covmetrics import ERT

    X, intervals, rows = uneven
    covered = covered_by(intervals, rows.y)
    Lookup.probabilities = cross_fitted(X, covered)
    ours = _core.excess_risk(covered.astype(np.int64), Lookup.probabilities, LEVEL)
    numbers = np.arange(len(covered), dtype=float)[:, None]
    theirs = ERT(model_cls=Lookup).evaluate_multiple_losses(numbers, covered.astype(float), 1 - LEVEL)
    names = {"l1": losses.L1_miscoverage, "brier": losses.brier_score, "kl": losses.logloss}
    for name, loss in names.items():
        assert ours[name]["value"] == pytest.approx(theirs[f"ERT_{loss.__name__}"], abs=1e-3)
        for side in ("under", "over"):
            assert ours[name][side]["value"] == pytest.approx(theirs[f"ERT_{loss.__name__}_{side}"], abs=1e-3)


def test_the_evaluation_has_the_ert_of_its_cross_fitted_probabilities(uneven):
    X, intervals, rows = uneven
    found = evaluate_intervals(intervals, rows.y, confidence_level=LEVEL, calibration_rows=2000, X=X, conditional=True)
    covered = covered_by(intervals, rows.y)
    ert = _core.excess_risk(covered.astype(np.int64), cross_fitted(X, covered), LEVEL)
    assert found["levels"][0]["ert"] == ert
    # One width covers 100% for small scales and less than 80% for large ones.
    assert ert["l1"]["value"] > 0.05
    assert ert["l1"]["under"]["value"] > 3 * ert["l1"]["under"]["standard_error"]
    assert "\n  ERT " in str(found)
    assert (
        evaluate_intervals(intervals, rows.y, confidence_level=LEVEL, calibration_rows=2000, X=X)["levels"][0]["ert"]
        is None
    )


def test_the_ert_of_even_coverage_is_zero_within_its_error(uneven):
    X, _, rows = uneven
    width = 1.6449 * rows.scale
    intervals = np.stack([rows.y_pred - width, rows.y_pred + width], axis=1)
    found = evaluate_intervals(intervals, rows.y, confidence_level=LEVEL, calibration_rows=2000, X=X, conditional=True)
    l1 = found["levels"][0]["ert"]["l1"]
    assert abs(l1["value"]) < 4.9 * l1["standard_error"]


def test_the_ert_of_few_rows_is_not_estimated(uneven):
    X, intervals, rows = uneven
    few = evaluate_intervals(
        intervals[:50], rows.y[:50], confidence_level=LEVEL, calibration_rows=2000, X=X[:50], conditional=True
    )
    assert few["levels"][0]["ert"] is None
    assert "needs at least 100 rows with features" in str(few)


def test_gaps_are_given_by_width_prediction_and_feature(uneven):
    X, intervals, rows = uneven
    found = evaluate_intervals(
        intervals, rows.y, confidence_level=LEVEL, calibration_rows=2000, X=X, y_pred=rows.y_pred
    )["levels"][0]
    assert [(gap["kind"], gap["feature"]) for gap in found["gaps"]] == [
        ("width", None),
        ("prediction", None),
        ("feature", "x0"),
        ("feature", "x1"),
        ("feature", "x2"),
    ]
    covered = covered_by(intervals, rows.y)[np.argsort(rows.y_pred)]
    tenths = covered.reshape(10, 200).mean(axis=1) - LEVEL
    by_prediction, by_size, by_noise = (found["gaps"][i] for i in (1, 2, 4))
    assert by_prediction["mean"] == pytest.approx(np.abs(tenths).mean())
    assert by_prediction["largest"] == pytest.approx(tenths[np.argmax(np.abs(tenths))])
    assert by_size["p_value"] < 1e-6 < by_noise["p_value"]
    assert by_size["mean"] > 2 * by_size["by_chance"]


def test_an_interval_of_the_prediction_alone_is_empty():
    y = np.arange(4.0)
    intervals = np.stack([y - [1, 0, 0, 1], y + [1, 0, 0, np.inf]], axis=1)
    found = evaluate_intervals(intervals, y, confidence_level=LEVEL, calibration_rows=99, y_pred=[0.0, 1.0, 5.0, 3.0])[
        "levels"
    ][0]
    assert (found["empty"], found["empty_share"]) == (1, 0.25)
    assert (found["infinite"], found["infinite_share"]) == (1, 0.25)


def test_a_model_has_the_crps_of_its_quantiles(model, fresh):
    probabilities = [(j + 0.5) / 20 for j in range(20)]
    quantiles = model.predict_quantile(fresh.X, probabilities)
    evaluation = model.evaluate(fresh.X, fresh.y)
    assert evaluation["crps"] == crps(quantiles, fresh.y, probabilities)
    # The score of mass 1/20 at each quantile, from pairs: E|q - y| - E|q - q'| / 2.
    spread = np.abs(quantiles[:, :, None] - quantiles[:, None, :]).mean(axis=(1, 2)) / 2
    assert evaluation["crps"] == pytest.approx((np.abs(quantiles - fresh.y[:, None]).mean(axis=1) - spread).mean())
    assert "\n  CRPS " in str(evaluation)


def test_quantiles_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected \(2, 2\)"):
        crps(np.zeros((2, 3)), [1, 2], [0.1, 0.9])
