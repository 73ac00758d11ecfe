"""`verbose`: the progress of a fit on terminals, in notebooks and in files; and the lines that warnings name."""

import inspect
import io
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import widthwise
from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor

LINE = re.compile(r".+  \[#*\.*\] (\d+)%(  [\d:]+ left)?")


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


class NotebookStream(Stream):
    """Like the stream of ipykernel, which is not a terminal and overwrites lines after a carriage return."""


NotebookStream.__module__ = "ipykernel.iostream"


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (600, 2))
    return X, X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=600)


def in_threads(model, X, y):
    with parallel_config(backend="threading"):
        return model.set_params(n_jobs=2).fit(X, y)


FITS = {
    "estimator": lambda X, y, **more: WidthwiseRegressor(LinearRegression(), cv=3, **more).fit(X, y),
    "parallel": lambda X, y, **more: in_threads(WidthwiseRegressor(LinearRegression(), cv=3, **more), X, y),
    "cross": lambda X, y, **more: WidthwiseRegressor(LinearRegression(), cv=2, calibration="cross", **more).fit(X, y),
    "base": lambda X, y, **more: WidthwiseRegressor(cv=2, base_options={"rounds": 20}, **more).fit(X, y),
    "localizer": lambda X, y, **more: Localizer(**more).fit(X, y, X[:, 0]),
}
STAGES = {
    "estimator": ["estimator, fold 1 of 3", "estimator, fold 3 of 3", "training trees"],
    "parallel": ["estimator, fold 3 of 3"],
    "cross": ["fold 1 of 2: estimator", "fold 2 of 2: estimator, fold 5 of 5", "fold 2 of 2: training"],
    "base": ["base model, fold 2 of 2", "training trees"],
    "localizer": ["training trees", "training trees on all rows"],
}


@pytest.mark.parametrize("stream", [Stream(True), NotebookStream(False)], ids=["terminal", "notebook"])
@pytest.mark.parametrize("fit", FITS)
def test_one_line_shows_all_steps_of_a_fit(fit, stream, data, monkeypatch):
    stream.seek(0), stream.truncate()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("widthwise._progress._SECONDS_BETWEEN_DRAWINGS", 0)
    FITS[fit](*data, random_state=0, verbose=1, n_jobs=1)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert re.search(r"\r +\rwidthwise: fitted in \d+:\d\d\n$", text)
    lines = [line.rstrip() for line in text.split("\r")[1:-2]]
    assert max(map(len, lines)) < 80
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    shares = [int(match[1]) for match in found]
    assert shares == sorted(shares)
    if fit != "parallel":
        assert shares[-1] > 80
    assert [stage for stage in STAGES[fit] if stage not in text] == []


def test_a_file_gets_a_few_lines_and_the_default_is_silence(data, capsys):
    FITS["estimator"](*data, random_state=0, verbose=1)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 5
    assert all(LINE.fullmatch(line) for line in lines[:-1])
    assert lines[-1].startswith("widthwise: fitted in ")
    for fit in FITS.values():
        fit(*data, random_state=0)
    assert capsys.readouterr() == ("", "")


def test_verbose_is_a_parameter_that_clones_keep():
    model = WidthwiseRegressor(verbose=1)
    assert clone(model).get_params()["verbose"] == 1
    assert WidthwiseRegressor().verbose == 0


def test_ctrl_c_in_an_estimator_erases_the_line(data, monkeypatch):
    class Interrupted(LinearRegression):
        def fit(self, X, y):
            raise KeyboardInterrupt

    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(KeyboardInterrupt):
        WidthwiseRegressor(Interrupted(), verbose=1).fit(*data)
    assert re.search(r"\r +\r$", stream.getvalue())


def test_a_report_is_html_or_an_error_before_any_work(tmp_path):
    for name in ("r.pdf", "r"):
        with pytest.raises(ValueError, match="the report is an HTML file; expected a file name that ends in .html"):
            widthwise.report(None, None, None, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_one_thing_is_not_several(data):
    X, y = data
    localizer = Localizer(n_jobs=1).fit(X[:, :1], y, X[:, 0])
    calibration = Calibration()
    calibration.add([1.0])
    assert repr(localizer) == "Localizer(shortest, 1 feature)"
    assert repr(Predictor(localizer, Calibration())) == "Predictor(shortest, 1 feature, 0 calibration rows)"
    assert repr(calibration) == "Calibration of 1 row"
    with pytest.raises(ValueError, match="X has 1 row, y has 2"):
        localizer.fit(X[:1], y[:2], X[:1, 0])
    with pytest.raises(ValueError, match="fit: found 1 row; expected at least"):
        Localizer(n_jobs=1, score_transform="exp").fit(X[:1], y[:1], X[:1, 0])


def test_messages_of_the_library_name_no_function_of_cpp(data):
    X, y = data
    with pytest.raises(ValueError) as refused:
        Calibration().add([1.0, 2.0], groups=[1, 2], weights=[1.0])
    assert "::" not in str(refused.value)


# ---- warnings


def test_warnings_come_from_one_function():
    folder = Path(widthwise.__file__).parent
    found = [file.name for file in folder.rglob("*.py") if re.search(r"warnings\.warn\(|stacklevel", file.read_text())]
    assert found == ["_warn.py"]


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = WidthwiseRegressor(LinearRegression(), calibration_size=8, random_state=0, n_jobs=1).fit(X, y)
        localizer = Localizer(n_jobs=1, fit_options={"score": "absolute"}).fit(X, y, X[:, 0])
        plain = Predictor(localizer, Calibration())
    return estimator, localizer, plain


WARNED = {
    "too few rows to learn": lambda f, X, y: WidthwiseRegressor(LinearRegression(), n_jobs=1).fit(X[:20], y[:20]),
    "too few rows to learn, on a grid": lambda f, X, y: GridSearchCV(
        WidthwiseRegressor(LinearRegression(), n_jobs=1, random_state=0), {"goal": ["even"]}, cv=2
    ).fit(X[:30], y[:30]),
    "few rows for a localizer": lambda f, X, y: Localizer(n_jobs=1).fit(X[:15], y[:15], X[:15, 0]),
    "left-out column": lambda f, X, y: Localizer(n_jobs=1).fit(dates_of(X), y, X[:, 0], time=np.arange(len(y))),
    "infinite": lambda f, X, y: f[0].predict_interval(X, 0.999),
    "infinite of a predictor": lambda f, X, y: f[0].predictor_.predict_interval(X, X[:, 0], confidence_level=0.999),
    "not calibrated": lambda f, X, y: f[2].predict_interval(X, X[:, 0]),
    "quantiles": lambda f, X, y: f[2].predict_quantile(X, [0.9], X[:, 0]),
    "p-values": lambda f, X, y: f[2].predict_p(X, y, X[:, 0]),
    "seen rows": lambda f, X, y: f[0].evaluate(X, y),
}


def dates_of(X):
    import pandas as pd

    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "day": pd.date_range("2020-01-01", periods=len(X))})


@pytest.mark.parametrize("cause", WARNED)
def test_warnings_name_the_line_of_the_caller(cause, fitted, data):
    with pytest.warns(UserWarning) as caught:
        WARNED[cause](fitted, *data)
    lines, first = inspect.getsourcelines(sys.modules[__name__])
    assert first == 0
    for warning in caught:
        assert warning.filename == __file__, warning
        assert "lambda f, X, y" in "".join(lines[warning.lineno - 3 : warning.lineno]), warning
