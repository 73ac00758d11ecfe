"""The checks: which interface is tested on which rows, and the findings.

Each check has several cells, one per level and group. A cell is a count of covered rows with a known law (law.py).
"""

import functools
import os
import zlib
from dataclasses import dataclass

import law
import numpy as np
from adapters import (
    CommandLine,
    Cpp,
    DecayingTrackedStream,
    Deployed,
    LateTrackedStream,
    Onnx,
    Python,
    Regressor,
    Spark,
    Stream,
    StreamInBatches,
    TrackedStream,
    Weighted,
    WeightedModel,
)
from populations import TIED, draw, with_likelihood_ratios
from schemes import (
    Booster,
    Clustered,
    ClusteredInCpp,
    ClustersOnCommandLine,
    Cross,
    CrossInCpp,
    CrossValidated,
    Dask,
    DuckDb,
    Frames,
    GivenPredictions,
    OneSplit,
    Pairs,
    PairsOnCommandLine,
    PredictsBelow,
    Prefit,
    TimeOrder,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from trials import (
    LARGE,
    RATE,
    TOO_HIGH,
    TOO_LOW,
    AlarmInCpp,
    AlarmInPython,
    LateOutcomes,
    LearntWeights,
    LearntWeightsOnCommandLine,
    PatientsInCpp,
    PatientsInPython,
    PooledInCpp,
    PooledInPython,
    VerdictInCpp,
    VerdictInPython,
)

FULL = os.environ.get("WIDTHWISE_FULL") == "1"
LEVELS = (0.5, 0.8, 0.9)
PROBABILITIES = (0.1, 0.3, 0.499, 0.5, 0.8, 0.9)
FIT_ROWS = 200


@dataclass(frozen=True)
class Finding:
    """One cell: the measured coverage and its law."""

    cell: str
    level: float
    rows: int
    covered: int
    expected: float  # mean coverage of the law; with ties and weights, its lower bound
    p_value: float

    @property
    def coverage(self):
        return self.covered / self.rows

    def __str__(self):
        return f"{self.cell}: {self.coverage:.4f} of {self.rows} rows, law {self.expected:.4f}, p = {self.p_value:.2g}"


@functools.cache
def fit_rows(population):
    return draw(population, np.random.default_rng(zlib.crc32(population.encode())), (FIT_ROWS,))


@dataclass(frozen=True)
class Check:
    """Coverage of one interface on one population, over repetitions of n calibration rows and m test rows."""

    name: str
    adapter: object
    population: str
    n: int
    m: int
    repetitions: int
    levels: tuple = LEVELS
    groups: tuple = ()  # calibration rows of each group instead of n
    pooled: bool = False  # groups of one size, judged together as repetitions
    extra: int = 0  # additional rows per repetition, before the calibration rows, for an interface that fits every time
    weighted: bool = False  # test rows under a covariate shift with a known likelihood ratio; m is 1
    kept: int | None = None  # number of calibration rows kept of n
    confidence: float | None = None  # confidence of a training-conditional guarantee
    long: bool = False  # only in the long form
    scale: int = 1  # factor on the repetitions in the long form

    @property
    def tail(self):
        return "lower" if self.population in TIED else "both"

    @property
    def cells(self):
        return len(self.levels) * (1 if self.pooled else max(1, len(self.groups)))

    @property
    def times(self):
        """The number of repetitions in this form of the suite."""
        return self.repetitions * (self.scale if FULL else 1)

    def rows(self):
        """Calibration and test rows of all repetitions; deterministic for each check."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        if self.groups:
            calibration = np.repeat(np.arange(len(self.groups)), self.groups)
            test = np.arange(self.m) % len(self.groups)
            calibration = draw(self.population, random, (self.times, len(calibration)), groups=calibration)
            test = draw(self.population, random, (self.times, self.m), groups=test, tilted=self.weighted)
        else:
            calibration = draw(self.population, random, (self.times, self.extra + self.n))
            test = draw(self.population, random, (self.times, self.m), tilted=self.weighted)
        if self.weighted:
            return with_likelihood_ratios(calibration), with_likelihood_ratios(test)
        return calibration, test

    def run(self, adapter=None):
        """The findings of all cells, with the interface of this check or a replacement."""
        calibration, test = self.rows()
        covered = (adapter or self.adapter).covered(fit_rows(self.population), calibration, test, self.levels)
        assert covered.shape == (*test.y.shape, len(self.levels))
        parts = [(None, self.kept or self.n, covered)]
        if self.groups:
            parts = [(i, n, covered[:, test.groups[0] == i]) for i, n in enumerate(self.groups)]
        if self.pooled:
            parts = [(None, self.groups[0], np.concatenate([part for _, _, part in parts]))]
        return [
            self._judged(part[..., j], n, level, group)
            for group, n, part in parts
            for j, level in enumerate(self.levels)
        ]

    def _judged(self, covered, n, level, group):
        repetitions, m = covered.shape
        total = int(covered.sum())
        cell = f"{self.name}, level {level}" + ("" if group is None else f", group {group}")
        if self.weighted:
            p = law.trials_p_value(total, np.full(repetitions, level), "lower")
            return Finding(cell, level, repetitions * m, total, level, p)
        side = level
        if getattr(self.adapter, "path", "") == "quantiles":  # lower bounds below 0.5
            side = max(level, round(1 - level, 6))
        k = law.rank(side, n, self.confidence)
        p = law.p_value(total, n=n, k=k, m=m, repetitions=repetitions, tail=self.tail)
        return Finding(cell, level, repetitions * m, total, law.expected(n, k), p)


@dataclass(frozen=True)
class StreamCheck:
    """Coverage of a drifting stream, compared with the bound that is proved for every sequence."""

    name: str
    adapter: Stream
    rows: int
    long: bool = False
    levels: tuple = (0.9,)

    @property
    def cells(self):
        return len(self.levels)

    def run(self, adapter=None):
        """Covered rows; p-value 1 within the bound, 0 outside."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        calibration = draw("normal", random, (500,))
        stream = draw("normal", random, (self.rows,))
        errors = (stream.y - stream.prediction) * np.where(np.arange(self.rows) // 1000 % 2 == 0, 1.0, 4.0)
        stream = type(stream)(stream.X, stream.prediction + errors, stream.prediction)
        adapter = adapter or self.adapter
        covered = adapter.covered(fit_rows("normal"), calibration, stream, self.levels)
        findings = []
        for j, level in enumerate(self.levels):
            total = int(covered[:, j].sum())
            within = abs(total / self.rows - level) <= self.adapter.bound(level, self.rows, calibration, stream)
            cell = f"{self.name}, level {level}"
            findings.append(Finding(cell, level, self.rows, total, level, 1.0 if within else 0.0))
        return findings


@dataclass(frozen=True)
class CrossCheck:
    """Coverage of cross-calibrated models, compared with the bound that is proved for K folds of n rows."""

    name: str
    adapter: Cross
    population: str
    n: int
    folds: int
    repetitions: int
    m: int = 20
    levels: tuple = (0.8, 0.9)
    long: bool = False
    scale: int = 1

    @property
    def cells(self):
        return len(self.levels)

    @property
    def times(self):
        return self.repetitions * (self.scale if FULL else 1)

    def run(self, adapter=None):
        """Means over independent repetitions, see law.mean_p_value."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        rows = draw(self.population, random, (self.times, self.n))
        test = draw(self.population, random, (self.times, self.m))
        covered = (adapter or self.adapter).covered(None, rows, test, self.levels)
        findings = []
        for j, level in enumerate(self.levels):
            least = law.cross_coverage(level, self.n, self.folds)
            share = covered[..., j].mean()
            p = law.mean_p_value(share, least=least, repetitions=self.times)
            total = int(covered[..., j].sum())
            findings.append(Finding(f"{self.name}, level {level}", level, self.times * self.m, total, least, p))
        return findings


@dataclass(frozen=True)
class TrialCheck:
    """Independent events with known probabilities, or with bounds of them: one event per repetition."""

    name: str
    adapter: object  # trials(random, repetitions, level): (R,) whether it happened, (R,) the probability
    repetitions: int
    tail: str = "both"  # "lower" if probabilities are lower bounds, "upper" if they are upper bounds
    levels: tuple = (0.9,)
    slack: float = 0.0  # of an approximate statement: how far the probabilities may be off
    long: bool = False
    scale: int = 1

    @property
    def cells(self):
        return len(self.levels)

    @property
    def times(self):
        return self.repetitions * (self.scale if FULL else 1)

    def run(self, adapter=None):
        findings = []
        for level in self.levels:
            random = np.random.default_rng(zlib.crc32(f"{self.name} {level}".encode()))
            happened, probability = (adapter or self.adapter).trials(random, self.times, level)
            probability = np.broadcast_to(probability, happened.shape)
            total = int(happened.sum())
            if self.slack:
                low, high = np.clip([probability - self.slack, probability + self.slack], 0, 1)
                p = 2 * min(law.trials_p_value(total, low, "lower"), law.trials_p_value(total, high, "upper"))
            else:
                p = law.trials_p_value(total, probability, self.tail)
            cell = f"{self.name}, level {level}"
            findings.append(Finding(cell, level, len(happened), total, float(probability.mean()), min(1.0, p)))
        return findings


# ---- the list

TRANSFORMS = ("identity", "erc", "linear", "exp", "sigma", "density", "affine", "spline", "shortest", "mixture")
POPULATIONS = ("normal", "heavy", "skewed", "rounded", "counts", "zeros")
# Transform, goal and sides of the trained localizers.
TRAINED = [
    ("identity", None, None),
    ("erc", "even", None),
    ("linear", 0.5, None),
    ("exp", "even", None),
    ("auto", None, None),
    ("sigma", "even", None),
    ("density", "narrow", None),
    ("affine", "narrow", False),
    ("affine", "narrow", True),
    ("spline", "even", None),
    ("shortest", "even", None),
]


def _cpp():
    small = (10, 11, 19, 20, 99)
    for i, transform in enumerate(TRANSFORMS):
        for j, population in enumerate(POPULATIONS):
            n = small[(i + j) % len(small)]
            score = ("absolute", "squared")[(i + j) % 2]
            sides = "one" if transform == "identity" else ("one", "two")[(i + j // 2) % 2]
            few = 60 if transform == "mixture" else 400
            adapter = Cpp(transform, score=score, sides=sides)
            yield Check(
                f"C++ {transform} {score} {sides}, {population}, n = {n}", adapter, population, n, 50, few, scale=25
            )
    for transform, population in (("affine", "heavy"), ("density", "zeros"), ("identity", "rounded")):
        adapter = Cpp(transform, score="log")
        yield Check(f"C++ {transform} log, {population}, n = 20", adapter, population, 20, 50, 400, scale=25)
    for n, repetitions in ((1000, 100), (10_000, 10), (100_000, 1)):
        for population in ("heavy", "skewed"):
            m = max(200, n // 5)
            yield Check(f"C++ exp, {population}, n = {n:,}", Cpp("exp"), population, n, m, repetitions, scale=4)
    for path in ("row", "merge", "p_values", "quantiles"):
        for population, n in (("heavy", 19), ("skewed", 20), ("counts", 11)):
            levels = PROBABILITIES if path == "quantiles" else LEVELS
            adapter = Cpp("exp", path=path)
            yield Check(f"C++ {path}, {population}, n = {n}", adapter, population, n, 50, 400, levels, scale=25)
    sampled = Cpp("affine", capacity=19)
    yield Check("C++ sample of 19 of 200 rows, heavy", sampled, "heavy", 200, 50, 400, kept=19, scale=25)
    for n in (60, 500):
        adapter = Cpp("exp", guarantee="0.95")
        name = f"C++ training-conditional, skewed, n = {n}"
        yield Check(name, adapter, "skewed", n, 100, 400, confidence=0.95, scale=5)
    yield Check("C++ groups, heavy", Cpp("exp"), "heavy", 0, 60, 400, groups=(10, 19, 40), scale=25)
    yield Check("C++ weights, heavy, n = 30", Cpp("identity"), "heavy", 30, 1, 4000, weighted=True, scale=25)
    yield Check("C++ weights, skewed, n = 11", Cpp("exp"), "skewed", 11, 1, 4000, weighted=True, scale=25)
    name, groups = "C++ weights in groups, heavy", (11, 19, 30)
    yield Check(name, Cpp("identity"), "heavy", 0, 3, 2000, groups=groups, weighted=True, scale=25)
    clustered = ClusteredInCpp("identity")
    yield Check("C++ clusters, heavy, n = 19", clustered, "heavy", 19, 50, 400, scale=25)
    yield TrialCheck("C++ clusters of dependent rows", PatientsInCpp(), 3000, "lower", (0.8, 0.9), scale=10)
    counted = PatientsInCpp(setting=LARGE, clusters=60)
    yield TrialCheck("C++ rows of clusters", counted, 600, "lower", (0.8, 0.9), scale=10)
    yield TrialCheck("C++ pooled groups", PooledInCpp(), 25_000, levels=(0.8,), scale=4)
    for n, folds in ((19, 19), (20, 4), (43, 6)):
        adapter = CrossInCpp("identity", setting=folds)
        yield Check(f"C++ folds, skewed, n = {n}, {folds} folds", adapter, "skewed", n, 50, 300, scale=25)
    for transform, population, n, folds in (("identity", "heavy", 12, 12), ("exp", "skewed", 80, 4)):
        adapter = CrossInCpp(transform, setting=folds, model="lines")
        name = f"C++ folds of lines, {transform}, {population}, n = {n}, {folds} folds"
        yield CrossCheck(name, adapter, population, n, folds, 2000, scale=10)
    p_values = CrossInCpp("identity", "fold_p_values", setting=4)
    yield Check("C++ fold_p_values, skewed, n = 20, 4 folds", p_values, "skewed", 20, 50, 300, scale=25)
    for verdict, word, factor, kind in (
        (TOO_LOW, "too low", 1.0, "exchangeable"),
        (TOO_HIGH, "too high", 1.0, "exchangeable"),
        (TOO_LOW, "too low", 1.1, "harder"),
        (TOO_HIGH, "too high", 0.9, "easier"),
    ):
        adapter = VerdictInCpp(verdict=verdict, factor=factor)
        yield TrialCheck(f"C++ verdict '{word}', {kind} rows", adapter, 1000, scale=10)
    yield TrialCheck("C++ alarm, tied scores", AlarmInCpp(), 1000, "lower", (1 - RATE,), scale=10)
    yield TrialCheck("C++ late outcomes", LateOutcomes(), 5, "lower", (0.8, 0.9), scale=4)


def _python():
    small = (10, 11, 19, 20, 99)
    for i, (transform, goal, two_sided) in enumerate(TRAINED):
        for j, population in enumerate(POPULATIONS):
            n = small[(i + j) % len(small)]
            words = " ".join(str(word) for word in (transform, goal, two_sided and "two-sided") if word is not None)
            adapter = Python(transform, goal, two_sided)
            long = (i + j) % 2 == 1
            yield Check(f"Python {words}, {population}, n = {n}", adapter, population, n, 50, 200, long=long, scale=10)
    yield Check("Python mixture, skewed, n = 19", Python("mixture"), "skewed", 19, 50, 500, long=True)
    for n, repetitions in ((1000, 50), (10_000, 5), (100_000, 1)):
        yield Check(f"Python, heavy, n = {n:,}", Python(), "heavy", n, max(200, n // 5), repetitions, scale=2)
    for path in ("updated", "p_values", "quantiles", "online"):
        for population, n in (("skewed", 20), ("counts", 11)):
            levels = PROBABILITIES if path == "quantiles" else LEVELS
            adapter = Python(path=path)
            yield Check(f"Python {path}, {population}, n = {n}", adapter, population, n, 50, 200, levels, scale=10)
    pac = Python(guarantee=0.95)
    yield Check("Python training-conditional, heavy, n = 60", pac, "heavy", 60, 100, 200, confidence=0.95, scale=5)
    yield Check("Python groups, skewed", Python(), "skewed", 0, 60, 200, groups=(10, 19, 40), scale=10)
    yield Check("Python groups, counts", Python(), "counts", 0, 60, 200, groups=(10, 19, 40), scale=10)
    yield Check("Python clusters, skewed, n = 10", Clustered(), "skewed", 10, 50, 200, scale=10)
    yield TrialCheck("Python clusters of dependent rows", PatientsInPython(), 1000, "lower", scale=10)
    yield TrialCheck("Python rows of clusters", PatientsInPython("rows", 60), 400, "lower", scale=10)
    yield TrialCheck("Python pooled groups", PooledInPython(), 2000, levels=(0.8,), scale=10)
    learnt = LearntWeights()
    yield TrialCheck("Python learnt weights", learnt, 2000, levels=(0.8,), slack=0.04, scale=5)
    yield Check("Python lower and upper quantiles, skewed, n = 10", Pairs(), "skewed", 10, 50, 200, scale=10)
    yield Check("Python categories and missing values, heavy, n = 10", Frames(), "heavy", 10, 50, 150, scale=10)
    yield Check("Python from_booster, heavy, n = 10", Booster(), "heavy", 10, 50, 200, scale=10)
    for verdict, word, factor in ((TOO_LOW, "too low", 1.1), (TOO_HIGH, "too high", 0.9)):
        adapter = VerdictInPython(verdict=verdict, factor=factor)
        yield TrialCheck(f"Python verdict '{word}'", adapter, 100, scale=10)
    yield TrialCheck("Python alarm, tied scores", AlarmInPython(), 200, "lower", (1 - RATE,), scale=10)
    yield Check("Python weights, heavy, n = 30", Weighted(), "heavy", 30, 1, 2000, weighted=True, scale=10)
    model = WeightedModel()
    yield Check("Python model with weights, skewed, n = 30", model, "skewed", 30, 1, 1000, weighted=True, scale=10)
    equal = Weighted(factor=100.0)
    yield Check("Python equal weights of 100, heavy, n = 11", equal, "heavy", 11, 10, 500, scale=10)
    tree = Regressor(DecisionTreeRegressor(min_samples_leaf=5, random_state=0), 19)
    yield Check("WidthwiseRegressor tree, skewed, n = 19", tree, "skewed", 19, 50, 40, extra=60, scale=4)
    constant = Regressor(LinearRegression(), 10)
    yield Check("WidthwiseRegressor linear, heavy, n = 10", constant, "heavy", 10, 50, 120, extra=30, scale=4)
    linear = Regressor(LinearRegression(), 19, "auto")
    yield Check("WidthwiseRegressor linear auto, heavy, n = 19", linear, "heavy", 19, 50, 20, extra=60, scale=4)
    default = Regressor(None, 19, "auto", "narrow")
    yield Check("WidthwiseRegressor narrow, normal, n = 19", default, "normal", 19, 50, 100, extra=60, long=True)
    prefit = Prefit(None, 10)
    yield Check("WidthwiseRegressor prefit, skewed, n = 10", prefit, "skewed", 10, 50, 120, extra=80, scale=4)
    in_order = TimeOrder(LinearRegression(), 19)
    one_split = OneSplit(LinearRegression(), 19)
    yield Check("WidthwiseRegressor one split, heavy, n = 19", one_split, "heavy", 19, 50, 60, extra=60, scale=4)
    yield Check("WidthwiseRegressor time, heavy, n = 19", in_order, "heavy", 19, 50, 60, extra=60, scale=4)
    ranged = GivenPredictions(None, 10, outcome_range=(-1.5, np.inf))
    yield Check("WidthwiseRegressor outcome_range, skewed, n = 10", ranged, "skewed", 10, 50, 120, extra=40, scale=4)
    folds = CrossValidated(None, 10)
    yield Check("WidthwiseRegressor y_pred_cv, heavy, n = 10", folds, "heavy", 10, 50, 120, extra=40, scale=4)
    own = Deployed(19)
    yield Check("Python predictions of an own model, n = 19", own, "wide", 19, 50, 200, extra=40, scale=5)


def _onnx():
    pac = Onnx("identity", guarantee=0.95)
    yield Check("ONNX training-conditional, heavy, n = 60", pac, "heavy", 60, 100, 40, confidence=0.95, scale=5)
    adapters = [("identity", None, "heavy", 10), ("identity", None, "rounded", 99), ("affine", "narrow", "skewed", 20)]
    adapters += [("exp", "even", "heavy", 19), ("erc", "even", "counts", 11), ("linear", 0.5, "rounded", 20)]
    adapters += [("density", "narrow", "skewed", 10)]
    for i, (transform, goal, population, n) in enumerate(adapters):
        adapter = Onnx(transform, goal)
        repetitions = 100 if transform == "identity" else 40
        yield Check(
            f"ONNX {transform}, {population}, n = {n}", adapter, population, n, 100, repetitions, long=i > 2, scale=5
        )


def _libraries():
    yield Check("DuckDB, skewed, n = 10", DuckDb(), "skewed", 10, 100, 30, scale=5)
    yield Check("Dask, heavy, n = 10", Dask(), "heavy", 10, 100, 60, long=True)


def _command_line():
    yield Check("command line calibrate, skewed, n = 10", CommandLine(), "skewed", 10, 100, 100, scale=5)
    identity = CommandLine(transform="identity")
    yield Check("command line calibrate, rounded, n = 11", identity, "rounded", 11, 100, 150, long=True)
    merged = CommandLine("merge", "auto", "narrow")
    yield Check("command line merge, heavy, n = 10", merged, "heavy", 10, 100, 20, scale=5)
    fitted = CommandLine("fit", "identity", calibration_size=20)
    yield Check("command line fit, heavy, n = 20", fitted, "heavy", 20, 100, 20, extra=60, scale=5)
    grouped = CommandLine(transform="identity")
    yield Check("command line groups, heavy", grouped, "heavy", 0, 150, 40, groups=(10, 19, 40), scale=5)
    weights = CommandLine(transform="identity")
    few = (30,) * 600
    yield Check(
        "command line weights, heavy, n = 30", weights, "heavy", 0, 600, 1, groups=few, pooled=True, weighted=True
    )
    pac = CommandLine(transform="identity", options=("--guarantee", 0.95))
    many = (60,) * 60
    yield Check(
        "command line guarantee, skewed, n = 60", pac, "skewed", 0, 3600, 1, groups=many, pooled=True, confidence=0.95
    )
    learnt = LearntWeightsOnCommandLine()
    yield TrialCheck("command line learnt weights", learnt, 1000, levels=(0.8,), slack=0.04, scale=5)
    clusters = ClustersOnCommandLine(transform="identity")
    yield Check("command line clusters, skewed, n = 10", clusters, "skewed", 10, 100, 20, scale=25)
    pairs = PairsOnCommandLine()
    yield Check("command line lower and upper quantiles, heavy, n = 19", pairs, "heavy", 19, 100, 20, scale=5)
    cross = CommandLine("cross", "identity", options=("--folds", 2))
    yield Check("command line cross, heavy, n = 10", cross, "heavy", 10, 100, 20, scale=8)
    large = CommandLine()
    yield Check("command line calibrate, heavy, n = 100,000", large, "heavy", 100_000, 20_000, 1)


def _streams():
    yield StreamCheck("Python stream", Stream(), 20_000)
    yield StreamCheck("Python stream in batches", StreamInBatches(), 20_000)
    yield StreamCheck("command line stream", TrackedStream(), 20_000)
    yield StreamCheck("command line stream with late outcomes", LateTrackedStream(), 20_000)
    yield StreamCheck("command line stream, decaying", DecayingTrackedStream(), 20_000)


def _spark():
    groups = (10,) * 100
    yield Check("Spark groups, heavy", Spark(), "heavy", 0, 5000, 1, groups=groups, pooled=True, long=True)
    yield Check("Spark, skewed, n = 100,000", Spark(), "skewed", 100_000, 20_000, 1, long=True)


def _cross():
    for population, n, cv, times in (("heavy", 10, 2, 120), ("rounded", 10, "all", 20), ("skewed", 43, 6, 30)):
        name = f"cross of given predictions, {population}, n = {n}, folds {cv}"
        yield Check(name, Cross(cv), population, n, 50, times, scale=10)
    for n, cv in ((10, "all"), (10, 2)):
        name = f"cross of models below the outcomes, skewed, n = {n}, folds {cv}"
        adapter = Cross(cv, estimator=PredictsBelow())
        yield Check(name, adapter, "skewed", n, 50, 60, long=cv == "all", scale=10)
    # A level of 95% has a bound that is well above one half.
    trained = (("heavy", 60, 3, "identity", LinearRegression()), ("skewed", 80, 4, "exp", None))
    for population, n, cv, transform, estimator in trained:
        folds = n if cv == "all" else cv
        kind = "a localizer" if estimator is None else "least squares"
        adapter = Cross(cv, transform, estimator)
        name = f"cross with {kind}, {population}, n = {n}, folds {cv}"
        yield CrossCheck(name, adapter, population, n, folds, 50, levels=(0.95,), scale=20)


ALL_CHECKS = [
    check
    for family in (_cpp, _python, _cross, _onnx, _libraries, _command_line, _streams, _spark)
    for check in family()
]
CHECKS = [check for check in ALL_CHECKS if FULL or not check.long]
CELLS = sum(check.cells for check in CHECKS)
# The threshold of a single cell, so that the false-alarm rate of all cells is at most FALSE_ALARM_RATE.
THRESHOLD = law.FALSE_ALARM_RATE / CELLS
