"""The checks: which interface is tested on which rows, and the findings.

Each check has several cells, one per level and group. A cell is a count of covered rows with a known law (law.py).
"""

import functools
import math
import os
import zlib
from dataclasses import dataclass

import law
import numpy as np
from faces import (
    Clustered,
    CommandLine,
    Cpp,
    Cross,
    Deployed,
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

FULL = os.environ.get("WIDTHWISE_FULL") == "1"
LEVELS = (0.5, 0.8, 0.9)
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
    face: object
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
        return "lower" if self.population in TIED or getattr(self.face, "path", "") == "quantiles" else "both"

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
            return (
                draw(self.population, random, (self.times, len(calibration)), groups=calibration),
                draw(self.population, random, (self.times, self.m), groups=test),
            )
        calibration = draw(self.population, random, (self.times, self.extra + self.n))
        test = draw(self.population, random, (self.times, self.m), tilted=self.weighted)
        if self.weighted:
            return with_likelihood_ratios(calibration), with_likelihood_ratios(test)
        return calibration, test

    def run(self, face=None):
        """The findings of all cells, with the interface of this check or a replacement."""
        calibration, test = self.rows()
        covered = (face or self.face).covered(fit_rows(self.population), calibration, test, self.levels)
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
            p = law.weighted_p_value(total, level=level, repetitions=repetitions)
            return Finding(cell, level, repetitions * m, total, level, p)
        k = law.rank(level, n, self.confidence)
        p = law.p_value(total, n=n, k=k, m=m, repetitions=repetitions, tail=self.tail)
        return Finding(cell, level, repetitions * m, total, law.expected(n, k), p)


@dataclass(frozen=True)
class StreamCheck:
    """Coverage of a drifting stream, compared with the bound that is proved for every sequence."""

    name: str
    face: Stream
    rows: int
    long: bool = False
    levels: tuple = (0.9,)

    @property
    def cells(self):
        return len(self.levels)

    def run(self, face=None):
        """Covered rows; p-value 1 within the bound, 0 outside."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        calibration = draw("normal", random, (500,))
        stream = draw("normal", random, (self.rows,))
        errors = (stream.y - stream.prediction) * np.where(np.arange(self.rows) // 1000 % 2 == 0, 1.0, 4.0)
        stream = type(stream)(stream.X, stream.prediction + errors, stream.prediction)
        face = face or self.face
        covered = face.covered(fit_rows("normal"), calibration, stream, self.levels)
        findings = []
        for j, level in enumerate(self.levels):
            total = int(covered[:, j].sum())
            within = abs(total / self.rows - level) <= self.face.bound(level, self.rows)
            cell = f"{self.name}, level {level}"
            findings.append(Finding(cell, level, self.rows, total, level, 1.0 if within else 0.0))
        return findings


@dataclass(frozen=True)
class CrossCheck:
    """Coverage of cross-calibrated models, compared with the bound that is proved for K folds of n rows."""

    name: str
    face: Cross
    population: str
    n: int
    folds: int
    repetitions: int
    m: int = 20
    levels: tuple = (0.8, 0.9)
    long: bool = False

    @property
    def cells(self):
        return len(self.levels)

    def run(self, face=None):
        """Means over independent repetitions, with Hoeffding's inequality."""
        random = np.random.default_rng(zlib.crc32(self.name.encode()))
        rows = draw(self.population, random, (self.repetitions, self.n))
        test = draw(self.population, random, (self.repetitions, self.m))
        covered = (face or self.face).covered(None, rows, test, self.levels)
        findings = []
        for j, level in enumerate(self.levels):
            least = law.cross_coverage(level, self.n, self.folds)
            share = covered[..., j].mean()
            p = math.exp(-2 * self.repetitions * max(0.0, least - share) ** 2)
            total = int(covered[..., j].sum())
            findings.append(Finding(f"{self.name}, level {level}", level, self.repetitions * self.m, total, least, p))
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
            face = Cpp(transform, score=score, sides=sides)
            yield Check(
                f"C++ {transform} {score} {sides}, {population}, n = {n}", face, population, n, 50, few, scale=25
            )
    for transform, population in (("affine", "heavy"), ("density", "zeros"), ("identity", "rounded")):
        face = Cpp(transform, score="log")
        yield Check(f"C++ {transform} log, {population}, n = 20", face, population, 20, 50, 400, scale=25)
    for n, repetitions in ((1000, 100), (10_000, 10), (100_000, 1)):
        for population in ("heavy", "skewed"):
            m = max(200, n // 5)
            yield Check(f"C++ exp, {population}, n = {n:,}", Cpp("exp"), population, n, m, repetitions, scale=4)
    for path in ("row", "merge", "p_values", "quantiles"):
        for population, n in (("heavy", 19), ("skewed", 20), ("counts", 11)):
            levels = (0.1, 0.8, 0.9) if path == "quantiles" else LEVELS
            face = Cpp("exp", path=path)
            yield Check(f"C++ {path}, {population}, n = {n}", face, population, n, 50, 400, levels, scale=25)
    sampled = Cpp("affine", capacity=19)
    yield Check("C++ sample of 19 of 200 rows, heavy", sampled, "heavy", 200, 50, 400, kept=19, scale=25)
    for n in (60, 500):
        face = Cpp("exp", guarantee="0.95")
        name = f"C++ training-conditional, skewed, n = {n}"
        yield Check(name, face, "skewed", n, 100, 400, confidence=0.95, scale=5)
    yield Check("C++ groups, heavy", Cpp("exp"), "heavy", 0, 60, 400, groups=(10, 19, 40), scale=25)
    yield Check("C++ weights, heavy, n = 30", Cpp("identity"), "heavy", 30, 1, 4000, weighted=True, scale=25)
    yield Check("C++ weights, skewed, n = 11", Cpp("exp"), "skewed", 11, 1, 4000, weighted=True, scale=25)


def _python():
    small = (10, 11, 19, 20, 99)
    for i, (transform, goal, two_sided) in enumerate(TRAINED):
        for j, population in enumerate(POPULATIONS):
            n = small[(i + j) % len(small)]
            words = " ".join(str(word) for word in (transform, goal, two_sided and "two-sided") if word is not None)
            face = Python(transform, goal, two_sided)
            long = (i + j) % 2 == 1
            yield Check(f"Python {words}, {population}, n = {n}", face, population, n, 50, 200, long=long, scale=10)
    yield Check("Python mixture, skewed, n = 19", Python("mixture"), "skewed", 19, 50, 500, long=True)
    for n, repetitions in ((1000, 50), (10_000, 5), (100_000, 1)):
        yield Check(f"Python, heavy, n = {n:,}", Python(), "heavy", n, max(200, n // 5), repetitions, scale=2)
    for path in ("updated", "p_values", "quantiles", "online"):
        for population, n in (("skewed", 20), ("counts", 11)):
            levels = (0.1, 0.8, 0.9) if path == "quantiles" else LEVELS
            face = Python(path=path)
            yield Check(f"Python {path}, {population}, n = {n}", face, population, n, 50, 200, levels, scale=10)
    pac = Python(guarantee=0.95)
    yield Check("Python training-conditional, heavy, n = 60", pac, "heavy", 60, 100, 200, confidence=0.95, scale=5)
    yield Check("Python groups, skewed", Python(), "skewed", 0, 60, 200, groups=(10, 19, 40), scale=10)
    yield Check("Python groups, counts", Python(), "counts", 0, 60, 200, groups=(10, 19, 40), scale=10)
    yield Check("Python clusters, skewed, n = 20", Clustered(), "skewed", 20, 50, 200, scale=10)
    yield Check("Python weights, heavy, n = 30", Weighted(), "heavy", 30, 1, 2000, weighted=True, scale=10)
    model = WeightedModel()
    yield Check("Python model with weights, skewed, n = 30", model, "skewed", 30, 1, 1000, weighted=True, scale=10)
    equal = Weighted(factor=100.0)
    yield Check("Python equal weights of 100, heavy, n = 11", equal, "heavy", 11, 10, 500, scale=10)
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    tree = Regressor(DecisionTreeRegressor(min_samples_leaf=5, random_state=0), 19)
    yield Check("WidthwiseRegressor tree, skewed, n = 19", tree, "skewed", 19, 50, 40, extra=60, scale=4)
    constant = Regressor(LinearRegression(), 10)
    yield Check("WidthwiseRegressor linear, heavy, n = 10", constant, "heavy", 10, 50, 100, extra=30, scale=4)
    linear = Regressor(LinearRegression(), 19, "auto")
    yield Check("WidthwiseRegressor linear auto, heavy, n = 19", linear, "heavy", 19, 50, 20, extra=60, scale=4)
    default = Regressor(None, 19, "auto", "narrow")
    yield Check("WidthwiseRegressor narrow, normal, n = 19", default, "normal", 19, 50, 100, extra=60, long=True)
    own = Deployed(19)
    yield Check("Python predictions of an own model, n = 19", own, "wide", 19, 50, 200, extra=40, scale=5)


def _onnx():
    pac = Onnx("identity", guarantee=0.95)
    yield Check("ONNX training-conditional, heavy, n = 60", pac, "heavy", 60, 100, 40, confidence=0.95, scale=5)
    faces = [("identity", None, "heavy", 10), ("identity", None, "rounded", 99), ("affine", "narrow", "skewed", 20)]
    faces += [("exp", "even", "heavy", 19), ("erc", "even", "counts", 11), ("linear", 0.5, "rounded", 20)]
    faces += [("density", "narrow", "skewed", 10)]
    for i, (transform, goal, population, n) in enumerate(faces):
        face = Onnx(transform, goal)
        repetitions = 100 if transform == "identity" else 40
        yield Check(
            f"ONNX {transform}, {population}, n = {n}", face, population, n, 100, repetitions, long=i > 2, scale=5
        )


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
    large = CommandLine()
    yield Check("command line calibrate, heavy, n = 100,000", large, "heavy", 100_000, 20_000, 1)


def _streams():
    yield StreamCheck("Python stream", Stream(), 20_000)
    yield StreamCheck("Python stream in batches", StreamInBatches(), 20_000)
    yield StreamCheck("command line stream", TrackedStream(), 20_000)


def _spark():
    groups = (10,) * 100
    yield Check("Spark groups, heavy", Spark(), "heavy", 0, 5000, 1, groups=groups, pooled=True, long=True)
    yield Check("Spark, skewed, n = 100,000", Spark(), "skewed", 100_000, 20_000, 1, long=True)


def _cross():
    for population, n, cv in (("heavy", 12, "all"), ("rounded", 20, 5), ("skewed", 40, 4)):
        folds = n if cv == "all" else cv
        yield CrossCheck(f"cross, {population}, n = {n}, folds {cv}", Cross(cv), population, n, folds, 60)
    yield CrossCheck("cross with a localizer, skewed, n = 40", Cross(4, "exp"), "skewed", 40, 4, 10)


CHECKS = [
    check
    for family in (_cpp, _python, _cross, _onnx, _command_line, _streams, _spark)
    for check in family()
    if FULL or not check.long
]
CELLS = sum(check.cells for check in CHECKS)
# The threshold of a single cell, so that the false-alarm rate of all cells is at most FALSE_ALARM_RATE.
THRESHOLD = law.FALSE_ALARM_RATE / CELLS
