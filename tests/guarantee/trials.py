"""Adapters whose results are independent events, one per repetition: trials(random, repetitions, level).

The probability of each event is known exactly, or bounded from one side: pooled groups, clusters of dependent rows,
learnt weights, the verdict of `evaluate`, the alarm of streams, and late outcomes.
"""

import functools
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import law
import numpy as np
from adapters import CommandLine, Cpp, inside, read_bounds, write_table
from populations import FIRST_CLUSTER, Rows
from schemes import quiet
from scipy import special, stats

from widthwise import Localizer, OnlinePredictor, Predictor, WidthwiseRegressor


def plain_rows(random, errors):
    """Rows with these errors (..., n); the features mean nothing."""
    X = random.random((*errors.shape, 2))
    return Rows(X, X[..., 0] + errors, X[..., 0])


@functools.cache
def one_width(clustered=False, **options):
    """A localizer with one width for all rows."""
    random = np.random.default_rng(0)
    clusters = np.arange(200) if clustered else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        localizer = Localizer(score_transform="identity", **options)
        return localizer.fit(*plain_rows(random, random.standard_normal(200)).arguments, clusters=clusters)


def covers(predictor, new, level, **given):
    """Whether the interval of one new row contains its outcome."""
    return inside(predictor.predict_interval(new.X, new.prediction, confidence_level=level, **given)[1], new.y)[0, 0]


# ---- pooled groups

POOL_BELOW = 6
SHARES = np.append(0.3, np.full(70, 0.01))  # of the groups; the first has about POOL_BELOW rows and large errors


def pooled_rows(random, repetitions):
    """20 calibration rows and one new row of a small group per repetition, and the number of rows it is ranked with.

    Given all 21 rows, the new row is equally likely to be each row of the small groups, those with at most POOL_BELOW
    rows. So its rank among them is uniform (docs/groups.md).
    """
    groups = random.choice(len(SHARES), (repetitions, 21), p=SHARES)
    rows = replace(
        plain_rows(random, np.where(groups == 0, 10.0, 1.0) * random.standard_normal(groups.shape)), groups=groups
    )
    counts = (groups[:, :-1, None] == groups[:, None, :]).sum(axis=1)  # calibration rows in the group of each row
    small = counts[:, -1] < POOL_BELOW
    ranked = (counts[:, :-1] <= POOL_BELOW).sum(axis=1)
    return rows[small][:, :-1], rows[small][:, -1:], ranked[small]


@dataclass(frozen=True)
class PooledInCpp(Cpp):
    """ConformalPredictor with pooled groups."""

    transform: str = "identity"
    path: str = "pooled"
    setting: float = POOL_BELOW

    def trials(self, random, repetitions, level):
        rows, new, ranked = pooled_rows(random, repetitions)
        covered = self.covered(None, rows, new, [level])
        return covered[:, 0, 0], [law.expected(n, law.rank(level, n)) for n in ranked]


@dataclass(frozen=True)
class PooledInPython:
    """Localizer(pool_groups=...)."""

    @quiet
    def trials(self, random, repetitions, level):
        rows, new, ranked = pooled_rows(random, repetitions)
        localizer = one_width(pool_groups=POOL_BELOW)

        def one(rows, new):
            predictor = Predictor(localizer, localizer.calibrate(*rows.arguments, groups=rows.groups))
            return covers(predictor, new, level, groups=new.groups)

        covered = np.array([one(rows[r], new[r]) for r in range(len(new))])
        return covered, [law.expected(n, law.rank(level, n)) for n in ranked]


# ---- clusters

SMALL, LARGE = 2, 20  # rows of clusters
HARD = 0.2  # share of the clusters with errors that are six times as large


def patients(random, repetitions, clusters, *, rows_count):
    """Clusters whose sizes are related to their errors, and one row of a new cluster.

    If each cluster counts once, hard clusters are small, so that counting rows covers too little. If each row counts,
    hard clusters are large, so that counting clusters covers too little, and the new row is one of all rows: its cluster
    is drawn in proportion to its size. Calibration rows have the shape (R, LARGE clusters) and are filled up with rows
    of the cluster -1.
    """
    hard = random.random((repetitions, clusters + 1)) < HARD
    if rows_count:
        hard[:, -1] = random.random(repetitions) < HARD * LARGE / (HARD * LARGE + (1 - HARD) * SMALL)
    sizes = np.where(hard == rows_count, LARGE, SMALL)
    errors = np.where(hard, 6.0, 1.0)[..., None] * random.standard_normal((repetitions, clusters + 1, LARGE))
    rows = plain_rows(random, errors)
    number = np.where(np.arange(LARGE) < sizes[..., None], FIRST_CLUSTER + np.arange(clusters + 1)[:, None], -1)
    last = np.argsort(number[:, :-1].reshape(repetitions, -1) < 0, axis=1, kind="stable")

    def flat(values):
        values = values[:, :-1].reshape(repetitions, LARGE * clusters, *values.shape[3:])
        return np.take_along_axis(values, last if values.ndim == 2 else last[..., None], axis=1)

    known = Rows(flat(rows.X), flat(rows.y), flat(rows.prediction), clusters=flat(number))
    return known, rows[:, -1][:, :1]


@dataclass(frozen=True)
class PatientsInCpp(Cpp):
    """A model with clusters: one row of a new cluster, where each cluster counts once, or each row (`setting` > 0)."""

    transform: str = "identity"
    path: str = "clusters"
    clusters: int = 19

    def trials(self, random, repetitions, level):
        rows, new = patients(random, repetitions, self.clusters, rows_count=self.setting > 0)
        return self.covered(None, rows, new, [level])[:, 0, 0], level


@dataclass(frozen=True)
class PatientsInPython:
    """Localizer.calibrate with clusters: one row of a new cluster."""

    form: str = "clusters"
    clusters: int = 19

    @quiet
    def trials(self, random, repetitions, level):
        rows, new = patients(random, repetitions, self.clusters, rows_count=self.form == "rows")
        size = LARGE if self.form == "rows" else "auto"
        localizer = one_width(clustered=True, cluster_coverage=self.form, max_cluster_size=size)

        def one(rows, new):
            rows = rows[rows.clusters >= 0]
            predictor = Predictor(localizer, localizer.calibrate(*rows.arguments, clusters=rows.clusters))
            return covers(predictor, new, level)

        return np.array([one(rows[r], new[r]) for r in range(repetitions)]), level


# ---- learnt weights


@dataclass(frozen=True)
class LearntWeights:
    """WidthwiseRegressor with shift_to: approximate, one model for all repetitions.

    New rows have the density of the calibration rows times x / 2. Without weights, coverage at level 0.8 is 70%.
    """

    rows: int = 60

    def trials(self, random, repetitions, level):
        x = 4 * random.random((repetitions, self.rows + 1))
        x[:, -1] = 4 * np.sqrt(random.random(repetitions))
        X = np.stack([x, random.random(x.shape)], axis=-1)
        y = 0.1 * x**2 * random.standard_normal(x.shape)
        return self.covered(X, y, level), level

    @quiet
    def covered(self, X, y, level):
        predictor = shifted_predictor()

        def one(X, y):
            f = np.zeros_like(y)
            calibrated = predictor.calibrated(X[:-1], y[:-1], f[:-1], replace=True, population="source")
            return covers(calibrated, Rows(X[-1:], y[-1:], f[-1:]), level)

        return np.array([one(X[r], y[r]) for r in range(len(y))])


def rows_to_learn_from():
    """Fitting rows, and rows of the population to predict."""
    random = np.random.default_rng(2)
    x = 4 * random.random(1500)
    X = np.column_stack([x, random.random(1500)])
    target = np.column_stack([4 * np.sqrt(random.random(1500)), random.random(1500)])
    y = 0.1 * x**2 * random.standard_normal(1500)
    return Rows(X, y, 0 * y), Rows(target, 0 * y, 0 * y)


@functools.cache
@quiet
def shifted_predictor():
    rows, target = rows_to_learn_from()
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.1, random_state=0, n_jobs=1)
    return model.fit(rows.X, rows.y, y_pred=rows.prediction, shift_to=target.X).predictor_


class LearntWeightsOnCommandLine(LearntWeights):
    """widthwise fit --shift-to. Repetitions are groups of one model, which are calibrated separately."""

    def covered(self, X, y, level):
        command = CommandLine(transform="identity")
        number = np.broadcast_to(np.arange(len(y))[:, None], y.shape)
        rows = Rows(X, y, 0 * y, groups=number)
        fitting, target = rows_to_learn_from()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_table(target, folder / "target.csv")
            model = folder / "model.safetensors"
            options = ["--calibration-size", "0", "--shift-to", folder / "target.csv"]
            command.fit(replace(fitting, groups=np.arange(len(fitting)) % 3), model, *options)
            write_table(flat(rows[:, :-1]), folder / "rows.csv")
            command.run("calibrate", model, folder / "rows.csv", "--replace", "--population", "source")
            new = flat(rows[:, -1:])
            write_table(new, folder / "new.csv")
            command.run("predict", model, folder / "new.csv", "--level", level, "-o", folder / "out.csv")
            return inside(read_bounds(folder / "out.csv", [level]), new.y)[:, 0]


def flat(rows):
    """The rows of all repetitions as one table."""
    return Rows(rows.X.reshape(-1, 2), *(values.ravel() for values in (rows.y, rows.prediction, rows.groups)))


# ---- the verdict of `evaluate`

VERDICT_ROWS = (99, 200)  # calibration and test rows
TOO_LOW, TOO_HIGH = 1, 2  # the numbers of C++


def verdict_law(level, factor):
    """The probabilities of "too low" and "too high" if errors are uniform, and those of test rows `factor` as large.

    Coverage given the k-th smallest calibration error q is min(1, q / factor), and q is Beta(k, n + 1 - k). Each verdict
    has a probability of at most 0.5% if the factor is 1.
    """
    n, m = VERDICT_ROWS
    k = law.rank(level, n)
    exchangeable = stats.betabinom(m, k, n + 1 - k).cdf(np.arange(m + 1))
    nodes, weights = special.roots_legendre(2000)
    q = (nodes + 1) / 2
    density = weights / 2 * stats.beta(k, n + 1 - k).pdf(q)
    counts = density @ stats.binom.pmf(np.arange(m + 1), m, np.minimum(1, q / factor)[:, None])
    rate = 0.005
    return counts[exchangeable <= rate].sum(), counts[1:][1 - exchangeable[:-1] <= rate].sum()


@dataclass(frozen=True)
class VerdictInCpp(Cpp):
    """`evaluate`: verdicts on test rows with larger or smaller errors than the calibration rows."""

    transform: str = "identity"
    path: str = "verdict"
    verdict: int = TOO_LOW
    factor: float = 1.0

    def trials(self, random, repetitions, level):
        rows, test = self.rows(random, repetitions)
        return self.verdicts(rows, test, level) == self.verdict, verdict_law(level, self.factor)[self.verdict - 1]

    def rows(self, random, repetitions):
        n, m = VERDICT_ROWS
        rows = plain_rows(random, random.random((repetitions, n)))
        return rows, plain_rows(random, self.factor * random.random((repetitions, m)))

    def verdicts(self, rows, test, level):
        return self.results(rows, test, [level])


@dataclass(frozen=True)
class VerdictInPython(VerdictInCpp):
    """Predictor.evaluate."""

    @quiet
    def verdicts(self, rows, test, level):
        localizer = one_width()
        words = {"too low": TOO_LOW, "too high": TOO_HIGH}

        def one(rows, test):
            predictor = Predictor(localizer, localizer.calibrate(*rows.arguments))
            found = predictor.evaluate(*test.arguments, confidence_level=level)
            return words.get(found["levels"][0]["verdict"]["word"], 0)

        return np.array([one(rows[r], test[r]) for r in range(len(test))])


# ---- the alarm of streams

RATE = 0.1  # false-alarm rate, larger than the default for power


@dataclass(frozen=True)
class AlarmInCpp(Cpp):
    """ExchangeabilityMonitor: no alarm for exchangeable rows; the level is 1 - RATE. Scores are tied."""

    transform: str = "identity"
    path: str = "alarm"
    setting: float = RATE
    rows: tuple = (30, 300)

    def trials(self, random, repetitions, level):
        calibration, stream = (plain_rows(random, random.integers(-2, 3, (repetitions, n)) + 0.0) for n in self.rows)
        return self.quiet_streams(calibration, stream), level

    def quiet_streams(self, calibration, stream):
        return self.results(calibration, stream, [0.9]) == 0


@dataclass(frozen=True)
class AlarmInPython(AlarmInCpp):
    """OnlinePredictor.alarm, in batches of which the outcomes of two are pending."""

    @quiet
    def quiet_streams(self, calibration, stream):
        return np.array([self.one(calibration[r], stream[r]) for r in range(len(stream))])

    def one(self, calibration, stream):
        localizer = one_width()
        predictor = Predictor(localizer, localizer.calibrate(*calibration.arguments))
        online = OnlinePredictor(predictor, 0.8, false_alarm_rate=self.setting)
        pending = []
        for first in range(0, len(stream), 50):
            rows = stream[first : first + 50]
            pending.append((rows, online.predict_interval(rows.X, rows.prediction).batch))
            if len(pending) > 2:
                late, batch = pending.pop(0)
                online.observe(*late.arguments, batch=batch)
        return online.alarm is None


# ---- late outcomes


@dataclass(frozen=True)
class LateOutcomes(Cpp):
    """OnlineCalibration with scores that are missed whenever possible: the misses are within the bound of docs/
    mathematics.md, with the largest delay as it reports it."""

    transform: str = "identity"
    path: str = "stream"
    setting: float = 50
    stream: int = 2000

    def trials(self, random, repetitions, level):
        calibration = plain_rows(random, random.standard_normal((repetitions, 100)))
        stream = plain_rows(random, random.standard_normal((repetitions, self.stream)))
        misses, rows, delay = self.results(calibration, stream, [level]).reshape(repetitions, 3).T
        alpha = 1 - level
        step = min(level, alpha) / 20 * np.minimum(1, 20 / delay)
        return misses <= alpha * rows + alpha / step + level * delay, 1.0
