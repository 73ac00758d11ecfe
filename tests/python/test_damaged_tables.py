"""Damaged Arrow tables are errors: offsets, views, indices and lengths that point outside the data."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from pyarrow import feather
from sklearn.dummy import DummyRegressor

from widthwise import Localizer, Predictor, WidthwiseRegressor, _batches

ROWS = 60
CITIES = ["Oslo", "Bergen", "Voss"]
LONG = [city + " in the county of Vestland" for city in CITIES]  # too long for a view itself
FAR = 1 << 28
INT8 = pa.int8()
CHANGES = []


def cities(labels):
    return [labels[i % 3] for i in range(ROWS)]


def numbers(seed):
    return np.random.default_rng(seed).normal(size=ROWS)


def table(city):
    return pa.table({"x": pa.array(numbers(1)), "city": city})


@functools.cache
def fitted():
    model = WidthwiseRegressor(DummyRegressor(), score_transform="identity", random_state=0, n_jobs=1, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(pandas.DataFrame({"x": numbers(1), "city": cities(CITIES)}), numbers(2))


@functools.cache
def predictor():
    localizer = Localizer(score_transform="identity", n_jobs=1)
    X = pandas.DataFrame({"x": numbers(1), "city": cities(CITIES)})
    localizer.fit(X, numbers(2), numbers(1))
    return Predictor(localizer, localizer.calibrate(X, numbers(3), numbers(1)))


def changed(array, buffer, place, value, dtype):
    """A copy of the array, of which `damaged` changes one number of a buffer."""
    buffers = array.buffers()
    values = np.frombuffer(buffers[buffer], dtype).copy()
    buffers[buffer] = pa.py_buffer(values)
    CHANGES.append((values, place, value))
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count)


def damaged(make, use=None):
    """What `use` makes of an array, damaged afterwards, because pyarrow checks some of what it is given."""
    made = (use or table)(make())
    while CHANGES:
        values, place, value = CHANGES.pop()
        values[place] = value
    return made


def text_of(kind, place, value):
    dtype = np.int64 if kind == pa.large_string() else np.int32
    return changed(pa.array(cities(CITIES), kind), 1, place, value, dtype)


def view_of(place, value):
    return changed(pa.array(cities(LONG), pa.string_view()), 1, place, value, np.int32)


def dictionary_of(place, value, indices=INT8):
    good = pa.array(cities(CITIES)).cast(pa.dictionary(indices, pa.string()))
    bad = changed(good.indices, 1, place, value, indices.to_pandas_dtype())
    return pa.DictionaryArray.from_arrays(bad, good.dictionary, safe=False)


def dictionary_with(values):
    indices = pa.array([i % 3 for i in range(ROWS)], pa.int8())
    return pa.DictionaryArray.from_arrays(indices, values, safe=False)


# What pyarrow and what the checks of C++ say. The size of a buffer is known to pyarrow alone.
DAMAGED = {
    "text that ends far away": (lambda: text_of(pa.string(), ROWS, FAR), None),
    "decreasing offsets": (lambda: text_of(pa.string(), 7, 0), "the text of row 7 ends at byte 0, before its start"),
    "a negative offset": (lambda: text_of(pa.string(), 0, -FAR), "the text of row 1 begins at byte -"),
    "an offset in between": (lambda: text_of(pa.string(), 9, FAR), "the text of row 10 ends at byte"),
    "large text": (lambda: text_of(pa.large_string(), 9, 1 << 40), "the text of row 10 ends at byte"),
    "large text, negative": (lambda: text_of(pa.large_string(), 9, -1), "the text of row 9 ends at byte -1"),
    "a view of another buffer": (lambda: view_of(4 * 5 + 2, 3), "row 6 refers to text buffer 3 of 1"),
    "a view of a negative buffer": (lambda: view_of(4 * 5 + 2, -1), "row 6 refers to text buffer -1 of 1"),
    "a view behind its buffer": (lambda: view_of(4 * 5 + 3, FAR), "the text of row 6 ends at byte"),
    "a view of negative length": (lambda: view_of(4 * 5, -2), "the text of row 6 has -2 bytes"),
    "a long view": (lambda: view_of(4 * 5, FAR), "the text of row 6 ends at byte"),
    "an index too large": (lambda: dictionary_of(4, 3), "row 5 has the index 3, but the dictionary has 3 values"),
    "a negative index": (lambda: dictionary_of(4, -1), "row 5 has the index -1"),
    "an unsigned index": (lambda: dictionary_of(4, 2**32 - 1, pa.uint32()), "row 5 has the index 4294967295"),
    "damaged values": (lambda: dictionary_with(text_of(pa.string(), 1, FAR)), "dictionary: the text of row 2 ends"),
}


class Foreign:
    """A table of a library that is not pyarrow."""

    def __init__(self, content):
        self._content = content

    def __arrow_c_stream__(self, requested_schema=None):
        return self._content.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("damage", DAMAGED)
def test_pyarrow_validates_its_own_tables(damage):
    X = damaged(DAMAGED[damage][0])
    expected = "column 'city': invalid Arrow data: .*; read or create the table again"
    batch = X.to_batches()[0]
    for form in (X, batch, pa.RecordBatchReader.from_batches(X.schema, [batch])):
        with pytest.raises(ValueError, match=expected):
            predictor().predict_interval(form, numbers(1))
    with pytest.raises(ValueError, match=expected):
        fitted().predict_interval(X)
    with pytest.raises(ValueError, match=expected):
        Localizer(n_jobs=1).fit(X, numbers(2), numbers(1))
    model = predictor()._model
    with pytest.raises(ValueError, match=expected):
        _batches.Intervals.of(predictor(), 0.9, None).columns(model, X.append_column("prediction", X["x"]))


@pytest.mark.parametrize("damage", [name for name, (_, words) in DAMAGED.items() if words])
def test_tables_of_other_libraries_are_checked_when_they_are_borrowed(damage):
    make, expected = DAMAGED[damage]
    with pytest.raises(ValueError, match=rf"invalid Arrow data: column 'city'.*{expected}.*; create the table again"):
        predictor().predict_interval(Foreign(damaged(make)), numbers(1))


def test_columns_given_by_themselves_are_validated():
    X = table(pa.array(cities(CITIES)))
    for make in (lambda: text_of(pa.string(), 9, FAR), lambda: dictionary_of(4, 100)):
        for column in (damaged(make, lambda bad: bad), damaged(make, lambda bad: pa.chunked_array([bad]))):
            for argument in ("groups", "clusters", "time"):
                with pytest.raises(ValueError, match=f"{argument}: invalid Arrow data"):
                    WidthwiseRegressor(DummyRegressor(), n_jobs=1).fit(X, numbers(2), **{argument: column})


def test_columns_of_pandas_in_arrows_memory_are_validated():
    for make in (lambda: text_of(pa.string(), 9, FAR), lambda: dictionary_of(4, 100)):
        column = damaged(make, lambda bad: pandas.arrays.ArrowExtensionArray(pa.chunked_array([bad])))
        frame = pandas.DataFrame({"x": numbers(1), "city": pandas.Series(column)})
        with pytest.raises(ValueError, match="column 'city': invalid Arrow data"):
            predictor().predict_interval(frame, numbers(1))
        with pytest.raises(ValueError, match="column 'city': invalid Arrow data"):
            fitted().predict_interval(frame)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_a_changed_number_in_a_feather_file_is_an_error(tmp_path, kind):
    file = tmp_path / "rows.feather"
    good = pa.array(cities(CITIES)).cast(kind)
    feather.write_feather(table(good), file, compression="uncompressed")
    data = bytearray(file.read_bytes())
    stored = np.frombuffer((good.indices if pa.types.is_dictionary(kind) else good).buffers()[1], "V1").tobytes()
    width = 8 if kind == pa.large_string() else 4
    place = data.find(stored[: width * 20]) + 5 * width
    for value in (FAR, -FAR):
        data[place : place + width] = int(value).to_bytes(width, "little", signed=True)
        file.write_bytes(data)
        with pytest.raises(ValueError, match="column 'city': invalid Arrow data"):
            predictor().predict_interval(feather.read_table(file, memory_map=False), numbers(1))


@pytest.mark.parametrize("form", [pa.table, Foreign, polars.from_arrow])
def test_valid_tables_are_read_as_before(form):
    expected = predictor().predict_interval(pandas.DataFrame({"x": numbers(1), "city": cities(CITIES)}), numbers(1))[1]
    good = pa.array(cities(CITIES))
    for city in (good, good.cast(pa.large_string()), good.cast(pa.string_view()), good.dictionary_encode()):
        whole = pa.concat_tables([table(city), table(city)])
        for rows in (table(city), whole.slice(ROWS), pa.table(whole.slice(ROWS).to_batches()[0].to_pydict())):
            rows = rows.append_column("unused", pa.array([[1]] * ROWS))
            np.testing.assert_array_equal(predictor().predict_interval(form(rows), numbers(1))[1], expected)
    no_rows = table(good).slice(0, 0)
    assert len(predictor().predict_interval(form(no_rows), np.empty(0))[1]) == 0
