"""Planted faults, each with the check that must catch it.

A fault is an interface that is broken in one place. Faults in C++ are lines of the library that plant.py changes in a
copy. The other faults use the product in a way that breaks the guarantee and bypasses its checks.
"""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from adapters import CommandLine, Deployed, Onnx, Python, Regressor, Stream, inside
from checks import CHECKS, THRESHOLD
from populations import Rows
from schemes import Pairs, as_pairs, quiet
from sklearn.tree import DecisionTreeClassifier
from trials import LearntWeights, covers

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor

CHECK_OF = {check.name: check for check in CHECKS}


README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- begin: planted faults -->\n", "<!-- end: planted faults -->\n"


@dataclass(frozen=True, eq=False)
class Fault:
    """A broken interface that replaces the interface of a check."""

    name: str
    planted: str  # where
    check: str
    adapter: object

    @functools.cached_property
    def findings(self):
        return CHECK_OF[self.check].run(self.adapter)

    @property
    def caught(self):
        """The failing finding that is farthest from its law; None if no finding fails."""
        failing = [finding for finding in self.findings if finding.p_value < THRESHOLD]
        return max(failing, key=lambda finding: abs(finding.coverage - finding.expected), default=None)


def _in_library(name, planted, check):
    return Fault(name, planted, check, replace(CHECK_OF[check].adapter, fault=name))


class CountsTheTestRow(Python):
    """Calibrates with the calibration rows and the row to be predicted."""

    def one(self, localizer, rows, new, levels):
        def predicted(i):
            both = [np.concatenate(pair) for pair in zip(rows.arguments, new[i : i + 1].arguments, strict=True)]
            predictor = self.predictor(localizer, type(rows)(*both))
            return predictor.predict_interval(new.X[i : i + 1], new.prediction[i : i + 1], confidence_level=levels)[1]

        return inside(np.concatenate([predicted(i) for i in range(len(new))]), new.y)


class TrainsOnCalibrationRows(Regressor):
    """Fits the estimator on all rows but declares it as prefit on other rows."""

    def fitted(self, rows):
        fitted = self.estimator.fit(rows.X, rows.y)
        return self.regressor(fitted, prefit=True).fit(rows.X, rows.y)


class CalibratesOutOfFold(Deployed):
    """Calibrates with cross-validated residuals of the rows that the deployed model is fitted on."""

    def one(self, rows, new, levels):
        fitting = rows[: -self.calibration_size]
        fold = np.arange(len(fitting)) % 5
        y_pred = np.empty_like(fitting.y)
        for i in range(5):
            y_pred[fold == i] = fitting.X[fold == i] @ self.model(fitting[fold != i])
        return self.judged(fitting, y_pred, new, new.X @ self.model(fitting), levels)


class SinglePrecisionGraph(Onnx):
    """Rounds the constants of the graph to single precision, towards 0."""

    def graph(self, predictor, levels):
        from onnx import numpy_helper

        graph = super().graph(predictor, levels)
        for constant in graph.graph.initializer:
            values = numpy_helper.to_array(constant)
            if values.dtype == np.float64 and values.ndim == 2:
                rounded = values.astype(np.float32)
                rounded = np.where(np.abs(rounded) > np.abs(values), np.nextafter(rounded, np.float32(0)), rounded)
                constant.CopyFrom(numpy_helper.from_array(rounded.astype(np.float64), constant.name))
        return graph


class PredictsWithTheOldModel(CommandLine):
    """Predicts with the model before calibrate --replace, whose calibration rows had a tenth of the errors."""

    def calibrated(self, folder, model, rows):
        old = replace(rows, y=rows.prediction + 0.1 * (rows.y - rows.prediction))
        before = super().calibrated(folder, model, old).rename(folder / "before.safetensors")
        super().calibrated(folder, model, rows)
        return before


class IssuesInBatches(Stream):
    """Issues the intervals of 1000 rows with the quantile of the first, while the state is updated row by row."""

    def issued(self, online, stream):
        batches = []
        for first in range(0, len(stream), 1000):
            batch = stream[first : first + 1000]
            issued = online.predict_interval(batch.X, batch.prediction)
            batches.append(issued.intervals)
            online.drop(issued.batch)
            online.track(*batch.arguments)
        return np.concatenate(batches)


class UpperQuantileTwice(Pairs):
    """Predicts with the upper quantile in both columns."""

    def given(self, new):
        return np.repeat(as_pairs(new)[:, 1:], 2, axis=1)


class ScoresOfAnotherLocalizer(Python):
    """Calibrates with scores of a localizer that was trained for errors of another size."""

    def one(self, localizer, rows, new, levels):
        other = another_localizer()
        predictor = Predictor(localizer, Calibration().add(other.scores(*rows.arguments)))
        return inside(predictor.predict_interval(new.X, new.prediction, confidence_level=levels)[1], new.y)


@functools.cache
@quiet
def another_localizer():
    random = np.random.default_rng(3)
    X = random.random((200, 2))
    localizer = Localizer(score_transform="exp", n_jobs=1)
    return localizer.fit(X, X[:, 0] + 100 * random.standard_normal(200), X[:, 0])


class LearnsWeightsOnCalibrationRows(LearntWeights):
    """Learns the weights of calibration rows and of the new row with a classifier that was fitted to these rows."""

    @quiet
    def covered(self, X, y, level):
        random = np.random.default_rng(4)
        target = np.stack([4 * np.sqrt(random.random(self.rows)), random.random(self.rows)], axis=-1)
        rows = random.random((200, 2))
        model = WidthwiseRegressor(score_transform="identity", calibration_size=0, random_state=0)
        predictor = model.fit(rows, rows.sum(axis=1), y_pred=0 * rows[:, 0], weights=np.ones(200)).predictor_

        def one(X, y):
            classifier = DecisionTreeClassifier(random_state=0)
            classifier.fit(np.concatenate([X, target]), np.repeat([0, 1], [len(X) - 1, len(target) + 1]))
            share = np.clip(classifier.predict_proba(X)[:, 1], 0.02, 0.98)
            weights = share / (1 - share)
            f = np.zeros_like(y)
            calibrated = predictor.calibrated(
                X[:-1], y[:-1], f[:-1], weights=weights[:-1], replace=True, population="source"
            )
            return covers(calibrated, Rows(X[-1:], y[-1:], f[-1:]), level, weights=weights[-1:])

        return np.array([one(X[r], y[r]) for r in range(len(y))])


FAULTS = [
    _in_library("rank off by one", "`Level::rank`", "C++ erc absolute two, heavy, n = 19"),
    _in_library("rank without the new row", "`Level::rank`", "C++ row, skewed, n = 20"),
    _in_library("one-sided tail swapped", "`SortedScores::sided_quantile`", "C++ quantiles, skewed, n = 20"),
    _in_library("p-value without the new row", "`SortedScores::p_value`", "C++ p_values, heavy, n = 19"),
    _in_library("group mix-up", "`SortedScores::find`", "C++ groups, heavy"),
    _in_library("weights ignored", "`SortedScores::rank_rows`", "C++ weights, heavy, n = 30"),
    _in_library("rounding down", "half-widths in conformal_predictor.cpp", "C++ identity squared one, rounded, n = 20"),
    _in_library("sketch instead of exact quantile", "`SortedScores::rank_rows`", "C++ exp, heavy, n = 1,000"),
    _in_library(
        "lower side from the upper parameters",
        "`ConformalPredictor::intervals`",
        "C++ density absolute two, heavy, n = 11",
    ),
    _in_library(
        "training-conditional guarantee ignored",
        "`SortedScores::quantile`",
        "C++ training-conditional, skewed, n = 60",
    ),
    _in_library("clusters counted as rows", "`SortedScores::rank_clusters`", "C++ clusters, heavy, n = 19"),
    _in_library("rows counted as clusters", "`SortedScores`", "C++ rows of clusters"),
    _in_library("pool without groups of N rows", "`SortedScores`", "C++ pooled groups"),
    _in_library("cross-calibration without the new row", "bounds of folds.cpp", "C++ folds, skewed, n = 20, 4 folds"),
    _in_library("scores of another fold", "`FoldModels`", "C++ folds, skewed, n = 20, 4 folds"),
    _in_library(
        "cross-conformal p-value without the new row",
        "`FoldModels::p_values`",
        "C++ fold_p_values, skewed, n = 20, 4 folds",
    ),
    _in_library("smallest instead of largest delay", "`OnlineCalibration::longest_delay`", "C++ late outcomes"),
    _in_library("alarm without random ties", "`ExchangeabilityMonitor::observe`", "C++ alarm, tied scores"),
    _in_library("verdict without its lower tail", "`evaluate`", "C++ verdict 'too low', harder rows"),
    _in_library("verdict without its upper tail", "`evaluate`", "C++ verdict 'too high', easier rows"),
    Fault(
        "weights learnt on calibration rows",
        "a classifier fitted to the rows it weighs",
        "Python learnt weights",
        LearnsWeightsOnCalibrationRows(),
    ),
    Fault(
        "upper quantile in both columns",
        "`y_pred` of the rows to predict",
        "Python lower and upper quantiles, skewed, n = 10",
        UpperQuantileTwice(),
    ),
    Fault(
        "scores of another localizer",
        "`Calibration.add` with its scores",
        "Python updated, skewed, n = 20",
        ScoresOfAnotherLocalizer(),
    ),
    Fault(
        "test weight of 1 for weights of 100",
        "`Calibration.quantile(test_weight=1)`",
        "Python equal weights of 100, heavy, n = 11",
        replace(CHECK_OF["Python equal weights of 100, heavy, n = 11"].adapter, test_weight=1.0),
    ),
    Fault(
        "test row counted in the sample",
        "rows given to `Localizer.calibrate`",
        "Python updated, skewed, n = 20",
        CountsTheTestRow(),
    ),
    Fault(
        "calibration rows leaked into training",
        "estimator fitted on all rows, `prefit=True`",
        "WidthwiseRegressor tree, skewed, n = 19",
        TrainsOnCalibrationRows(CHECK_OF["WidthwiseRegressor tree, skewed, n = 19"].adapter.estimator, 19),
    ),
    Fault(
        "out-of-fold calibration",
        "cross-validated residuals calibrate",
        "Python predictions of an own model, n = 19",
        CalibratesOutOfFold(19),
    ),
    Fault(
        "stale online quantile",
        "`OnlinePredictor.predict_interval` for 1000 rows at once",
        "Python stream",
        IssuesInBatches(),
    ),
    Fault(
        "graph in single precision",
        "constants of the ONNX graph",
        "ONNX identity, rounded, n = 99",
        SinglePrecisionGraph("identity"),
    ),
    Fault(
        "predictions of the old model",
        "model file from before `calibrate --replace`",
        "command line merge, heavy, n = 10",
        PredictsWithTheOldModel(),
    ),
]


def table():
    """The table of README.md: each fault with the check that caught it."""
    lines = ["| fault | planted in | caught by | level | law | covered |", "|---|---|---|---:|---:|---:|"]
    for fault in FAULTS:
        caught = fault.caught
        numbers = f"{caught.level:g} | {caught.expected:.0%} | {caught.coverage:.0%}" if caught else "| | not caught"
        lines.append(f"| {fault.name} | {fault.planted} | {fault.check} | {numbers} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":  # rewrite the table
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1])
