"""Labels of categorical features that a model does not know: warnings, errors and counts, on every path of Python."""

from __future__ import annotations

import copy
import functools
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.dummy import DummyRegressor

from widthwise import OnlinePredictor, Predictor, WidthwiseRegressor, _batches, report

CITIES = ["Oslo", "Bergen", "Voss"]
SOME = (
    r"column 'city': 40 of 200 values are categories that the model does not know, such as 'oslo' \(did you mean 'Oslo'"
)
NONE = r"column 'city': none of 200 values is a category that the model knows: the labels are "


def homes(rows, seed):
    random = np.random.default_rng(seed)
    city = np.array(CITIES)[random.integers(0, 3, rows)]
    x = random.normal(size=rows)
    return pandas.DataFrame({"x": x, "city": city.astype(object)}), x + random.normal(size=rows), x


@functools.cache
def fitted():
    X, y, _ = homes(600, 1)
    model = WidthwiseRegressor(DummyRegressor(), score_transform="identity", random_state=0, n_jobs=1, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


def misspelt(rows=200, unknown=40, seed=2):
    """New rows with labels in lower case and with blanks; some values are missing, which are not labels."""
    X, y, _ = homes(rows + 10, seed)
    X.loc[: unknown - 1, "city"] = np.where(np.arange(unknown) % 2 == 0, "oslo", " Bergen ")
    X.loc[rows:, "city"] = None
    return X, y


FRAMES = {
    "objects": lambda frame: frame,
    "category": lambda frame: frame.astype({"city": "category"}),
    "arrow": pyarrow.Table.from_pandas,
    "dictionary": lambda frame: pyarrow.Table.from_pandas(frame.astype({"city": "category"})),
    "polars": polars.from_pandas,
}

USES = {
    "predict_interval": lambda model, X, y: model.predict_interval(X),
    "predict": lambda model, X, y: model.predict(X),
    "predict_quantile": lambda model, X, y: model.predict_quantile(X, 0.9),
    "predict_p": lambda model, X, y: model.predict_p(X, y),
    "evaluate": lambda model, X, y: model.evaluate(X, y),
    "report": lambda model, X, y: report(model, X, y),
    "calibrated": lambda model, X, y: model.calibrated(X, y),
}


def predictor():
    """A predictor with its base model, so that X goes to the core alone."""
    return trees().predictor_


@functools.cache
def trees():
    X, y, _ = homes(600, 1)
    return WidthwiseRegressor(
        base_options={"rounds": 5}, score_transform="identity", random_state=0, n_jobs=1, cv=2
    ).fit(X, y)


@pytest.mark.parametrize("use", USES)
def test_every_method_warns_of_some_and_refuses_a_column_without_known_labels(use):
    X, y = misspelt()
    with pytest.warns(UserWarning, match=SOME) as caught:
        USES[use](predictor(), X, y)
    assert any(warning.filename == __file__ for warning in caught)
    X, y = misspelt(unknown=200)
    with pytest.raises(
        ValueError, match=NONE + r"'oslo' \(did you mean 'Oslo'\?\) and ' Bergen ' \(did you mean 'Bergen'"
    ):
        USES[use](predictor(), X, y)


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_is_counted(frame):
    X, _ = misspelt()
    with pytest.warns(UserWarning, match=SOME):
        predictor().predict_interval(FRAMES[frame](X))


def test_estimators_and_streams_are_checked():
    X, y = misspelt()
    with pytest.warns(UserWarning, match=SOME):
        fitted().predict_interval(X)
    with pytest.warns(UserWarning, match=SOME):
        OnlinePredictor(fitted(), 0.9).track(X, y)
    with pytest.warns(UserWarning, match="none of 2 values"):
        OnlinePredictor(fitted(), 0.9).predict_interval(X[:2])
    with pytest.warns(UserWarning, match=SOME):
        copy.deepcopy(fitted()).conformalize(X, y)


def test_a_single_unknown_value_is_a_warning():
    X, _ = misspelt()
    with pytest.warns(UserWarning, match="1 of 1 value is a category that the model does not know, such as 'oslo'"):
        predictor().predict_interval(X[:1])
    with pytest.raises(ValueError, match="none of 2 values"):
        predictor().predict_interval(X[:2])


def test_known_and_missing_labels_are_silent():
    X, y, _ = homes(200, 5)
    X.loc[:50, "city"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictor().predict_interval(X)
        predictor().predict_interval(X[:50])
        assert predictor().evaluate(X, y)["unknown_categories"] == []


def test_evaluations_count_before_the_verdict():
    X, y = misspelt()
    with pytest.warns(UserWarning, match=SOME):
        found = predictor().evaluate(X, y)
    (city,) = found["unknown_categories"]
    assert (city["feature"], city["values"], city["unknown"]) == ("city", 200, 40)
    assert city["labels"] == [{"label": "oslo", "similar": "Oslo"}, {"label": " Bergen ", "similar": "Bergen"}]
    text = " ".join(str(found).split())
    assert text.index("Note: column 'city': 40 of 200 values") < text.index(found["verdict"]["headline"][:30])
    with pytest.warns(UserWarning, match=SOME):
        page = report(predictor(), X, y).html
    assert page.index("40 of 200 values") < page.index('<div class="verdict')


def test_batches_warn_and_shards_are_counted_together():
    X, y = misspelt(unknown=200)
    good, good_y, _ = homes(300, 7)
    model = predictor()._model
    intervals = _batches.Intervals.of(predictor(), 0.9, None)
    with pytest.warns(UserWarning, match=NONE):  # another batch may have known labels
        intervals.columns(model, X)
    calibrating = _batches.Calibrating.of(model, "key", "y", None, None)

    def shard(frame, outcomes, first):
        keys = np.arange(first, first + len(frame))
        return calibrating.shard(model, [frame.assign(key=keys, y=outcomes)])

    with pytest.raises(ValueError, match=NONE):
        calibrating.finished(predictor(), [shard(X, y, 0)], replace=True)
    with pytest.warns(UserWarning, match="200 of 500 values are categories"):
        made = calibrating.finished(predictor(), [shard(X, y, 0), shard(good, good_y, 1000)], replace=True)
    assert isinstance(made, Predictor)


def test_rows_of_the_population_to_predict_are_checked():
    X, y, _ = homes(600, 1)
    other, _ = misspelt(unknown=200)
    model = WidthwiseRegressor(base_options={"rounds": 5}, score_transform="identity", random_state=0, n_jobs=1, cv=2)
    with pytest.raises(ValueError, match=NONE):
        model.fit(X, y, shift_to=other)
