"""Data sets: prepared tables, converted back to the form of the public files, are prepared to the same values."""

import io
import json
import urllib.request
import zipfile

import pytest

from experiments import data


def text_of(columns, rows):
    return "\n".join(",".join(row) for row in ([columns] if columns else []) + rows) + "\n"


def zipped(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def public_energy(table):
    return text_of(["X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "Y1", "Y2"], table.rows).encode()


def public_concrete(table):
    return ("\ufeff" + text_of([f"Component {i}" for i in range(9)], table.rows)).encode()


def public_homes(table):
    rows = [["7129300520", '"20141013T000000"', row[-1], *row[:-1]] for row in table.rows]
    return text_of(["id", "date", "price", *table.columns[:-1]], rows).encode()


def public_casp(table):
    columns = [column.upper() for column in table.columns]
    return zipped(**{"CASP.csv": text_of([columns[-1], *columns[:-1]], [[row[-1], *row[:-1]] for row in table.rows])})


def public_facebook(table):
    text = text_of(None, table.rows)
    return zipped(**{"Dataset/Testing/Features_TestSet.csv": "1\n", "Dataset/Training/Features_Variant_1.csv": text})


def public_bike(table):
    # Any date with this month and weekday works: the values do not depend on the day of the month.
    days = {}
    for year, month, day in ((y, m, d) for y in (2011, 2012) for m in range(1, 13) for d in range(1, 29)):
        days[month, year, data.datetime.date(year, month, day).weekday()] = day
    rows = []
    for hour, weekday, month, year, *middle, count in table.rows:
        day = days[int(month), int(year), int(weekday)]
        rows.append([f"{year}-{int(month):02}-{day:02} {int(hour):02}:00:00", *middle, "0", count, count])
    return text_of(["datetime", *table.columns[4:-1], "casual", "registered", "count"], rows).encode()


def public_community(table):
    rows = [["8", "?", "?", f"town {i}", "1", *row[:2], "?", *row[2:]] for i, row in enumerate(table.rows)]
    columns = [*data.COMMUNITY_IDENTIFIERS, *table.columns[:2], "PolicPerPop", *table.columns[2:]]
    names = "% about\n" + "".join(f"@attribute {column} numeric\n" for column in columns)
    return zipped(**{"communities.data": text_of(None, rows), "communities.names": names})


PUBLIC = {
    "energy": public_energy,
    "concrete": public_concrete,
    "homes": public_homes,
    "casp": public_casp,
    "facebook_1": public_facebook,
    "bike": public_bike,
    "community": public_community,
}


def prepared(name, data_folder):
    return data.read_csv((data_folder / data.FACTS[name]["file"]).read_text())


@pytest.fixture
def internet(monkeypatch):
    """Addresses with their contents: bytes, or an error."""
    pages = {}

    def urlopen(request, timeout):
        page = pages.get(request.full_url, urllib.error.URLError("no such host"))
        if isinstance(page, Exception):
            raise page
        return io.BytesIO(page)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return pages


@pytest.mark.parametrize("name", data.NAMES)
def test_a_public_file_is_prepared_to_the_values_of_the_experiments(name, data_folder, tmp_path, internet):
    internet[data.FACTS[name]["urls"][0]] = PUBLIC[name](prepared(name, data_folder))
    data.prepare(name, tmp_path)
    again = data.load(name, tmp_path)
    first = data.load(name, data_folder)
    assert again.features == first.features
    assert again.target == first.target == data.FACTS[name]["target"]
    assert (again.X == first.X).all() and (again.y == first.y).all()
    assert first.X.shape == (data.FACTS[name]["rows"], data.FACTS[name]["features"])


def test_the_facts_are_those_of_the_data(data_folder):
    given = json.loads((data_folder / "datasets.json").read_text())
    for name, facts in data.FACTS.items():
        about = given[name]
        assert {key: facts[key] for key in about if key != "sha256"} == {
            key: about[key] for key in about if key != "sha256"
        }
        assert all(url.startswith("https://") for url in facts["urls"])


def test_the_next_source_is_tried_when_one_fails_or_differs(data_folder, tmp_path, internet, monkeypatch):
    table = prepared("energy", data_folder)
    monkeypatch.setitem(data.FACTS, "energy", data.FACTS["energy"] | {"urls": ["https://a", "https://b", "https://c"]})
    changed = data.Table(table.columns, [["1.5", *row[1:]] for row in table.rows])
    internet["https://b"] = public_energy(changed)
    with pytest.raises(data.DataError, match="no source gave the data") as error:
        data.prepare("energy", tmp_path)
    assert "https://a: cannot download" in str(error.value)
    assert "https://b: energy: the values are not those of the experiments" in str(error.value)
    assert not list(tmp_path.iterdir())
    internet["https://c"] = public_energy(table)
    assert data.prepare("energy", tmp_path) == tmp_path / "energy.csv"


def test_the_command_writes_what_it_can_and_says_what_is_missing(data_folder, tmp_path, internet, capsys):
    internet[data.FACTS["energy"]["urls"][0]] = public_energy(prepared("energy", data_folder))
    assert data.main([str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "energy.csv: 768 rows, 9 features, checked" in said.out
    assert "cannot download" in said.err and "prepare_homes" in said.err
    assert list(json.loads((tmp_path / "datasets.json").read_text())) == ["energy"]
    assert data.load("energy", tmp_path).X.shape == (768, 9)


def test_loading_without_a_folder_names_the_variable_and_the_remedy(monkeypatch, tmp_path):
    monkeypatch.delenv("WIDTHWISE_DATA", raising=False)
    with pytest.raises(data.DataError, match="set WIDTHWISE_DATA .*python -m experiments.data FOLDER"):
        data.load("energy")
    monkeypatch.setenv("WIDTHWISE_DATA", str(tmp_path))
    with pytest.raises(data.DataError, match="energy.csv is missing; `python -m experiments.data"):
        data.load("energy")


def test_a_file_with_other_values_is_refused(data_folder, tmp_path):
    table = prepared("energy", data_folder)
    (tmp_path / "energy.csv").write_text(text_of(table.columns, [["9", *row[1:]] for row in table.rows]))
    with pytest.raises(data.DataError, match="energy: the values are not those"):
        data.load("energy", tmp_path)
    (tmp_path / "energy.csv").write_text(text_of(table.columns, table.rows[:-1]))
    with pytest.raises(data.DataError, match="767 rows of 9 features instead of 768 of 9"):
        data.load("energy", tmp_path)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"<html>", "not the archive expected"),
        (zipped(other="1"), "no CASP.csv in the archive, only other"),
        (zipped(**{"CASP.csv": "RMSD,F1\n1,2\n1\n"}), "row 2 has 1 cells instead of 2"),
        (zipped(**{"CASP.csv": "F1,F2\n1,2\n"}), "no column rmsd"),
    ],
)
def test_other_files_than_the_public_one_are_refused(content, message):
    with pytest.raises(data.DataError, match=message):
        data.prepare_casp(data.read_public("casp", content))


def test_values_are_hashed_with_six_digits():
    assert data.values_sha256([[1.0, 0.1234567], [2e7, -3]]) == (
        data.hashlib.sha256(b"1,0.123457\n2e+07,-3\n").hexdigest()
    )
