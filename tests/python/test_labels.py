"""Labels of columns: the same from every library."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from widthwise import _core, _tables

TEXTS = ["UA", None, "AA", "a label of more than twelve bytes", "UA", "ä", "", "NA", " b", "True", "7", "7.0", "007"]
LABELS = sorted({"UA", "AA", "a label of more than twelve bytes", "ä", " b", "true", "7", "007"}, key=str.encode)
CODES = [LABELS.index(label) if label in LABELS else -1 for label in TEXTS]
CODES[9] = LABELS.index("true")
CODES[11] = LABELS.index("7")

FRAMES = {
    "objects": lambda: pandas.DataFrame({"a": pandas.Series(TEXTS, dtype=object)}),
    "str": lambda: pandas.DataFrame({"a": pandas.Series(TEXTS, dtype="str")}),
    "string": lambda: pandas.DataFrame({"a": pandas.Series(TEXTS, dtype="string")}),
    "category": lambda: pandas.DataFrame({"a": pandas.Series(TEXTS, dtype="category").cat.add_categories("unused")}),
    "arrow in pandas": lambda: pandas.DataFrame({"a": pandas.Series(TEXTS, dtype=pandas.ArrowDtype(pyarrow.string()))}),
    "arrow": lambda: pyarrow.table({"a": pyarrow.array(TEXTS)}),
    "large arrow": lambda: pyarrow.table({"a": pyarrow.array(TEXTS, pyarrow.large_string())}),
    "arrow views": lambda: pyarrow.table({"a": pyarrow.array(TEXTS, pyarrow.string_view())}),
    "arrow dictionary": lambda: pyarrow.table({"a": pyarrow.array(TEXTS).dictionary_encode()}),
    "arrow in chunks": lambda: pyarrow.table(
        {"a": pyarrow.chunked_array([TEXTS[:5], [], TEXTS[5:]], pyarrow.string())}
    ),
    "arrow sliced": lambda: pyarrow.table({"a": pyarrow.array(["x", *TEXTS, "y"])}).slice(1, len(TEXTS)),
    "polars": lambda: polars.DataFrame({"a": TEXTS}),
    "polars categorical": lambda: polars.DataFrame({"a": polars.Series(TEXTS, dtype=polars.Categorical)}),
}


def codes_in(table: _core.Table, labels: list[str]) -> list[float]:
    codes = table.select([0], [labels]).to_matrix()[:, 0]
    return [-1 if np.isnan(code) else code for code in codes]


@pytest.mark.parametrize("name", FRAMES)
def test_are_the_same_from_every_library(name):
    table, _ = _tables.read(FRAMES[name]())
    assert table.kind(0) == "text"
    assert table.labels(0, 1000) == LABELS
    assert codes_in(table, LABELS) == CODES
    assert codes_in(table, ["AA"]) == [0 if text == "AA" else -1 for text in TEXTS]  # others are unknown
    assert len(table.labels(0, 2)) == 3  # one more than the maximum


@pytest.mark.parametrize("name", ["objects", "category", "arrow", "polars"])
def test_of_a_column_by_itself(name):
    column = FRAMES[name]()["a"]
    codes, labels = _tables.labels(column, "groups")
    assert labels == LABELS
    assert codes.tolist() == CODES


def test_of_arrays_and_lists():
    for values in (TEXTS, np.array(TEXTS, dtype=object)):
        codes, labels = _tables.labels(values, "groups", len(TEXTS))
        assert (codes.tolist(), labels) == (CODES, LABELS)
    codes, labels = _tables.labels(np.array(["b", "a", "b"]), "groups")
    assert (codes.tolist(), labels) == ([1, 0, 1], ["a", "b"])
    codes, labels = _tables.labels([None, None], "groups")
    assert (codes.tolist(), labels) == ([-1, -1], [])


def test_of_integers_and_booleans():
    for values in ([7, -12, 7], np.array([7, -12, 7], np.int8), np.array([7.0, -12, 7])):
        codes, labels = _tables.labels(values, "groups")
        assert (codes.tolist(), labels) == ([1, 0, 1], ["-12", "7"])
    for values in ([True, False], np.array([True, False]), pyarrow.chunked_array([[True, False]])):
        codes, labels = _tables.labels(values, "groups")
        assert (codes.tolist(), labels) == ([1, 0], ["false", "true"])
    large = np.array([2**63 - 1, 2**63 - 2])
    assert _tables.labels(large, "groups")[1] == ["9223372036854775806", "9223372036854775807"]
    frame = pandas.DataFrame({"a": pandas.Categorical([7, 12, 7])})
    assert _tables.read(frame)[0].labels(0, 10) == ["12", "7"]
    missing, labels = _tables.labels(np.array([1.0, np.nan]), "groups")
    assert (missing.tolist(), labels) == ([0, -1], ["1"])


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="column 'groups' holds 2.5, which is not an integer"):
        _tables.labels(np.array([2.5]), "groups")
    with pytest.raises(ValueError, match=r"groups\[0\] is 2.5; expected text, booleans or integers"):
        _tables.labels([2.5], "groups")
    with pytest.raises(ValueError, match=r"groups\[1\] is \(1,\); expected text, booleans or integers"):
        _tables.labels(["a", (1,)], "groups")
    with pytest.raises(ValueError, match="groups holds dates"):
        _tables.labels(np.array(["2013-01-01"], "M8[D]"), "groups")
    with pytest.raises(ValueError, match="X has 3 rows, groups has 1"):
        _tables.labels(["a"], "groups", 3)


def test_kinds_of_columns():
    day = datetime.date(2013, 1, 31)
    columns = {"number": [1.5], "text": ["a"], "time": [np.datetime64("2013-01-31", "s")], "other": [[1]]}
    for frame in (pandas.DataFrame(columns), pyarrow.table({**columns, "other": [[1]]})):
        table, _ = _tables.read(frame)
        assert [table.kind(j) for j in range(4)] == list(columns)
    for values in ([day], [decimal.Decimal(1)], [1, None]):
        table, _ = _tables.read(pandas.DataFrame({"a": pandas.Series(values, dtype=object)}))
        assert table.kind(0) == "other"
    assert _tables.read(polars.DataFrame({"a": [day]}))[0].kind(0) == "time"
    with pytest.raises(ValueError, match="column 'a' holds no labels; .*; derive numbers from dates"):
        _tables.read(polars.DataFrame({"a": [day]}))[0].labels(0, 10)


def test_text_that_is_not_asked_for_is_not_read():
    frame = pandas.DataFrame({"a": ["x"], "b": ["y"]})
    table, _ = _tables.read(frame, {"b"})
    assert [table.kind(0), table.kind(1)] == ["other", "text"]
