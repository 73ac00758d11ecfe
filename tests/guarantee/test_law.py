"""The law is exact, a correct implementation rarely fails, and a rank that is off by one always fails."""

import itertools
import math

import law
import numpy as np
import pytest
from checks import CELLS, CHECKS, THRESHOLD, Check
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


@pytest.mark.parametrize("face", ["C++", "Python", "command line", "ONNX", "WidthwiseRegressor"])
def test_every_face_has_a_check_that_finds_a_rank_off_by_one(face):
    checks = [check for check in CHECKS if isinstance(check, Check) and check.name.startswith(face)]
    small = [check for check in checks if 0 < check.n < 20 and check.tail == "both" and not check.weighted]
    strongest = max(small, key=lambda check: check.times / (check.n + 1))
    assert power(strongest, 0.9) > 0.99, strongest.name
