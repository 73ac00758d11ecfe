"""Evaluations: one decision from all tests, intervals of any origin, and means without infinite intervals."""

import numpy as np
import pytest

from widthwise import Localizer, Predictor, evaluate_intervals

N = 2000
Z = 1.6448536


@pytest.fixture(scope="module")
def rows():
    """Features, and outcomes with errors of deviation 1."""
    rng = np.random.default_rng(0)
    return rng.uniform(size=(N, 2)), rng.normal(size=N)


def constant(half_width, n=N):
    return np.tile([-half_width, half_width], (n, 1))


def test_without_calibration_rows_coverage_is_compared_with_the_level(rows):
    X, y = rows
    found = evaluate_intervals(constant(Z), y, confidence_level=0.9, X=X)
    verdict = found["levels"][0]["verdict"]
    # The central 99% of Binomial(2000, 0.9).
    assert verdict["expected_low"] == pytest.approx(0.8825, abs=1e-3)
    assert verdict["expected_high"] == pytest.approx(0.917, abs=1e-3)
    assert "within the binomial range of the level for 2,000 test rows" in verdict["text"]
    assert found["verdict"]["code"] == "valid" and found.valid
    assert found["verdict"]["headline"] == "The intervals are valid; no place was found where coverage is weak."
    assert found["verdict"]["advice"] == [
        {"kind": "none", "text": "No action needed. Evaluate again when the data change."}
    ]
    assert str(found).endswith("What to do:\n  - No action needed. Evaluate again when the data change.")
    # A calibration set adds its own randomness.
    few = evaluate_intervals(constant(Z), y, confidence_level=0.9, calibration_rows=100, X=X)
    assert few["levels"][0]["verdict"]["expected_low"] < verdict["expected_low"] - 0.05


def test_intervals_of_any_origin_have_a_verdict_with_advice(rows):
    X, y = rows
    low = evaluate_intervals(constant(1.3), y, confidence_level=0.9, X=X)
    assert low["verdict"]["code"] == "too_low" and not low.valid
    assert low["verdict"]["headline"].startswith("The intervals are not valid on these rows: those of 90% contain 8")
    assert low["verdict"]["advice"][0]["kind"] == "calibrate"
    assert evaluate_intervals(constant(2.2), y, confidence_level=0.9)["verdict"]["code"] == "too_high"
    scaled = (0.4 + 1.2 * X[:, 0]) * y
    uneven = evaluate_intervals(constant(1.75), scaled, confidence_level=0.9, X=X)
    assert uneven["verdict"]["code"] in ("uneven", "weak_place")
    assert "whose width depends on the row" in uneven["verdict"]["advice"][0]["text"]


def test_impossible_numbers_of_calibration_rows_are_refused(rows):
    _, y = rows
    for few in (0, 8):
        with pytest.raises(
            ValueError, match=f"calibration_rows is {few}, but finite intervals of level 0.9 need at least 9"
        ):
            evaluate_intervals(constant(Z), y, confidence_level=0.9, calibration_rows=few)
    infinite = evaluate_intervals(constant(np.inf), y, confidence_level=0.9, calibration_rows=8)
    assert infinite["verdict"]["code"] == "infinite"
    with pytest.raises(ValueError, match=r"guarantee is 0.95, .*; pass calibration_rows"):
        evaluate_intervals(constant(Z), y, confidence_level=0.9, guarantee=0.95)


def test_coverage_above_the_level_alone_is_uneven(rows):
    """As in docs/start/python.md: no place is weak, yet coverage falls with the width."""
    X, y = rows
    half = np.where(X[:, 0] < 0.1, 1.3 * Z, 0.985 * Z) * (1 + X[:, 0])
    found = evaluate_intervals(half[:, None] * [-1, 1], (1 + X[:, 0]) * y, confidence_level=0.9, X=X)
    level = found["levels"][0]
    assert level["weak_places"]["found"] == []
    assert found["verdict"]["code"] == "uneven" and found["verdict"]["word"] == "Valid, but uneven"
    sentence = level["uneven"]["text"].removeprefix("Coverage is uneven: ").partition(" (p < ")[0]
    assert found["verdict"]["headline"] == f"The intervals are valid, but uneven: coverage is {sentence}."
    assert level["uneven"]["p_value"] <= 0.01
    assert level["uneven"]["highest"]["coverage"]["share"] > 0.95
    assert "uneven" in found._repr_html_()
    assert "No action" not in str(found) and "no place was found" not in str(found)


def test_means_without_infinite_intervals(rows):
    X, y = rows
    bounds = constant(Z)
    bounds[:40] = [-np.inf, np.inf]
    found = evaluate_intervals(bounds, y, confidence_level=0.9, X=X)
    level = found["levels"][0]
    assert level["mean_width"] == level["interval_score"] == np.inf
    assert level["finite_mean_width"] == pytest.approx(2 * Z)
    rest = evaluate_intervals(bounds[40:], y[40:], confidence_level=0.9)["levels"][0]
    assert level["finite_interval_score"] == pytest.approx(rest["interval_score"])
    assert (level["infinite"], level["infinite_share"]) == (40, 0.02)
    text = str(found)
    assert "mean width      3.29, without infinite intervals\n" in text and "infinite        40 intervals, 2.0%" in text
    assert "Find out why 40 of 2,000 intervals are infinite." in text and "No action" not in text
    assert "3.29 (finite)" in found._repr_html_()


def test_crps_without_infinite_quantiles():
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(1000, 1)), np.r_[np.full(980, "many"), np.full(20, "few")]
    y = rng.normal(size=1000)
    localizer = Localizer(score_transform="identity").fit(X, y, np.zeros(1000))
    rows = rng.normal(size=(1000, 1)), rng.normal(size=1000), np.zeros(1000)
    predictor = Predictor(localizer, localizer.calibrate(*rows, groups=groups))
    new = rng.normal(size=(1000, 1)), rng.normal(size=1000), np.zeros(1000)
    found = predictor.evaluate(*new, confidence_level=0.9, groups=groups)
    assert found["crps"] == np.inf and found["crps_infinite"] == 20
    assert 0.4 < found["finite_crps"] < 0.8
    assert "20 rows, 2.0%, with infinite quantiles" in str(found)


def test_the_verdict_leaves_out_pooled_rows():
    rng = np.random.default_rng(3)

    def draw(n):
        groups = rng.choice([0, 1, 2, 3], n, p=[0.7, 0.1, 0.1, 0.1])
        return rng.normal(size=(n, 1)), rng.normal(size=n), np.zeros(n), groups

    localizer = Localizer(score_transform="identity", pool_groups=50).fit(*draw(300)[:3])
    X, y, y_pred, groups = draw(200)
    predictor = Predictor(localizer, localizer.calibrate(X, y, y_pred, groups=groups))
    X, y, y_pred, groups = draw(1000)
    level = predictor.evaluate(X, y, y_pred, confidence_level=0.9, groups=groups)["levels"][0]
    assert level["verdict"]["word"] == "valid"
    assert level["verdict"]["judged"]["trials"] == (groups == 0).sum() < level["coverage"]["trials"] == 1000
    assert f"leaves out {(groups != 0).sum()} rows of pooled groups" in level["verdict"]["text"]
    pooled = groups != 0
    found = predictor.evaluate(X[pooled], y[pooled], y_pred[pooled], confidence_level=0.9, groups=groups[pooled])
    assert found["verdict"]["code"] == "not_judged" and found["levels"][0]["verdict"]["word"] == "not judged"
    assert found["verdict"]["headline"].startswith("No verdict on coverage: the intervals are of pooled groups.")
