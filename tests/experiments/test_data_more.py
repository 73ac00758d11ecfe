"""The second and the third collection: facts, categories, samples and refused files."""

import gzip
import hashlib
import json

import numpy as np
import pytest

from experiments import data, data_more
from experiments.data import DataError


@pytest.mark.parametrize("collection", data_more.COLLECTIONS)
def test_the_facts_are_those_of_the_data(data_folder, collection):
    given = data_folder / data_more.FOLDERS[collection] / "datasets.json"
    if not given.exists():
        pytest.skip(f"WIDTHWISE_DATA has no {collection} collection")
    assert json.loads(given.read_text()) == data_more.COLLECTIONS[collection]


def test_no_data_set_is_both_untouched_and_a_demonstration():
    assert len(data_more.names("untouched", "second")) == 19 and len(data_more.names("untouched", "third")) == 16
    assert len(data_more.names("untouched")) == 35 and len(data_more.names("demonstration")) == 7
    assert len(data_more.FACTS) == 42  # no name is in two collections
    assert data_more.names("demonstration", "third") == []
    assert not set(data_more.FACTS) & set(data.FACTS)


@pytest.mark.parametrize("name", data_more.names("untouched", "third"))
def test_the_third_collection_is_read(data_folder, name):
    if not (data_folder / data_more.FOLDERS["third"]).exists():
        pytest.skip("WIDTHWISE_DATA has no third collection")
    facts, found = data_more.FACTS[name], data_more.load(name)
    assert found.X.shape == (data_more.rows(name), facts["features"]) and found.y.shape == (len(found.X),)
    assert found.X.dtype == found.y.dtype == np.float64
    assert not set(facts["exclude"]) & set(found.features) and set(facts["categories"]) <= set(found.features)


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Write a data set with these lines and facts, and return its folder."""

    def write(text, file="made_up.csv", **facts):
        content = gzip.compress(text.encode()) if file.endswith(".gz") else text.encode()
        (tmp_path / file).write_bytes(content)
        header, *rows = text.splitlines()
        about = {
            "file": file,
            "target": "y",
            "rows": len(rows),
            "features": len(header.split(",")) - 1,
            "categories": [],
            "exclude": [],
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        monkeypatch.setitem(data_more.FACTS, "made_up", about | facts)
        return tmp_path

    return write


def test_categories_are_numbered_by_their_sorted_labels_and_excluded_columns_dropped(made_up):
    folder = made_up(
        'when,kind,a,y\nmon,red,1.5,1\ntue,"blue, dark",2,2\nwed,red,3,4\n',
        "made_up.csv.gz",
        categories=["kind"],
        exclude=["when"],
        features=2,
    )
    found = data_more.load("made_up", folder)
    assert found.features == ["kind", "a"]
    assert found.X.tolist() == [[1, 1.5], [0, 2], [1, 3]] and found.y.tolist() == [1, 2, 4]


def test_large_data_sets_are_sampled_in_the_same_way_every_time(made_up, monkeypatch):
    monkeypatch.setattr(data_more, "MAX_ROWS", 20)
    folder = made_up("a,y\n" + "".join(f"{row},{row}\n" for row in range(100)))
    first, again = data_more.load("made_up", folder), data_more.load("made_up", folder)
    assert len(first.y) == data_more.rows("made_up") == 20
    assert (np.diff(first.y) > 0).all() and (first.y == again.y).all() and (first.X[:, 0] == first.y).all()


def test_data_sets_are_read_from_the_folder_of_their_collection(made_up, monkeypatch):
    folder = made_up("a,y\n1,2\n")
    (folder / "third").mkdir()
    (folder / "made_up.csv").rename(folder / "third" / "made_up.csv")
    monkeypatch.setitem(data_more.COLLECTIONS["third"], "made_up", data_more.FACTS["made_up"])
    monkeypatch.setenv("WIDTHWISE_DATA", str(folder))
    assert data_more.collection_of("made_up") == "third"
    assert data_more.load("made_up").y.tolist() == [2]


def test_files_with_other_contents_are_refused(made_up, monkeypatch):
    with pytest.raises(DataError, match="the contents are not those"):
        data_more.load("made_up", made_up("a,y\n1,2\n", sha256="0"))
    with pytest.raises(DataError, match="expected 2 rows, with the target y"):
        data_more.load("made_up", made_up("a,y\n1,2\n", rows=2))
    with pytest.raises(DataError, match="expected 1 features without missing values"):
        data_more.load("made_up", made_up("a,y\nnan,2\n"))
    with pytest.raises(DataError, match="made_up.csv is missing"):
        data_more.load("made_up", made_up("a,y\n1,2\n") / "nowhere")
    monkeypatch.delenv("WIDTHWISE_DATA", raising=False)
    with pytest.raises(DataError, match="set WIDTHWISE_DATA"):
        data_more.load("made_up")
