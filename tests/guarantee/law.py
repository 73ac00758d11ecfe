"""The exact law of coverage, and p-values of counts under this law.

With n calibration rows and untied scores, coverage given the calibration set is Beta(k, n + 1 - k), where
k = ceil((n + 1) level). The number of covered rows among m new rows is therefore exactly beta-binomial, for any
distribution, any model and any n. The total over independent repetitions is a sum of such counts, whose distribution is
computed here with a Fourier transform. There are no normal approximations and no estimated standard errors.

With tied scores, the intervals cover at least as much as with ties broken at random. The total is then stochastically
larger, and only its lower tail is tested. The same applies to weighted calibration, where coverage is at least the
level.
"""

import functools
import math
from fractions import Fraction

import numpy as np
from scipy import stats

# The probability that a correct product fails any check of the suite.
FALSE_ALARM_RATE = 1e-6

# Rounding error of the Fourier transform, the smallest p-value that can be computed.
_PRECISION = 1e-13


def rank(level, n, confidence=None):
    """The rank of the conformal quantile, ceil((n + 1) level); n + 1 if n rows are too few.

    With a confidence, the rank of the training-conditional guarantee: the smallest k with
    P(Bin(n, level) < k) >= confidence.
    """
    if confidence is not None:
        return int(stats.binom.ppf(confidence, n, level)) + 1
    return math.ceil((n + 1) * Fraction(str(level)))


def cross_coverage(level, n, folds):
    """The coverage that is proved for cross-calibration with folds of equal size (docs/mathematics.md)."""
    alpha = 1 - level
    any_fit = 2 * (alpha + (1 - alpha) * (folds - 1) / (n + folds))
    return max(0.0, 1 - min(any_fit, 2 * alpha + (1 - folds / n) / (folds + 1)))


@functools.lru_cache(maxsize=32)
def _cumulative(n, k, m, repetitions):
    """P(total <= t) for t = 0, 1, ..., repetitions * m."""
    if k > n:  # every interval is infinite
        return np.append(np.zeros(repetitions * m), 1.0)
    if m == 1:
        return stats.binom.cdf(np.arange(repetitions + 1), repetitions, k / (n + 1))
    one = stats.betabinom.pmf(np.arange(m + 1), m, k, n + 1 - k)
    if repetitions == 1:
        return np.cumsum(one)
    size = repetitions * m + 1
    total = np.fft.irfft(np.fft.rfft(one, 2 * size) ** repetitions, 2 * size)[:size]
    return np.clip(np.cumsum(total), 0.0, 1.0)


def p_value(covered, *, n, k, m, repetitions, tail):
    """The p-value of a total: its lower tail, or for "both" twice the smaller tail."""
    cumulative = _cumulative(n, k, m, repetitions)
    lower = cumulative[covered]
    if tail == "lower":
        return max(lower, _PRECISION)
    upper = 1 - (cumulative[covered - 1] if covered > 0 else 0.0)
    return min(1.0, max(2 * min(lower, upper), _PRECISION))


def weighted_p_value(covered, *, level, repetitions):
    """The p-value for weighted calibration with one new row per repetition; coverage is at least the level."""
    return max(stats.binom.cdf(covered, repetitions, level), _PRECISION)


def expected(n, k):
    """Mean coverage of untied scores."""
    return min(1.0, k / (n + 1))
