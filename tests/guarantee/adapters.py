"""The interfaces of the product, each used as its users use it.

An interface has one method, covered(fit, calibration, test, levels). It takes fitting rows (N,), and calibration rows (R, n)
and test rows (R, m) of R independent repetitions. It returns whether the interval of each test row contains its
outcome, of shape (R, m, k).
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import widthwise
from widthwise import Calibration, Localizer, OnlinePredictor, Predictor, WidthwiseRegressor

# Number of parameters of a transform per side.
PARAMETERS = {
    "identity": 0,
    "erc": 1,
    "linear": 1,
    "exp": 1,
    "sigma": 1,
    "density": 1,
    "affine": 2,
    "spline": 3,
    "shortest": 3,
    "mixture": 8,
}


def inside(bounds, y):
    """Whether bounds of shape (..., m, 2, k) contain y (..., m)."""
    y = y[..., None]
    return (bounds[..., 0, :] <= y) & (y <= bounds[..., 1, :])


def below_quantiles(quantiles, y, levels):
    """Whether y is below its quantiles (..., m, k), for levels below 0.5 whether it is above."""
    y = y[..., None]
    return np.where(np.asarray(levels) >= 0.5, y <= quantiles, y >= quantiles)


def not_surprising(p_values, levels, n):
    """Whether p-values (..., m) of n calibration rows exceed 1 - level; they are multiples of 1 / (n + 1)."""
    minimum = (1 - np.asarray(levels)) * (n + 1)
    return p_values[..., None] * (n + 1) > minimum + 1e-6


def repeated(calibration, test, one):
    """The result of one(calibration, test) for every repetition."""
    return np.stack([one(calibration[r], test[r]) for r in range(len(test))])


# ---- C++


def cpp_program(name):
    """A program of tests/guarantee, from the build of WIDTHWISE_PROGRAM."""
    folder = os.environ.get("WIDTHWISE_GUARANTEE")
    program = os.environ.get("WIDTHWISE_PROGRAM")
    if not folder and not program:
        pytest.skip(
            "set WIDTHWISE_GUARANTEE to the folder of widthwise_guarantee, or WIDTHWISE_PROGRAM to a build of widthwise"
        )
    file = (Path(folder) if folder else Path(program).parent.parent / "tests" / "guarantee") / name
    assert file.exists(), f"{file} is not built: build the target {name}"
    return file


@dataclass(frozen=True)
class Cpp:
    """A C++ program that links widthwise::core (adapter.cpp)."""

    transform: str
    path: str = "intervals"
    score: str = "absolute"
    sides: str = "one"
    capacity: int = 1_000_000
    guarantee: str = "marginal"
    setting: float = 0  # of the path, see adapter.cpp
    fault: str | None = None  # "" runs the copy with planted faults, all switched off

    def covered(self, fit, calibration, test, levels):
        found = self.results(calibration, test, levels)
        if self.path in ("p_values", "fold_p_values"):
            return not_surprising(found.reshape(test.y.shape), levels, calibration.y.shape[1])
        if self.path == "quantiles":
            return below_quantiles(found.reshape(*test.y.shape, len(levels)), test.y, levels)
        return inside(np.swapaxes(found.reshape(*test.y.shape, len(levels), 2), -1, -2), test.y)

    def results(self, calibration, test, levels):
        """The numbers that the program writes."""
        rows = np.concatenate(self.tables(calibration, test), axis=1)
        program = cpp_program("widthwise_guarantee" if self.fault is None else "widthwise_guarantee_faulty")
        words = [self.path, self.transform, self.score, self.sides, ",".join(map(str, levels))]
        words += [calibration.y.shape[1], test.y.shape[1], self.capacity, self.guarantee, self.setting]
        words += [self.fault] if self.fault else []
        done = subprocess.run([program, *map(str, words)], input=rows.tobytes(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return np.frombuffer(done.stdout)

    def tables(self, calibration, test):
        """Both tables in the format of adapter.cpp. The parameters are an arbitrary function of x."""
        count = PARAMETERS[self.transform] * (2 if self.sides == "two" else 1)

        def table(rows):
            x = rows.X[..., 0]
            parameters = [np.cos(1.0 + j) + (0.4 if j % 2 == 0 else -0.4) * x for j in range(count)]
            return cpp_table(rows, rows.prediction, parameters)

        return table(calibration), table(test)


def cpp_table(rows, prediction, others):
    """Rows in the format of adapter.cpp."""
    weights = np.zeros_like(rows.y) if rows.weights is None else rows.weights
    groups = np.full_like(rows.y, -1) if rows.groups is None else rows.groups
    clusters = np.full_like(rows.y, -1) if rows.clusters is None else rows.clusters
    return np.stack([prediction, rows.y, weights, groups, clusters, *others], axis=-1)


# ---- Python


@functools.cache
def trained_localizer(transform, goal, two_sided, fit):
    """A localizer trained on some rows; cached, because many checks share one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        options = {"score_transform": transform, "goal": goal, "two_sided": two_sided}
        return Localizer(**options, n_jobs=1).fit(*fit.arguments)


@dataclass(frozen=True)
class Python:
    """Localizer.calibrate and Predictor. One localizer serves all repetitions, because the law holds given the fit."""

    transform: str = "auto"
    goal: str | float | None = None
    two_sided: bool | None = None
    path: str = "intervals"
    guarantee: str | float = "marginal"

    def localizer(self, fit):
        return trained_localizer(self.transform, self.goal, self.two_sided, fit)

    def covered(self, fit, calibration, test, levels):
        localizer = self.localizer(fit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for levels that need more rows
            return repeated(calibration, test, lambda rows, new: self.one(localizer, rows, new, levels))

    def predictor(self, localizer, rows):
        if self.path == "updated":  # two tables, one after the other
            half = len(rows) // 2
            predictor = Predictor(localizer, localizer.calibrate(*rows[:half].arguments))
            return predictor.calibrated(*rows[half:].arguments)
        predictor = Predictor(localizer, localizer.calibrate(*rows.arguments, groups=rows.groups))
        return predictor if self.guarantee == "marginal" else predictor.with_guarantee(self.guarantee)

    def one(self, localizer, rows, new, levels):
        predictor = self.predictor(localizer, rows)
        if self.path == "quantiles":
            return below_quantiles(predictor.predict_quantile(new.X, levels, new.prediction), new.y, levels)
        if self.path == "p_values":
            return not_surprising(predictor.predict_p(*new.arguments), levels, len(rows))
        if self.path == "online":  # the first interval of a stream is that of the calibration
            online = OnlinePredictor(predictor, confidence_level=levels)
            return inside(online.predict_interval(new.X, new.prediction)[1], new.y)
        _, intervals = predictor.predict_interval(new.X, new.prediction, confidence_level=levels, groups=new.groups)
        return inside(intervals, new.y)


@dataclass(frozen=True)
class Weighted(Python):
    """Calibration.add with weights, and a test weight per new row."""

    factor: float = 1.0  # factor on all weights, which are known only up to a factor
    test_weight: float | None = None

    def one(self, localizer, rows, new, levels):
        weights = np.ones_like(rows.y) if rows.weights is None else rows.weights
        new_weights = np.ones_like(new.y) if new.weights is None else new.weights
        calibration = Calibration().add(localizer.scores(*rows.arguments), weights=self.factor * weights)
        q = [
            [calibration.quantile(level, test_weight=self.test_weight or self.factor * weight) for level in levels]
            for weight in new_weights
        ]
        lower, upper = localizer.half_widths(new.X, new.prediction, q)
        f = new.prediction[:, None]
        return inside(np.stack([f - lower, f + upper], axis=1), new.y)


@functools.cache
def weighted_predictor(fit):
    """A model with weights that is not calibrated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        model = WidthwiseRegressor(calibration_size=0, random_state=0, n_jobs=1)
        model.fit(fit.X, fit.y, y_pred=fit.prediction, weights=np.ones_like(fit.y))
    return model.predictor_


@dataclass(frozen=True)
class WeightedModel(Python):
    """A model with weights: Predictor.calibrated and predict_interval."""

    def localizer(self, fit):
        return weighted_predictor(fit)

    def one(self, localizer, rows, new, levels):
        predictor = localizer.calibrated(*rows.arguments, weights=rows.weights, replace=True, population="source")
        _, intervals = predictor.predict_interval(new.X, new.prediction, confidence_level=levels, weights=new.weights)
        return inside(intervals, new.y)


@dataclass(frozen=True)
class Regressor:
    """WidthwiseRegressor.fit on fitting and calibration rows together; it sets calibration rows aside itself."""

    estimator: object
    calibration_size: int
    transform: str = "identity"
    goal: str | float | None = None

    def covered(self, fit, calibration, test, levels):
        def one(rows, new):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = self.fitted(rows)
                return inside(model.predict_interval(new.X, confidence_level=levels)[1], new.y)

        return repeated(calibration, test, one)

    def fitted(self, rows):
        return self.regressor(self.estimator).fit(rows.X, rows.y)

    def regressor(self, estimator, **options):
        return WidthwiseRegressor(
            estimator,
            score_transform=self.transform,
            goal=self.goal,
            calibration_size=self.calibration_size,
            random_state=0,
            n_jobs=1,
            **options,
        )


@dataclass(frozen=True)
class Deployed:
    """Predictions of the user's own linear model; the rows after its fitting rows calibrate."""

    calibration_size: int

    def covered(self, fit, calibration, test, levels):
        return repeated(calibration, test, lambda rows, new: self.one(rows, new, levels))

    def one(self, rows, new, levels):
        fitting, fresh = rows[: -self.calibration_size], rows[-self.calibration_size :]
        model = self.model(fitting)
        return self.judged(fresh, fresh.X @ model, new, new.X @ model, levels)

    @staticmethod
    def model(rows):
        """Coefficients by least squares."""
        return np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]

    @staticmethod
    def judged(rows, y_pred, new, new_pred, levels):
        localizer = Localizer(score_transform="identity").fit(rows.X, rows.y, y_pred)
        predictor = Predictor(localizer, Calibration().add(localizer.scores(rows.X, rows.y, y_pred)))
        _, intervals = predictor.predict_interval(new.X, new_pred, confidence_level=levels)
        return inside(intervals, new.y)


# ---- ONNX


@dataclass(frozen=True)
class Onnx(Python):
    """Graphs exported by widthwise.onnx, run with ONNX Runtime."""

    def one(self, localizer, rows, new, levels):
        runtime = pytest.importorskip("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        graph = self.graph(self.predictor(localizer, rows), levels)
        session = runtime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
        feed = {"x": new.X.astype(np.float32), "prediction": new.prediction}
        lower, upper = session.run(["lower", "upper"], feed)
        return inside(np.stack([lower, upper], axis=1), new.y)

    def graph(self, predictor, levels):
        pytest.importorskip("onnx")
        import widthwise.onnx

        return widthwise.onnx.export(predictor, confidence_level=list(levels))


# ---- command line


def program():
    """The command of the installed package, which starts faster than one with LibTorch, or WIDTHWISE_PROGRAM."""
    installed = shutil.which("widthwise", path=str(Path(sys.executable).parent))
    return installed or os.environ.get("WIDTHWISE_PROGRAM", "widthwise")


def write_table(rows, file, **columns):
    from pyarrow import csv, table

    named = {f"x{j}": rows.X[:, j] for j in range(rows.X.shape[1])}
    if rows.groups is not None:
        named["station"] = [f"station {group}" for group in rows.groups]
    if rows.weights is not None:
        named["ratio"] = rows.weights
    if rows.clusters is not None:
        named["patient"] = rows.clusters
    csv.write_csv(table({**named, "forecast": rows.prediction, "y": rows.y, **columns}), file)


def read_bounds(file, levels):
    from pyarrow import csv

    options = csv.ConvertOptions(null_values=[""], strings_can_be_null=False)
    read = csv.read_csv(file, convert_options=options)
    columns = [[np.asarray(read[f"{side}_{level}"], dtype=float) for level in levels] for side in ("lower", "upper")]
    return np.moveaxis(np.array(columns), -1, 0)


@dataclass(frozen=True)
class CommandLine:
    """widthwise fit, calibrate, merge, predict; every repetition has its own folder."""

    path: str = "calibrate"
    transform: str = "auto"
    goal: str = "0.85"
    calibration_size: int = 0
    options: tuple = ()  # further options of fit

    def covered(self, fit, calibration, test, levels):
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
            model = Path(folder, "model.safetensors")
            if self.path not in ("fit", "cross"):
                self.fit(self.like(fit, calibration[0]), model, "--calibration-size", "0")
            work = [
                pool.submit(self.one, Path(folder, str(r)), model, calibration[r], test[r], levels)
                for r in range(len(test))
            ]
            return np.stack([each.result() for each in work])

    def like(self, fit, rows):
        """Fitting rows with the columns of the calibration rows."""
        number = np.arange(len(fit))
        return replace(
            fit,
            groups=None if rows.groups is None else number % 3,
            weights=None if rows.weights is None else np.ones(len(fit)),
            clusters=None if self.shaped(rows).clusters is None else number,
        )

    def shaped(self, rows):
        """The calibration rows as they are written."""
        return rows

    def columns(self, rows):
        """Further columns of a table, or other values."""
        return {}

    @staticmethod
    def roles(rows):
        """The options of fit that name the columns of rows."""
        words = [] if rows.groups is None else ["--group", "station", "--exclude", "station"]
        words += [] if rows.weights is None else ["--weight", "ratio"]
        return words + ([] if rows.clusters is None else ["--cluster", "patient"])

    def write(self, rows, file, **columns):
        write_table(rows, file, **self.columns(rows), **columns)

    def run(self, *words):
        done = subprocess.run([program(), *map(str, words)], capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, (words, done.stderr)

    def fit(self, rows, model, *options):
        table = model.with_suffix(".csv")
        self.write(rows, table)
        goal = [] if self.transform == "identity" else ["--goal", self.goal]
        words = [
            "fit",
            table,
            "--target",
            "y",
            "--score-transform",
            self.transform,
            *goal,
            "--threads",
            1,
        ]
        self.run(*words, *options, *self.options, *self.roles(rows), *self.predictions(), "-o", model)

    def predictions(self):
        if self.path != "fit":
            return ["--prediction", "forecast"]
        # Trees that remember the rows they are fitted on, so that calibration with such rows is noticed.
        memory = "rounds=30,learning_rate=0.3,max_depth=8,min_child_weight=0,lambda=0,subsample=1"
        return ["--base", "trees", "--base-options", memory, "--exclude", "forecast"]

    def one(self, folder, model, rows, new, levels):
        folder.mkdir()
        calibrated = self.calibrated(folder, model, self.shaped(rows))
        self.write(new, folder / "new.csv")
        self.run(
            "predict", calibrated, folder / "new.csv", "--level", ",".join(map(str, levels)), "-o", folder / "out.csv"
        )
        return inside(read_bounds(folder / "out.csv", levels), new.y)

    def calibrated(self, folder, model, rows):
        out = folder / "calibrated.safetensors"
        if self.path == "fit":
            self.fit(rows, out, "--calibration-size", self.calibration_size / len(rows))
        elif self.path == "cross":
            self.fit(rows, out, "--calibration", "cross")
        elif self.path == "merge":
            shards = []
            for i, shard in enumerate(np.array_split(np.arange(len(rows)), 2)):
                self.write(rows[shard], folder / f"{i}.csv", id=shard)
                shards.append(folder / f"{i}.shard")
                self.run("calibrate", model, folder / f"{i}.csv", "--key", "id", "--emit", shards[-1])
            self.run("merge", model, *shards, "-o", out)
        else:
            self.write(rows, folder / "rows.csv")
            weighted = [] if rows.weights is None else ["--population", "source"]
            self.run("calibrate", model, folder / "rows.csv", "--replace", *weighted, "-o", out)
        return out


# ---- drifting streams


def late_bound(level, rows, delay):
    """The bound of the adaptive method for outcomes that are `delay` rows late; all pending rows may be misses."""
    step = min(level, 1 - level) / max(20, delay)
    return (max(level, 1 - level) / step + 2 * delay) / rows


@dataclass(frozen=True)
class Stream:
    """OnlinePredictor, row by row: every outcome is observed before the next interval is issued."""

    def covered(self, fit, calibration, stream, levels):
        localizer = trained_localizer("auto", None, None, fit)
        predictor = Predictor(localizer, localizer.calibrate(*calibration.arguments))
        online = OnlinePredictor(predictor, confidence_level=list(levels))
        return inside(self.issued(online, stream), stream.y)

    def issued(self, online, stream):
        return online.track(*stream.arguments)[1]

    def bound(self, level, rows, calibration, stream):
        """The bound on the difference between coverage and level, for every sequence (docs/mathematics.md)."""
        step = min(level, 1 - level) / 20
        return (max(level, 1 - level) + step) / (step * rows)


@dataclass(frozen=True)
class StreamInBatches(Stream):
    """OnlinePredictor in batches, each issued before the outcomes of its rows and of the previous batch are known."""

    size: int = 50

    def issued(self, online, stream):
        pending = []
        intervals = []
        for first in range(0, len(stream), self.size):
            rows = stream[first : first + self.size]
            issued = online.predict_interval(rows.X, rows.prediction)
            intervals.append(issued.intervals)
            pending.append((rows, issued.batch))
            if len(pending) == 2:
                late, batch = pending.pop(0)
                online.observe(*late.arguments, batch=batch)
        return np.concatenate(intervals)

    def bound(self, level, rows, calibration, stream):
        return late_bound(level, rows, 2 * self.size)


@dataclass(frozen=True)
class TrackedStream(Stream):
    """widthwise track."""

    options: tuple = ()

    def covered(self, fit, calibration, stream, levels):
        command = CommandLine(transform="identity" if self.options else "auto")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command.fit(fit, folder / "model.safetensors", "--calibration-size", "0")
            model = command.calibrated(folder, folder / "model.safetensors", calibration)
            write_table(stream, folder / "stream.csv")
            words = ["--level", ",".join(map(str, levels)), "-o", folder / "out.csv", *self.options]
            command.run("track", model, folder / "stream.csv", *words)
            return inside(read_bounds(folder / "out.csv", levels), stream.y)


@dataclass(frozen=True)
class LateTrackedStream(TrackedStream):
    """widthwise track in batches, observed one batch late."""

    options: tuple = ("--batch-size", 50, "--delay", 1)

    def bound(self, level, rows, calibration, stream):
        return late_bound(level, rows, 100)


@dataclass(frozen=True)
class DecayingTrackedStream(TrackedStream):
    """widthwise track with the decaying method, in batches that are observed one batch late."""

    options: tuple = ("--method", "decaying", "--batch-size", 50, "--delay", 1)

    def bound(self, level, rows, calibration, stream):
        """The bound for scores in a range, with c the slope of the quantile function of the calibration scores."""
        scores = np.abs(calibration.y - calibration.prediction)
        found = np.append(scores, np.abs(stream.y - stream.prediction))
        reach = min(level, 1 - level) / 2
        n = len(scores)
        high, low = (np.sort(scores)[min(n - 1, int((level + side * reach) * n))] for side in (1, -1))
        delay = 100
        pace = max(1, delay / 20)
        first, last = ((high - low) / (2 * reach) / pace * (r / pace + 100) ** -0.6 for r in (1, rows))
        return (np.ptp(found) + first * delay) / (last * rows)


# ---- Spark


@functools.cache
def spark_session():
    """Spark with two workers, which import the widthwise under test."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    home = str(Path(widthwise.__file__).parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]")
    for option, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }.items():
        builder = builder.config(option, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class Spark(Python):
    """widthwise.spark.calibrate and predict_interval."""

    def one(self, localizer, rows, new, levels):
        spark = spark_session()
        import widthwise.spark

        predictor = Predictor(localizer, Calibration())
        named = {"groups": "group"} if rows.groups is not None else {}
        calibrated = widthwise.spark.calibrate(self.frame(spark, rows), predictor, key="id", **named)
        done = widthwise.spark.predict_interval(self.frame(spark, new), calibrated, list(levels), **named)
        table = done.toArrow().sort_by("id")
        columns = [[np.asarray(table[f"{side}_{level:g}"]) for level in levels] for side in ("lower", "upper")]
        return inside(np.moveaxis(np.array(columns), -1, 0), new.y)

    @staticmethod
    def frame(spark, rows):
        columns = {f"x{j}": rows.X[:, j] for j in range(rows.X.shape[1])}
        columns |= {"y_pred": rows.prediction, "y": rows.y, "id": np.arange(len(rows))}
        if rows.groups is not None:
            columns["group"] = rows.groups
        import pyarrow

        return spark.createDataFrame(pyarrow.table(columns)).repartition(4)
