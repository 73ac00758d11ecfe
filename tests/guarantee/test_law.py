"""The law is exact, a correct implementation rarely fails, and a rank that is off by one always fails.

Checks that compare with a bound fail if coverage is clearly below the bound, and those of events if one tail is missing.
"""

import itertools
import math

import law
import numpy as np
import pytest
from checks import CELLS, CHECKS, THRESHOLD, Check, CrossCheck
from scipy import stats


def reference(random, cells, repetitions, n, m, level, grid=None):
    """Counts of covered rows of split conformal prediction in numpy, for several cells; scores on a grid are tied."""
    scores = random.random((cells, repetitions, n))
    new = random.random((cells, repetitions, m))
    if grid is not None:
        scores, new = np.floor(grid * scores), np.floor(grid * new)
    q = np.sort(scores, axis=-1)[..., law.rank(level, n) - 1 : law.rank(level, n)]
    return (new <= q).sum(axis=(1, 2))


def test_ranks_are_exact():
    assert law.rank(0.9, 9) == 9 and law.rank(0.9, 19) == 18 and law.rank(0.8, 10) == 9
    assert law.rank(0.9, 8) == 9  # too few
    k = law.rank(0.9, 100, 0.95)
    assert stats.binom.cdf(k - 1, 100, 0.9) >= 0.95 > stats.binom.cdf(k - 2, 100, 0.9)
    assert law.rank(0.9, 20, 0.95) == 21  # 0.9^20 > 0.05: too few


def test_the_law_is_that_of_all_orders():
    """With 3 calibration and 2 test rows, all 5! orders of the scores are equally likely; two repetitions convolve."""
    n, m, k = 3, 2, 2
    counts = np.zeros(m + 1)
    for order in itertools.permutations(range(n + m)):
        q = sorted(order[:n])[k - 1]
        counts[sum(score <= q for score in order[n:])] += 1
    one = counts / math.factorial(n + m)
    np.testing.assert_allclose(law._cumulative(n, k, m, 1), np.cumsum(one), atol=1e-15)
    np.testing.assert_allclose(law._cumulative(n, k, m, 2), np.cumsum(np.convolve(one, one)), atol=1e-15)


def test_a_sum_by_fourier_transform_has_correct_tails():
    n, k, m, repetitions = 19, 18, 5, 60
    one = stats.betabinom.pmf(np.arange(m + 1), m, k, n + 1 - k)
    total = np.ones(1)
    for _ in range(repetitions):
        total = np.convolve(total, one)
    np.testing.assert_allclose(law._cumulative(n, k, m, repetitions), np.cumsum(total), atol=1e-13)


@pytest.mark.parametrize("grid, tail", [(None, "both"), (None, "lower"), (7, "lower")])
@pytest.mark.parametrize("n, m, repetitions", [(19, 20, 10), (10, 1, 30), (99, 50, 2)])
def test_a_correct_implementation_seldom_alarms(grid, tail, n, m, repetitions):
    cells, rate = 4000, 0.01
    totals = reference(np.random.default_rng(n), cells, repetitions, n, m, 0.9, grid)
    p = [law.p_value(t, n=n, k=law.rank(0.9, n), m=m, repetitions=repetitions, tail=tail) for t in totals]
    assert np.sum(np.array(p) < rate) <= stats.binom.ppf(1 - 1e-6, cells, rate)


def test_all_cells_together_have_the_stated_false_alarm_rate():
    assert THRESHOLD * CELLS == pytest.approx(law.FALSE_ALARM_RATE)
    assert law._PRECISION < THRESHOLD / 1000


def power(check, level):
    """The exact probability that a check detects a rank that is too small by one."""
    k = law.rank(level, check.n)
    shape = {"m": check.m, "repetitions": check.times}
    p = [law.p_value(t, n=check.n, k=k, tail=check.tail, **shape) for t in range(0, check.m * check.times + 1)]
    critical = int(np.argmax(np.array(p) >= THRESHOLD))  # the smallest total that passes
    return law._cumulative(check.n, k - 1, check.m, check.times)[critical - 1]


# What the names of the checks of an interface or a calibration scheme begin with.
INTERFACES = ["C++", "Python", "command line", "ONNX", "WidthwiseRegressor"]
INTERFACES += ["C++ clusters", "C++ folds", "C++ fold_p_values", "Python clusters"]
INTERFACES += [
    "Python lower and upper quantiles",
    "Python categories",
    "Python from_booster",
    "WidthwiseRegressor prefit",
]
INTERFACES += ["WidthwiseRegressor y_pred_cv", "WidthwiseRegressor outcome_range", "cross of given predictions"]


@pytest.mark.parametrize("name", INTERFACES)
def test_every_interface_has_a_check_that_finds_a_rank_off_by_one(name):
    checks = [check for check in CHECKS if isinstance(check, Check) and check.name.startswith(name)]
    small = [check for check in checks if 0 < check.n <= 20 and check.tail == "both" and not check.weighted]
    strongest = max(small, key=lambda check: check.times / (check.n + 1))
    assert power(strongest, 0.9) > 0.99, strongest.name


def test_events_have_the_law_of_all_outcomes():
    """Three events with two different probabilities, by enumeration."""
    probabilities = [0.3, 0.3, 0.9]
    chances = np.zeros(4)
    for happened in itertools.product([0, 1], repeat=3):
        chances[sum(happened)] += math.prod(p if h else 1 - p for h, p in zip(happened, probabilities, strict=True))
    cumulative = np.cumsum(chances)
    for total in range(4):
        assert law.trials_p_value(total, probabilities, "lower") == pytest.approx(cumulative[total])
        upper = chances[total:].sum()
        assert law.trials_p_value(total, probabilities, "upper") == pytest.approx(upper)
        both = min(1.0, 2 * min(cumulative[total], upper))
        assert law.trials_p_value(total, probabilities, "both") == pytest.approx(both)


def test_the_bound_of_means_is_never_below_the_exact_probability():
    """Means of independent numbers in [0, 1] vary most if the numbers are 0 or 1."""
    for repetitions, least in ((10, 0.5), (60, 0.8), (400, 0.9)):
        for total in range(int(repetitions * least)):
            bound = law.mean_p_value(total / repetitions, least=least, repetitions=repetitions)
            assert bound >= stats.binom.cdf(total, repetitions, least) - 1e-13


@pytest.mark.parametrize("check", [c for c in CHECKS if isinstance(c, CrossCheck)], ids=lambda check: check.name)
def test_trained_folds_cannot_pass_far_below_their_bound(check):
    """Checks of trained folds know a bound only. The exact laws of folds are those of given predictions and of
    predictions below the outcomes. The smallest mean coverage that passes is printed."""
    for level in check.levels:
        least = law.cross_coverage(level, check.n, check.folds)
        passes = law.passes_at(least, check.times, THRESHOLD)
        print(f"{check.name}, level {level}: bound {least:.3f}, passes from {passes:.3f} on")
        assert passes > (least - 0.1 if check.times >= 1000 else 0.4)
