"""Categorical features in Python: any frame, the array API, scikit-learn's, and clusters' batches."""

from __future__ import annotations

import functools
import pickle
from pathlib import Path

import markdown
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, _batches, evaluate_intervals, report
from widthwise._model import features_of

CITIES = ["Oslo", "Bergen", "Å", "true", "7"]
ERROR = dict(zip(CITIES, [0.1, 2.0, 0.3, 3.0, 0.2], strict=True))


def homes(rows, seed):
    """Errors depend on the city alone."""
    random = np.random.default_rng(seed)
    city = np.array(CITIES)[random.integers(0, len(CITIES), rows)]
    x = random.normal(size=rows)
    y = x + np.array([ERROR[one] for one in city]) * random.normal(size=rows)
    floor = random.integers(0, 4, rows)
    return pandas.DataFrame({"x": x, "city": city.astype(object), "floor": floor}), y, x


FIT, CALIBRATION, TEST = homes(1500, 1), homes(800, 2), homes(600, 3)
OPTIONS = {"n_jobs": 1, "localizer_options": {"max_rounds": 40}}

FRAMES = {
    "objects": lambda frame: frame,
    "str": lambda frame: frame.astype({"city": "str"}),
    "category": lambda frame: frame.astype({"city": "category"}),
    "other order": lambda frame: frame.assign(city=pandas.Categorical(frame["city"], CITIES[::-1])),
    "arrow": pyarrow.Table.from_pandas,
    "dictionary": lambda frame: pyarrow.Table.from_pandas(frame.astype({"city": "category"})),
    "polars": polars.from_pandas,
    "polars categorical": lambda frame: polars.from_pandas(frame.astype({"city": "category"})),
    "other columns": lambda frame: frame[["floor", "city", "x"]].assign(note="free text"),
}


@functools.cache
def fitted_localizer():
    return Localizer(**OPTIONS).fit(*FIT)


@functools.cache
def fitted():
    return Predictor(fitted_localizer(), fitted_localizer().calibrate(*CALIBRATION))


def widths(predictor, X, f):
    _, intervals = predictor.predict_interval(X, f)
    return intervals[:, 1, 0] - intervals[:, 0, 0]


def test_widths_depend_on_the_category():
    X, _, f = TEST
    found = pandas.Series(widths(fitted(), X, f)).groupby(X["city"].to_numpy()).mean()
    assert found["Bergen"] > 3 * found["Oslo"] and found["true"] > 3 * found["7"]
    assert fitted()._model.categories == [[], sorted(CITIES, key=str.encode), []]


@pytest.mark.parametrize("name", [name for name in FRAMES if name not in ("objects", "other columns")])
def test_every_frame_fits_the_same_model(name):
    localizer = Localizer(**OPTIONS).fit(FRAMES[name](FIT[0]), *FIT[1:])
    assert localizer._model.to_bytes() == fitted_localizer()._model.to_bytes()


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_gives_the_same_bits(name):
    X, _, f = TEST
    frame = FRAMES[name](X)
    np.testing.assert_array_equal(widths(fitted(), frame, f), widths(fitted(), X, f))


@pytest.mark.filterwarnings("ignore:column 'city'")
def test_unseen_and_missing_categories_are_the_same():
    X, _, f = TEST
    known = np.arange(len(X)) == 0  # a column without any known label is an error
    found = [
        widths(fitted(), X.assign(city=X["city"].where(known, value)), f)
        for value in ("Paris", None, "", "NA", np.nan, "oslo")
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_integers_are_categories_by_name_or_position():
    X, y, f = FIT
    for column in ("floor", 2):
        localizer = Localizer(**OPTIONS, categorical_features=[column]).fit(X, y, f)
        assert localizer._model.categories[2] == ["0", "1", "2", "3"]
        again = localizer.half_widths(X.assign(floor=X["floor"].astype(str)), f, [1.0])
        np.testing.assert_array_equal(again, localizer.half_widths(X, f, [1.0]))
    matrix = Localizer(**OPTIONS, categorical_features=["x1"]).fit(X[["x", "floor"]].to_numpy(), y, f)
    assert matrix._model.categories == [[], ["0", "1", "2", "3"]]
    for bad, why in [
        ("floors", "no column 'floors'; did you mean 'floor'?"),
        (3, "no column 3"),
        ("x", "not an integer"),
    ]:
        with pytest.raises(ValueError, match=why):
            Localizer(**OPTIONS, categorical_features=[bad]).fit(X, y, f)


def test_dates_and_many_categories_are_left_out_with_a_warning():
    X, y, f = FIT
    odd = {
        "day": pandas.date_range("2013-01-01", periods=len(y)),
        "text_day": pandas.date_range("2013-01-01", periods=len(y)).astype(str),
        "id": [f"id {i}" for i in range(len(y))],
        "list": [[1]] * len(y),
        "none": [None] * len(y),
    }
    with pytest.warns(UserWarning) as caught:
        localizer = Localizer(**OPTIONS).fit(X.assign(**odd), y, f)
    found = [str(warning.message) for warning in caught]
    reasons = ["derive numbers", "derive numbers", "more than 1,000 categories", "neither", "no values"]
    for name, why in zip(odd, reasons, strict=True):
        assert any(f"left out the column {name!r}" in text and why in text for text in found), name
    assert localizer.features == ["x", "city", "floor"]
    with pytest.raises(ValueError, match="categorical_features: the column 'id' has more than 1,000 categories"):
        Localizer(**OPTIONS, categorical_features=["id"]).fit(X.assign(**odd), y, f)


@pytest.mark.parametrize("kind", ["trees", "estimator"])
def test_the_regressor_takes_categories(kind):
    from sklearn.dummy import DummyRegressor

    X, y, _ = FIT
    estimator = DummyRegressor() if kind == "estimator" else None
    model = WidthwiseRegressor(estimator, random_state=0, cv=2, **OPTIONS)
    model.fit(X, y)
    assert model.predictor_._model.categories[1] == sorted(CITIES, key=str.encode)
    _, one = model.predict_interval(TEST[0])
    _, other = pickle.loads(pickle.dumps(model)).predict_interval(TEST[0].astype({"city": "category"}))
    np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="75% of these rows were used to fit the model"):
        model.conformalize(X.astype({"city": "category"}), y)  # the rows that fitted it, in another form


def test_batches_of_clusters_give_the_same_bits():
    X, _, f = TEST
    expected = widths(fitted(), X, f)
    frame = X.assign(y_pred=f)
    for batch in (frame, pyarrow.RecordBatch.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        table = _batches._features(fitted()._model, batch)
        np.testing.assert_array_equal(table.to_matrix(), features_of(fitted()._model, X).to_matrix())
        _, intervals = fitted().predict_interval(batch if not isinstance(batch, pyarrow.RecordBatch) else frame, f)
        np.testing.assert_array_equal(intervals[:, 1, 0] - intervals[:, 0, 0], expected)


@pytest.mark.filterwarnings("ignore:column 'city'")
def test_onnx_gives_the_same_widths():
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import widthwise.onnx

    X, _, f = TEST
    X = X.assign(city=X["city"].where(np.arange(len(X)) % 7 != 0, "Paris"))
    proto = widthwise.onnx.export(fitted(), confidence_level=0.9)
    codes = features_of(fitted()._model, X).to_matrix().astype(np.float32)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    lower, upper = session.run(["lower", "upper"], {"x": codes, "prediction": f})
    np.testing.assert_allclose((upper - lower)[:, 0], widths(fitted(), X, f), rtol=1e-12)


def test_weak_categories_are_named_in_evaluations_and_pages():
    X, y, f = TEST
    harder = np.where(X["city"] == "Oslo", f + 40 * (y - f), y)
    found = fitted().evaluate(X, harder, f)
    place = found["levels"][0]["weak_places"]["found"][0]
    assert (place["kind"], place["where"]) == ("category", "city is 'Oslo'")
    assert "city is 'Oslo'" in found["verdict"]["headline"] and "city is 'Oslo'" in str(found)
    made = report(fitted(), X, harder, y_pred=f, by="city")
    assert "Coverage by city, the lowest first" in made.html and "city is &#x27;Oslo&#x27;" in made.html
    assert made.verdict == fitted().evaluate(X, harder, f, by="city")["verdict"]["headline"]


def test_a_column_of_any_kind_may_be_tested():
    X, y, f = TEST
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    numbers = X.drop(columns="city")
    half = len(X) // 2
    model.fit(numbers[:half], y[:half])
    test, outcomes = X[half:], y[half:]
    by_name = model.evaluate(test, outcomes, by="city")["levels"][0]["by"]
    assert by_name["column"] == "city"
    assert [bin_["label"] for bin_ in by_name["bins"]] == sorted(set(X["city"]))
    by_values = model.evaluate(numbers[half:], outcomes, by=list(test["city"]))["levels"][0]["by"]
    assert by_values == {**by_name, "column": "by"}
    flags = model.evaluate(numbers[half:], outcomes, by=test["city"] == "Oslo")["levels"][0]["by"]["bins"]
    assert [bin_["label"] for bin_ in flags] == ["false", "true"]
    with pytest.raises(ValueError, match="X has no column 'town'"):
        model.evaluate(test, outcomes, by="town")
    with pytest.raises(ValueError, match="by has 3"):
        model.evaluate(numbers[half:], outcomes, by=["a", "b", "c"])


def test_intervals_of_any_origin_are_searched_by_categories():
    X, y, f = TEST
    widths = np.where(X["city"] == "Oslo", 0.05, 20.0)
    intervals = np.stack([f - widths, f + widths], axis=1)
    found = evaluate_intervals(intervals, y, confidence_level=0.9, calibration_rows=1000, X=X, by="city")
    weak = [bin_["label"] for bin_ in found["levels"][0]["by"]["bins"] if bin_["weak"]]
    assert weak == ["Oslo"]


def test_the_document_shows_real_output():
    assert markdown.differences(Path(__file__).parents[2] / "docs/categories.md") == []


def test_labels_that_are_not_utf8_are_refused_with_their_row():
    """Such as those of a file that was read with errors="surrogateescape"; each would be an unseen category."""
    X, y, y_pred = FIT
    city = X["city"].astype(object)
    city.iloc[[3, 7]] = b"K\xf6ln".decode("utf-8", "surrogateescape")
    message = r"column 'city', row 4: the label 'K\\udcf6ln' is not valid UTF-8; read the text in its encoding"
    with pytest.raises(ValueError, match=message):
        Localizer(**OPTIONS).fit(X.assign(city=city), y, y_pred)
    with pytest.raises(ValueError, match=r"groups, row 4: the label 'K\\udcf6ln' is not valid UTF-8"):
        Calibration().add(y[:10], groups=city.tolist()[:10])
