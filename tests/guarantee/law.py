"""The exact law of coverage, and the judge that compares counts with it.

With n calibration rows and untied scores the coverage given the calibration set is Beta(k, n + 1 - k), k = ceil((n +
1) level), so the number of m new rows that are covered is beta-binomial, and exactly so: for any distribution, any
model and any n. Over independent repetitions the total is a sum of such counts, whose distribution is computed here by
a Fourier transform. Nothing is approximated by a normal distribution, and no standard error is estimated.

With tied scores the intervals cover at least what they would if ties were broken at random. The total is then
stochastically larger, and only its lower tail is tested. The same holds of weighted calibration, where coverage is at
least the level.
"""

import functools
import math
from fractions import Fraction

import numpy as np
from scipy import stats

# Of the whole suite: the probability that a correct product fails any of its checks.
FALSE_ALARM_RATE = 1e-6

# Rounding of the Fourier transform; no p-value is known to be smaller.
_PRECISION = 1e-13


def rank(level, n, confidence=None):
    """The rank of the score that bounds the interval, ceil((n + 1) level); n + 1 when n rows are too few.

    With a confidence, that of the training-conditional guarantee: the smallest k with P(Bin(n, level) < k) >= confidence.
    """
    if confidence is not None:
        return int(stats.binom.ppf(confidence, n, level)) + 1
    return math.ceil((n + 1) * Fraction(str(level)))


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
    """The probability of a total at least as far out: in the lower tail, or for "both" twice that of the nearer tail."""
    cumulative = _cumulative(n, k, m, repetitions)
    lower = cumulative[covered]
    if tail == "lower":
        return max(lower, _PRECISION)
    upper = 1 - (cumulative[covered - 1] if covered > 0 else 0.0)
    return min(1.0, max(2 * min(lower, upper), _PRECISION))


def weighted_p_value(covered, *, level, repetitions):
    """The same for weighted calibration with one new row per repetition: coverage is at least the level."""
    return max(stats.binom.cdf(covered, repetitions, level), _PRECISION)


def expected(n, k):
    """Mean coverage of untied scores."""
    return min(1.0, k / (n + 1))
