"""Labels of categorical features that a model does not know: warnings, errors and counts on the command line."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, write

SOME = (
    "{}: column 'city': 40 of 200 values are categories that the model does not know, such as 'oslo' (did you mean "
    "'Oslo'?); "
)
NONE = "{}: column 'city': none of 200 values is a category that the model knows: the labels are 'oslo' (did you mean"


def make_homes(rows, seed, unknown=0):
    """The last ten cities are missing."""
    random = np.random.default_rng(seed)
    city = np.array(["Oslo", "Bergen", "Voss"], dtype=object)[random.integers(0, 3, rows)]
    city[:unknown] = "oslo"
    city[rows - 10 :] = None
    x = random.normal(size=rows)
    return pa.table({"x": x, "city": pa.array(city, pa.string()), "f": x, "y": x + random.normal(size=rows)})


@pytest.fixture(scope="module")
def homes(tables):
    folder = tables / "unknown"
    folder.mkdir()
    write(make_homes(500, 1), folder / "train.csv")
    for name, unknown in [("some", 40), ("none", 200)]:
        table = make_homes(210, 2, unknown)
        write(table, folder / f"{name}.csv")
        write(table, folder / f"{name}.parquet")
        write(table.set_column(1, "city", table["city"].dictionary_encode()), folder / f"{name}_dictionary.parquet")
        write(table.drop_columns(["y"]), folder / f"{name}_new.csv")
    program = Program(folder)
    program.ok("fit", "train.csv", "--target", "y", "--prediction", "f", "--score-transform", "identity", "-o",
               "model.safetensors")  # fmt: skip
    return program


USES = {
    "predict": ["predict", "model.safetensors", "{}", "-o", "out.csv"],
    "evaluate": ["evaluate", "model.safetensors", "{}"],
    "report": ["report", "model.safetensors", "{}", "-o", "page.html"],
    "calibrate": ["calibrate", "model.safetensors", "{}", "-o", "more.safetensors"],
    "emit": ["calibrate", "model.safetensors", "{}", "--emit", "shard.safetensors"],
}


@pytest.mark.parametrize("use", USES)
def test_every_command_warns_once_of_some_and_refuses_a_column_without_known_labels(homes, use):
    done = homes(*[part.format("some.csv") for part in USES[use]])
    assert done.code == 0, done
    assert done.err.startswith(f"widthwise {USES[use][0]}: warning: {SOME.format('some.csv')}"), done
    assert done.err.count("\n") == 1
    before = {file.name for file in homes.folder.iterdir()}
    written = {file: (homes.folder / file).read_bytes() for file in before if file.endswith(("safetensors", "html"))}
    assert NONE.format("none.csv") in homes.fails(1, *[part.format("none.csv") for part in USES[use]])
    assert {file.name for file in homes.folder.iterdir()} == before
    assert all((homes.folder / file).read_bytes() == bytes_ for file, bytes_ in written.items())


@pytest.mark.parametrize("table", ["some.csv", "none.csv"])
def test_streams_warn_because_they_may_reach_a_new_category(homes, table):
    done = homes("track", "model.safetensors", table, "-o", "tracked.csv", "--save", "tracked.safetensors")
    assert done.code == 0, done
    assert done.err.startswith(f"widthwise track: warning: {table}: column 'city': "), done
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("table", ["some.csv", "some.parquet", "some_dictionary.parquet"])
def test_every_format_is_counted(homes, table):
    done = homes("predict", "model.safetensors", table, "-o", "out.csv", "--json")
    assert done.err.startswith(f"widthwise predict: warning: {SOME.format(table)}"), done
    (city,) = done.json["unknown_categories"]
    assert (city["feature"], city["values"], city["unknown"]) == ("city", 200, 40)
    assert city["labels"] == [{"label": "oslo", "similar": "Oslo"}]
    assert NONE.format(table.replace("some", "none")) in homes.fails(
        1, "predict", "model.safetensors", table.replace("some", "none"), "-o", "out.csv"
    )


def test_evaluate_shows_unknown_categories_before_the_verdict(homes):
    done = homes("evaluate", "model.safetensors", "some.csv")
    text = " ".join(done.out.split())
    assert text.startswith("some.csv: 210 rows Note: column 'city': 40 of 200 values are categories"), text
    found = homes("evaluate", "model.safetensors", "some.csv", "--json").json
    assert found["unknown_categories"][0]["unknown"] == 40
    homes("report", "model.safetensors", "some.csv", "-o", "page.html")
    page = (homes.folder / "page.html").read_text()
    assert page.index("40 of 200 values") < page.index('<div class="verdict')


def test_a_single_unknown_value_is_a_warning(homes):
    write(make_homes(210, 2, 40).slice(0, 1), homes.folder / "one.csv")
    done = homes("predict", "model.safetensors", "one.csv", "-o", "out.csv")
    assert done.code == 0
    assert "1 of 1 value is a category that the model does not know" in done.err


def test_known_and_missing_labels_are_silent(homes):
    write(make_homes(210, 2), homes.folder / "known.csv")
    done = homes.ok("predict", "model.safetensors", "known.csv", "-o", "out.csv", "--json")
    assert done.json["unknown_categories"] == []


def test_rows_of_the_population_to_predict_are_checked(homes):
    fit = ["fit", "train.csv", "--target", "y", "--prediction", "f", "--score-transform", "identity"]
    err = homes.fails(1, *fit, "--shift-to", "none_new.csv", "-o", "shifted.safetensors")
    assert NONE.format("none_new.csv") in err
    done = homes(*fit, "--shift-to", "some_new.csv", "-o", "shifted.safetensors")
    assert SOME.format("some_new.csv") in done.err, done
