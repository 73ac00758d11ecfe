"""How tables are read: separators, markers of missing values, cells that are not numbers; and quantiles."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIT, make_table, read, write
from pyarrow import csv, parquet

USAGE, DATA = 2, 1


@pytest.fixture
def text(homes):
    """test.csv without quoted cells, as text."""
    table = make_table(300, 11).drop_columns(["city"])
    write(table, homes.folder / "plain.csv")
    return (homes.folder / "plain.csv").read_text().replace('"', "")


@pytest.mark.parametrize("separator, name", [(";", "semicolon"), ("\t", "tab"), ("|", "pipe"), (":", ":")])
def test_separators_are_guessed_or_given_and_kept(homes, text, separator, name):
    homes.ok("predict", "trees.safetensors", "plain.csv", "-o", "plain_out.csv")
    (homes.folder / "other.csv").write_text(text.replace(",", separator))
    given = ["--separator", name]
    homes.ok("predict", "trees.safetensors", "other.csv", "-o", "other_out.csv", *(given if separator == ":" else []))
    expected = (homes.folder / "plain_out.csv").read_text().replace('"', "").replace(",", separator)
    assert (homes.folder / "other_out.csv").read_text() == expected
    homes.ok("predict", "trees.safetensors", "other.csv", "-o", "again.csv", *given)
    assert (homes.folder / "again.csv").read_text() == expected


def test_a_separator_that_is_not_clear_is_asked_for(homes):
    (homes.folder / "unclear.csv").write_text("a;b|c\n1;2|3\n")
    message = homes.fails(DATA, "evaluate", "trees.safetensors", "unclear.csv")
    assert (
        "the header is 'a;b|c', and the separator of the rows is not clear; give it with the option separator"
        in message
    )
    assert "no columns " in homes.fails(DATA, "evaluate", "trees.safetensors", "unclear.csv", "--separator", "pipe")
    message = homes.fails(USAGE, "evaluate", "trees.safetensors", "unclear.csv", "--separator", "both")
    assert message.endswith("--separator: 'both' is not one character, nor comma, semicolon, tab or pipe")
    assert "cannot separate cells" in homes.fails(
        USAGE, "evaluate", "trees.safetensors", "plain.csv", "--separator", "1"
    )


def test_decimal_commas_are_an_error_with_the_reason(homes, text):
    (homes.folder / "comma.csv").write_text(text.replace(",", ";").replace(".", ","))
    for command in (
        ["fit", "comma.csv", *FIT[2:], "-o", "x.safetensors"],
        ["evaluate", "trees.safetensors", "comma.csv"],
    ):
        message = homes.fails(DATA, *command)
        assert "comma.csv: column '" in message and "decimal commas are not supported" in message


@pytest.fixture
def unreadable(homes):
    """b has a few cells that are not numbers, as CSV; without them it is clean.csv and clean.parquet."""
    table = make_table(400, 12)
    b = table["b"].to_pylist()
    clean = [None if i % 50 == 16 else value for i, value in enumerate(b)]
    write(table.set_column(1, "b", pa.array(clean)), homes.folder / "clean.csv")
    write(table.set_column(1, "b", pa.array(clean)), homes.folder / "clean.parquet")
    texts = [("?" if i % 100 == 16 else "-999") if value is None else repr(value) for i, value in enumerate(clean)]
    write(table.set_column(1, "b", pa.array(texts)), homes.folder / "unreadable.csv")
    return ["unreadable.csv", *FIT[2:], "--score-transform", "identity", "--exclude", "city"]


def test_few_cells_that_are_not_numbers_are_named(homes, unreadable):
    message = homes.fails(DATA, "fit", *unreadable, "-o", "x.safetensors")
    assert message == (
        "widthwise fit: unreadable.csv: column 'b', row 17: '?' is not a number, but most cells of the column are; "
        "correct it, count it as missing with --missing '?', or leave the column out with --exclude 'b'"
    )
    message = homes.fails(DATA, "predict", "homes.safetensors", "unreadable.csv", "-o", "x.csv")
    assert message == (
        "widthwise predict: unreadable.csv: column 'b', row 17: '?' is not a number; correct it, or count it as missing "
        "with the option missing (--missing '?')"
    )
    assert homes("fit", *unreadable, "--exclude", "b", "-o", "without_b.safetensors").code == 0


def test_markers_of_missing_values_give_the_same_features(homes, unreadable, tmp_path):
    """From CSV with markers, and from CSV and Parquet with empty cells."""
    markers = ["--missing", "?,-999"]
    features = {}
    for table, options in [("unreadable.csv", markers), ("clean.csv", []), ("clean.parquet", [])]:
        model = tmp_path / f"{table}.safetensors"
        homes.ok("fit", table, *unreadable[1:], *options, "-o", model)
        features[table] = homes.ok("inspect", model, "--json").json["features"]
        homes.ok("predict", model, table, "--columns", "a", *options, "-o", tmp_path / f"{table}.csv")
    assert features["unreadable.csv"] == features["clean.csv"] == features["clean.parquet"] == ["a", "b", "rooms"]
    tables = [read(tmp_path / f"{table}.csv") for table in features]
    assert tables[0].equals(tables[1]) and tables[1].equals(tables[2])
    # Columns of the output keep their cells.
    homes.ok("predict", tmp_path / "clean.csv.safetensors", "unreadable.csv", *markers, "-o", "kept.csv")
    assert read(homes.folder / "kept.csv")["b"].to_pylist()[16] == "?"


def test_csv_and_parquet_of_one_table_have_the_same_features(homes, tmp_path):
    """Types that a reader of CSV files infers: leading zeros, truth values, an empty column, integers and decimals."""
    table = make_table(400, 13).drop_columns(["city"])
    n = table.num_rows
    more = {
        "code": [f"{i % 7:03d}" for i in range(n)],
        "flag": ["true" if i % 3 else "false" for i in range(n)],
        "empty": [""] * n,
        "mixed": ["1" if i % 2 else "2.5" for i in range(n)],
    }
    for name, cells in more.items():
        table = table.append_column(name, [cells])
    csv.write_csv(table, tmp_path / "one.csv", csv.WriteOptions(quoting_style="none"))
    parquet.write_table(csv.read_csv(tmp_path / "one.csv"), tmp_path / "one.parquet")
    models = []
    for file in ("one.csv", "one.parquet"):
        fit = ["fit", tmp_path / file, *FIT[2:], "--score-transform", "identity"]
        homes.ok(*fit, "-o", tmp_path / "one.safetensors")
        homes.ok("predict", tmp_path / "one.safetensors", tmp_path / file, "--columns", "a", "-o", tmp_path / "out.csv")
        features = homes.ok("inspect", tmp_path / "one.safetensors", "--json").json["features"]
        models.append((features, read(tmp_path / "out.csv").num_rows))
    assert models[0] == models[1] == (["a", "b", "rooms", *more], n)


# ---- quantiles


def test_quantiles_are_one_sided_bounds(homes):
    summary = homes.ok("predict", "homes.safetensors", "test.csv", "--quantile", "0.05,0.95", "-o", "q.csv").out
    assert summary == "q.csv: 4,000 rows, with quantile_0.05 and quantile_0.95.\n"
    table = {name: np.array(values) for name, values in read(homes.folder / "q.csv").to_pydict().items()}
    assert list(table)[-2:] == ["quantile_0.05", "quantile_0.95"]
    assert np.all(table["quantile_0.05"] <= table["quantile_0.95"])
    for below in (table["price"] <= table["quantile_0.95"], table["price"] >= table["quantile_0.05"]):
        # 750 calibration and 4000 test rows: six standard deviations.
        assert abs(np.mean(below) - 0.95) < 6 * np.sqrt(0.05 * 0.95 * (1 / 750 + 1 / 4000))


def test_quantiles_may_be_written_with_intervals(homes):
    arguments = ["trees.safetensors", "test.csv", "--level", "0.8", "--quantile", "0.5", "--columns", "a"]
    report = homes.ok("predict", *arguments, "-o", "both.csv", "--json").json
    assert report["added"] == ["prediction", "lower_0.8", "upper_0.8", "quantile_0.5"]
    assert report["infinite_quantiles"] == {"0.5": 0}
    alone = homes.ok("predict", *arguments[:2], "--level", "0.8", "--columns", "a", "-o", "alone.csv", "--json").json
    assert "infinite_quantiles" not in alone
    both = read(homes.folder / "both.csv")
    assert both.select(both.column_names[:-1]).equals(read(homes.folder / "alone.csv"))


def test_a_quantile_that_needs_more_rows_is_a_warning_that_says_how_many(homes):
    done = homes("predict", "homes.safetensors", "test.csv", "--quantile", "0.999", "--quantile=0.001", "-o", "far.csv")
    assert done.code == 0
    need = "is infinite in 4,000 rows: it needs 999 calibration rows, the model has 750; add rows with"
    assert f"quantile 0.999 {need}" in done.err and f"quantile 0.001 {need}" in done.err
    table = read(homes.folder / "far.csv")
    assert set(table["quantile_0.999"].to_pylist()) == {np.inf}
    assert set(table["quantile_0.001"].to_pylist()) == {-np.inf}


def test_a_quantile_is_a_probability(homes):
    message = homes.fails(USAGE, "predict", "homes.safetensors", "test.csv", "--quantile", "95", "-o", "x.csv")
    assert message.endswith("--quantile: '95' is not a number between 0 and 1, such as 0.9; did you mean 0.95?")


def test_a_quote_that_swallows_rows_is_a_warning(homes):
    """It is closed 40 rows later, so that the file is valid."""
    rows = [f"0.1,0.5,2,Oslo,0.3,{i % 7}" for i in range(100)]
    rows[10] = '0.1,0.5,2,"Oslo,0.3,3'
    rows[50] = '0.1,0.5,2,Oslo",0.3,3'
    (homes.folder / "swallowed.csv").write_text("\n".join(["a,b,rooms,city,forecast,price", *rows]) + "\n")
    words = "row 11, column 'city': the quoted cell contains 40 line breaks; if rows are missing, correct the quote in "
    for command in (["predict"], ["evaluate"], ["calibrate"]):
        out = [] if command == ["evaluate"] else ["-o", "out.safetensors" if command == ["calibrate"] else "out.csv"]
        done = homes(*command, "homes.safetensors", "swallowed.csv", *out)
        assert done.code == 0, done
        assert done.err.count(f"warning: swallowed.csv: {words}line 12\n") == 1
