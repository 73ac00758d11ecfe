"""Hostile inputs in Python: each gives a valid result, or one of our exceptions with a clear message.

A case is one line: the call with the objects of `world`, the exception, and words of its message. OK: a valid result.
"""

import datetime
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import assert_clear

widthwise = pytest.importorskip("widthwise")

OK = None
inf, nan = np.inf, np.nan


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Rows X, y, p; a predictor, a stream, a calibration, intervals; a folder with damaged model files."""
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 2))
    y = 3 * X[:, 0] + random.normal(size=200)
    p = 3 * X[:, 0]
    localizer = widthwise.Localizer(score_transform="identity").fit(X[:100], y[:100], p[:100])
    calibration = localizer.calibrate(X[100:], y[100:], p[100:])
    predictor = widthwise.Predictor(localizer, calibration)
    folder = tmp_path_factory.mktemp("models")
    predictor.save(folder / "good.safetensors")
    good = (folder / "good.safetensors").read_bytes()
    for name, content in {
        "none": b"",
        "cut": good[:-9],
        "zeros": bytes(999),
        "text": b"hello, this is no model",
    }.items():
        (folder / f"{name}.safetensors").write_bytes(content)
    (folder / "folder.safetensors").mkdir()
    return SimpleNamespace(
        X=X,
        y=y,
        p=p,
        localizer=localizer,
        predictor=predictor,
        calibration=calibration,
        folder=folder,
        stream=lambda **options: widthwise.OnlinePredictor(predictor, 0.9, **options),
        evaluate=lambda intervals, y: widthwise.evaluate_intervals(
            intervals, y, confidence_level=0.9, calibration_rows=100
        ),
        intervals=predictor.predict_interval(X, p)[1],
        Localizer=lambda **options: widthwise.Localizer(**{"score_transform": "identity", **options}),
        Regressor=lambda **options: widthwise.WidthwiseRegressor(**{"score_transform": "identity", **options}),
    )


def changed(array, value, place=17):
    out = np.array(array, dtype=float)
    out.flat[place] = value
    return out


CASES = [
    # rows
    (lambda w: w.Localizer().fit(w.X, w.y[:-1], w.p), ValueError, "200 rows"),
    (lambda w: w.Localizer().fit(w.X, w.y, w.p[:-1]), ValueError, "200 rows"),
    (lambda w: w.Localizer().fit(w.X, w.y), ValueError, "neither y_pred nor y_pred_cv"),
    (lambda w: w.Localizer().fit(w.X, w.y, w.p, y_pred_cv=w.p), ValueError, "both y_pred and y_pred_cv"),
    (lambda w: w.Localizer().fit(w.X, w.y, w.y), ValueError, "every prediction equals the outcome"),
    (lambda w: w.Localizer().fit(w.X[:0], w.y[:0], w.p[:0]), ValueError, "0 rows"),
    (lambda w: w.Localizer().fit(w.X[:1], w.y[:1], w.p[:1]), ValueError, "found 1 row; expected at least 2"),
    (lambda w: w.Localizer().fit(w.X[0], w.y, w.p), ValueError, "2D"),
    (lambda w: w.Localizer().fit(w.X[None], w.y, w.p), ValueError, "2D"),
    (lambda w: w.Localizer().fit(w.X, w.X, w.p), ValueError, "y has 2"),
    (lambda w: w.Localizer().fit(w.X[:, :0], w.y, w.p), ValueError, "no column of numbers or categories"),
    (lambda w: w.Localizer().fit(None, w.y, w.p), (TypeError, ValueError), ""),
    (lambda w: w.Localizer().fit("rows.csv", w.y, w.p), (TypeError, ValueError), ""),
    (lambda w: w.Localizer().fit(object(), w.y, w.p), (TypeError, ValueError), ""),
    (lambda w: w.Localizer().fit([["a", "b"]] * 200, w.y, w.p), (TypeError, ValueError), ""),
    (lambda w: w.Localizer().fit(w.X.astype(complex), w.y, w.p), ValueError, "Complex"),
    (lambda w: w.Localizer().fit(w.X.astype(object), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(w.X.tolist(), w.y.tolist(), w.p.tolist()), OK, ""),
    (lambda w: w.Localizer().fit(w.X[::-1, ::-1], w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(np.asfortranarray(w.X), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(w.X.astype(">f8"), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(w.X.astype(np.float16), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(w.X.astype(np.longdouble), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(changed(w.X, nan), w.y, w.p), OK, ""),
    (lambda w: w.Localizer().fit(changed(w.X, inf), w.y, w.p), ValueError, "is inf"),
    (lambda w: w.Localizer().fit(changed(w.X, 1e39), w.y, w.p), ValueError, "expected at most 3.4e38"),
    (lambda w: w.Localizer().fit(w.X, changed(w.y, nan), w.p), ValueError, "row 18 of 'y' is nan"),
    (lambda w: w.Localizer().fit(w.X, changed(w.y, inf), w.p), ValueError, "row 18 of 'y' is inf"),
    (lambda w: w.Localizer().fit(w.X, w.y, changed(w.p, nan)), ValueError, "row 18 of 'y_pred'"),
    (lambda w: w.Localizer().fit(w.X, w.y, changed(w.p, -inf)), ValueError, "row 18 of 'y_pred'"),
    (lambda w: w.Localizer(score_transform="exp").fit(w.X, w.y, changed(w.p, 1e39)), ValueError, "3.4e38"),
    (lambda w: w.Localizer().fit(w.X, ["a"] * 200, w.p), (TypeError, ValueError), ""),
    # options
    (lambda w: w.Localizer(score_transform="square").fit(w.X, w.y, w.p), ValueError, "score_transform is 'square'"),
    (lambda w: w.Localizer(goal="wide").fit(w.X, w.y, w.p), ValueError, "goal"),
    (lambda w: w.Localizer(goal=1.5).fit(w.X, w.y, w.p), ValueError, "0 to 1"),
    (lambda w: w.Localizer(goal=nan).fit(w.X, w.y, w.p), ValueError, "0 to 1"),
    (lambda w: w.Localizer(confidence_level=0).fit(w.X, w.y, w.p), ValueError, "between 0 and 1"),
    (lambda w: w.Localizer(confidence_level=1).fit(w.X, w.y, w.p), ValueError, "between 0 and 1"),
    (lambda w: w.Localizer(confidence_level=90).fit(w.X, w.y, w.p), ValueError, "between 0 and 1"),
    (lambda w: w.Localizer(confidence_level=nan).fit(w.X, w.y, w.p), ValueError, "between 0 and 1"),
    (lambda w: w.Localizer(confidence_level=[]).fit(w.X, w.y, w.p), ValueError, "level"),
    (lambda w: w.Localizer(confidence_level="high").fit(w.X, w.y, w.p), (TypeError, ValueError), ""),
    (lambda w: w.Localizer(confidence_level=[0.9, 0.9]).fit(w.X, w.y, w.p), ValueError, "twice"),
    (
        lambda w: w.Localizer(confidence_level=list(np.arange(1, 1002) / 1003)).fit(w.X, w.y, w.p),
        ValueError,
        "expected 1 to 1000 numbers",
    ),
    (lambda w: w.Localizer(outcome_range=(1, 0)).fit(w.X, w.y, w.p), ValueError, "range"),
    (lambda w: w.Localizer(outcome_range=(nan, 0)).fit(w.X, w.y, w.p), ValueError, ""),
    (lambda w: w.Localizer(outcome_range=(0, 1)).fit(w.X, w.y, w.p), ValueError, "outside the outcome range"),
    (lambda w: w.Localizer(n_jobs=0).fit(w.X, w.y, w.p), ValueError, "n_jobs is 0"),
    (lambda w: w.Localizer(guarantee=2).fit(w.X, w.y, w.p), ValueError, "guarantee"),
    (lambda w: w.Localizer(guarantee="strong").fit(w.X, w.y, w.p), ValueError, "guarantee"),
    (lambda w: w.Regressor(calibration_size=2.0).fit(w.X, w.y, y_pred=w.p), ValueError, "calibration_size"),
    (lambda w: w.Regressor(calibration_size=-1).fit(w.X, w.y, y_pred=w.p), ValueError, "calibration_size"),
    (lambda w: w.Regressor(calibration_size=nan).fit(w.X, w.y, y_pred=w.p), ValueError, "calibration_size"),
    (lambda w: w.Regressor().predict(w.X), Exception, "not fitted"),
    (lambda w: w.Regressor().predict_interval(w.X), Exception, "not fitted"),
    (lambda w: w.Regressor().save(w.folder / "x"), Exception, "not fitted"),
    (lambda w: w.Regressor().fit(w.X, None), ValueError, "y"),
    # predicting
    (lambda w: w.predictor.predict_interval(w.X), ValueError, "pass predictions as y_pred"),
    (lambda w: w.predictor.predict_interval(w.X[:, :1], w.p), ValueError, "X has 1 feature"),
    (lambda w: w.predictor.predict_interval(w.X, w.p[:5]), ValueError, "200 rows"),
    (lambda w: w.predictor.predict_interval(w.X[:0], w.p[:0]), OK, ""),
    (lambda w: w.predictor.predict_interval(changed(w.X, inf), w.p), OK, ""),
    (lambda w: w.predictor.predict_interval(changed(w.X, nan), changed(w.p, nan)), OK, ""),
    (lambda w: w.predictor.predict_interval(w.X, w.p, confidence_level=0), ValueError, "between 0 and 1"),
    (lambda w: w.predictor.predict_interval(w.X, w.p, confidence_level=1), ValueError, "between 0 and 1"),
    (lambda w: w.predictor.predict_interval(w.X, w.p, confidence_level=[0.9, 2]), ValueError, "between 0 and 1"),
    (lambda w: w.predictor.predict_interval(w.X, w.p, confidence_level="x"), (TypeError, ValueError), ""),
    (lambda w: w.predictor.predict_interval(w.X, w.p, groups=np.zeros(200, int)), ValueError, "group"),
    (lambda w: w.predictor.predict_quantile(w.X, 2, w.p), ValueError, "between 0 and 1"),
    (lambda w: w.predictor.predict_p(w.X, w.y[:3], w.p), ValueError, "200 rows"),
    (lambda w: w.predictor.predict(w.X), ValueError, ""),
    (lambda w: w.predictor.evaluate(w.X, w.y[:3], w.p), ValueError, "200 rows"),
    (lambda w: w.predictor.evaluate(w.X, changed(w.y, nan), w.p), ValueError, "y[17] is nan"),
    (lambda w: w.predictor.calibrated(w.X[:100], w.y[:100], w.p[:100]), ValueError, "used to fit the model"),
    (lambda w: w.predictor.calibrated(w.X[:0], w.y[:0], w.p[:0]), OK, ""),
    (lambda w: w.predictor.with_guarantee("x"), ValueError, "guarantee"),
    # scores
    (
        lambda w: widthwise.Calibration().add([1.0]).merge(widthwise.Calibration().add([1.0])).quantile(0.5),
        ValueError,
        "twice",
    ),
    (lambda w: w.calibration.merge(None), (TypeError, ValueError, AttributeError), ""),
    (lambda w: widthwise.Calibration(capacity=0), ValueError, "capacity"),
    (lambda w: widthwise.Calibration(capacity=-1), (TypeError, ValueError), ""),
    (lambda w: widthwise.Calibration().add([1.0, nan]), ValueError, "NaN"),
    (lambda w: widthwise.Calibration().add(["a"]), (TypeError, ValueError), ""),
    (lambda w: widthwise.Calibration().add([1.0], weights=[0.0]), ValueError, "positive, finite weight"),
    (lambda w: widthwise.Calibration().add([1.0], weights=[1.0, 2.0]), ValueError, ""),
    (lambda w: widthwise.Calibration().add([1.0], groups=[1.5]), ValueError, "integers"),
    (lambda w: widthwise.Calibration().add([1.0], groups=["\udcff"]), ValueError, "is not valid UTF-8"),
    (lambda w: widthwise.Calibration().add([1.0], groups=[[1]]), ValueError, "groups"),
    (lambda w: widthwise.Calibration().add([1.0], groups=["a" * 10**6]), OK, ""),
    (lambda w: widthwise.Calibration().add([1.0], groups=[2**70]), OK, ""),
    (lambda w: widthwise.Calibration().add([1.0], key=[1.5]), ValueError, "unique 64-bit integers"),
    (lambda w: widthwise.Calibration().add([1.0, 2.0], key=[1, 1]).quantile(0.5), ValueError, "twice"),
    (lambda w: widthwise.Calibration().quantile(0.9), OK, ""),
    (lambda w: widthwise.Calibration.from_bytes(b""), ValueError, ""),
    (lambda w: widthwise.Calibration.from_bytes(w.calibration.to_bytes()[:-8]), ValueError, ""),
    (lambda w: widthwise.Calibration.from_bytes(bytes(800)), ValueError, ""),
    (lambda w: widthwise.Calibration.from_bytes("text"), TypeError, ""),
    # files
    (lambda w: widthwise.Predictor.load(w.folder / "missing.safetensors"), FileNotFoundError, "missing.safetensors"),
    (
        lambda w: widthwise.Predictor.load(w.folder / "none.safetensors"),
        ValueError,
        "not a model file: found an empty file",
    ),
    (lambda w: widthwise.Predictor.load(w.folder / "cut.safetensors"), ValueError, "cut.safetensors"),
    (
        lambda w: widthwise.Predictor.load(w.folder / "zeros.safetensors"),
        ValueError,
        "not a model file: found other data",
    ),
    (
        lambda w: widthwise.Predictor.load(w.folder / "text.safetensors"),
        ValueError,
        "not a model file: found text, such as a CSV table",
    ),
    (lambda w: widthwise.Predictor.load(w.folder / "folder.safetensors"), OSError, "directory"),
    (lambda w: widthwise.Predictor.load(""), OSError, ""),
    (lambda w: widthwise.Predictor.load(None), TypeError, ""),
    (lambda w: widthwise.Predictor.load(17), TypeError, ""),
    (lambda w: widthwise.Predictor.load("a\0b"), ValueError, ""),
    (lambda w: widthwise.Localizer.load(w.folder / "cut.safetensors"), ValueError, "cut.safetensors"),
    (
        lambda w: widthwise.WidthwiseRegressor.load(w.folder / "zeros.safetensors"),
        ValueError,
        "not a model file: found other data",
    ),
    (lambda w: widthwise.OnlinePredictor.load(w.folder / "good.safetensors"), ValueError, "has no online state"),
    (lambda w: w.predictor.save(w.folder / "no" / "such"), OSError, "No such file"),
    (lambda w: w.predictor.save(w.folder / "folder.safetensors"), OSError, "folder.safetensors"),
    (lambda w: w.predictor.save(""), OSError, ""),
    # streams
    (lambda w: w.stream(method="magic"), ValueError, "magic"),
    (lambda w: w.stream(step=-1), ValueError, "step"),
    (lambda w: w.stream(step=nan), ValueError, "step"),
    (lambda w: w.stream(window_rows=0), ValueError, "window"),
    (lambda w: w.stream().observe(w.X, w.y, w.p), ValueError, "no batch is pending"),
    (lambda w: w.stream().predict_interval(w.X[:0], w.p[:0]), ValueError, "no rows"),
    (lambda w: w.stream().drop(3), ValueError, "batch 3"),
    (lambda w: w.stream().track(w.X, w.y, w.p, batch_size=0), ValueError, "batch_size"),
    (lambda w: w.stream().track(w.X, changed(w.y, inf), w.p), ValueError, ""),
    (lambda w: w.stream().track(w.X + 1, changed(w.y, nan), w.p), OK, ""),
    (lambda w: w.stream().track(w.X, w.y, w.p), ValueError, "were used to fit the model"),
    # the rest
    (lambda w: widthwise.plan(0.9), ValueError, "give either tolerance or rows"),
    (lambda w: widthwise.plan(0.9, tolerance=0), ValueError, "tolerance"),
    (lambda w: widthwise.plan(0.9, rows=-1), (TypeError, ValueError), ""),
    (lambda w: widthwise.plan(2, rows=10), ValueError, "between 0 and 1"),
    (lambda w: w.evaluate(w.intervals[:5], w.y), ValueError, "shape"),
    (lambda w: w.evaluate(w.intervals * nan, w.y), ValueError, ""),
    (lambda w: w.evaluate(w.intervals[:, ::-1], w.y), ValueError, ""),
    (lambda w: w.evaluate(w.intervals[:0], w.y[:0]), ValueError, ""),
    (lambda w: widthwise.report(None, w.X, w.y), TypeError, "expected a WidthwiseRegressor or a Predictor"),
]


def words_of(case):
    """The name of a case: its source."""
    return f"{case[0].__code__.co_firstlineno}"


@pytest.mark.parametrize("case", CASES, ids=words_of)
def test_a_hostile_call_is_answered_or_refused_clearly(world, case):
    call, expected, words = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if expected is OK:
            call(world)
            return
        with pytest.raises(expected) as caught:
            call(world)
    assert_clear(str(caught.value), words)


def frames():
    """Tables of other libraries with columns that are not numeric."""
    pd = pytest.importorskip("pandas")
    n = 200
    numbers = np.random.default_rng(0).normal(size=n)
    return {
        "two columns of one name": pd.DataFrame(np.column_stack([numbers, numbers]), columns=["a", "a"]),
        "lists": pd.DataFrame({"a": [[1]] * n}),
        "no columns": pd.DataFrame(index=range(n)),
        "dates": pd.DataFrame({"a": [datetime.datetime(2020, 1, 1)] * n}),
    }


@pytest.mark.parametrize("name", ["two columns of one name", "lists", "no columns", "dates"])
def test_a_hostile_frame_is_refused_clearly(world, name):
    with pytest.raises((ValueError, TypeError)) as caught:
        world.Localizer().fit(frames()[name], world.y, world.p)
    assert_clear(str(caught.value), "")
