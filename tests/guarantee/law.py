"""The exact law of coverage, and p-values of counts under this law.

With n calibration rows and untied scores, coverage given the calibration set is Beta(k, n + 1 - k), where
k = ceil((n + 1) level). The number of covered rows among m new rows is therefore exactly beta-binomial, for any
distribution, any model and any n. The total over independent repetitions is a sum of such counts, whose distribution is
computed here with a Fourier transform. There are no normal approximations and no estimated standard errors.

With tied scores, the intervals cover at least as much as with ties broken at random. The total is then stochastically
larger, and only its lower tail is tested. The same applies to weighted calibration, where coverage is at least the
level: with one new row per repetition, the rows covered are independent events with at least this probability.
"""

import functools
import math
from fractions import Fraction

import numpy as np
from scipy import special, stats

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


def trials_p_value(happened, probabilities, tail):
    """The p-value of the number of independent events that happened, of R events with these probabilities.

    The tail is "both", "lower" if the probabilities are lower bounds, or "upper" if they are upper bounds. The
    distribution is the convolution of one binomial distribution for each distinct probability.
    """
    values, counts = np.unique(np.asarray(probabilities, dtype=float), return_counts=True)
    total = int(np.sum(counts))
    size = 2 * (total + 1)
    spectrum = np.ones(size // 2 + 1, dtype=complex)
    for value, count in zip(values, counts, strict=True):
        spectrum *= np.fft.rfft(stats.binom.pmf(np.arange(count + 1), count, value), size)
    cumulative = np.clip(np.cumsum(np.fft.irfft(spectrum, size)[: total + 1]), 0.0, 1.0)
    lower = cumulative[happened]
    upper = 1 - (cumulative[happened - 1] if happened > 0 else 0.0)
    p = {"lower": lower, "upper": upper, "both": 2 * min(lower, upper)}[tail]
    return min(1.0, max(p, _PRECISION))


def mean_p_value(mean, *, least, repetitions):
    """The p-value of the mean of independent numbers in [0, 1] whose expectations are at least `least`.

    Hoeffding's inequality in its form with the relative entropy (Hoeffding 1963, Theorem 1), which is the smallest
    bound that an exponential moment gives.
    """
    if mean >= least:
        return 1.0
    entropy = special.rel_entr(mean, least) + special.rel_entr(1 - mean, 1 - least)
    return max(math.exp(-repetitions * entropy), _PRECISION)


def passes_at(least, repetitions, threshold):
    """The smallest mean that `mean_p_value` accepts."""
    low, high = 0.0, least
    for _ in range(60):
        middle = (low + high) / 2
        accepted = mean_p_value(middle, least=least, repetitions=repetitions) >= threshold
        low, high = (low, middle) if accepted else (middle, high)
    return high


def expected(n, k):
    """Mean coverage of untied scores."""
    return min(1.0, k / (n + 1))
