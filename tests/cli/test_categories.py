"""Categorical features on the command line: read from any format, fitted, kept in the model, and used again."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write
from programs import fit_with_workers
from pyarrow import parquet

CARRIERS = ["9E", "AA", "B6", "Ünïted", "NK, Inc."]
ERROR = {"9E": 0.2, "AA": 3.0, "B6": 0.4, "Ünïted": 2.0, "NK, Inc.": 0.1}
QUICK = ["--threads", "2", "--localizer-options", "max_rounds=60"]


def make_flights(rows, seed):
    """Errors of the forecast depend on the carrier alone."""
    random = np.random.default_rng(seed)
    carrier = np.array(CARRIERS)[random.integers(0, len(CARRIERS), rows)]
    x = random.normal(size=rows)
    delay = x + np.array([ERROR[one] for one in carrier]) * random.normal(size=rows)
    columns = {"x": x, "carrier": pa.array(carrier, mask=random.random(rows) < 0.05)}
    return pa.table({**columns, "gate": random.integers(1, 9, rows), "forecast": x, "delay": delay})


@pytest.fixture(scope="module")
def flights(tables):
    folder = tables / "flights"
    folder.mkdir()
    program = Program(folder)
    for name, rows, seed in [("train", 4000, 1), ("fresh", 2000, 2), ("test", 1000, 3)]:
        table = make_flights(rows, seed)
        write(table, folder / f"{name}.csv")
        write(table, folder / f"{name}.parquet")
        place = table.schema.get_field_index("carrier")
        write(
            table.set_column(place, "carrier", table["carrier"].dictionary_encode()),
            folder / f"{name}_dictionary.parquet",
        )
    fitted = program(*fit("train.csv"), "-o", "model.safetensors")
    assert (fitted.code, fitted.err) == (0, ""), fitted
    return program


def fit(table, *more):
    return ["fit", table, "--target", "delay", "--prediction", "forecast", *QUICK, *more]


def widths(table):
    return table["upper_0.9"].to_numpy() - table["lower_0.9"].to_numpy()


def test_widths_depend_on_the_category(flights):
    flights.ok("predict", "model.safetensors", "test.parquet", "-o", "out.parquet")
    out = read(flights.folder / "out.parquet")
    carrier = np.array(out["carrier"].to_pylist(), dtype=object)
    mean = {one: widths(out)[carrier == one].mean() for one in CARRIERS}
    assert mean["AA"] > 3 * mean["B6"] and mean["Ünïted"] > 3 * mean["9E"]
    shown = flights.ok("inspect", "model.safetensors").out
    assert "categories        carrier (5)" in shown
    report = flights.ok("inspect", "model.safetensors", "--json").json
    assert report["categories"] == {"carrier": sorted(CARRIERS, key=str.encode)}
    assert report["features"] == ["x", "carrier", "gate"]


def test_every_format_gives_the_same_bits(flights):
    found = []
    for table in ("test.csv", "test.parquet", "test_dictionary.parquet"):
        flights.ok("predict", "model.safetensors", table, "-o", "out.parquet")
        found.append(widths(read(flights.folder / "out.parquet")).tobytes())
        evaluated = flights("evaluate", "model.safetensors", table, "--json").json
        assert 0.85 < evaluated["levels"][0]["coverage"]["share"] < 0.95
    assert len(set(found)) == 1


def test_python_gives_the_same_bits(flights):
    widthwise = pytest.importorskip("widthwise")
    flights.ok("predict", "model.safetensors", "test.csv", "-o", "out.parquet")
    expected = widths(read(flights.folder / "out.parquet"))
    table = read(flights.folder / "test.parquet")
    predictor = widthwise.Predictor.load(flights.folder / "model.safetensors")
    for frame in (table, table.to_pandas(), table.to_pandas().astype({"carrier": "category"})):
        _, intervals = predictor.predict_interval(frame, table["forecast"].to_numpy())
        assert (intervals[:, 1, 0] - intervals[:, 0, 0] == expected).all()


def test_unseen_categories_are_missing_values(flights):
    table = make_flights(200, 5)
    place = table.schema.get_field_index("carrier")
    for name, value in [("null", None), ("unseen", "XX"), ("NA", "NA")]:
        values = ["AA"] + [value] * 199  # a column without any known label is an error
        changed = table.set_column(place, "carrier", pa.array(values, pa.string()))
        write(changed, flights.folder / f"{name}.parquet")
        assert flights("predict", "model.safetensors", f"{name}.parquet", "-o", f"{name}_out.parquet").code == 0
    found = [widths(read(flights.folder / f"{name}_out.parquet")).tobytes() for name in ("null", "unseen", "NA")]
    assert len(set(found)) == 1


def test_rows_that_calibrated_are_found_in_any_format(flights):
    flights.ok("calibrate", "model.safetensors", "fresh.csv", "-o", "more.safetensors")
    for again in ("fresh.csv", "fresh.parquet", "fresh_dictionary.parquet"):
        assert "already" in flights.fails(1, "calibrate", "more.safetensors", again, "-o", "twice.safetensors")
    flights.ok("track", "model.safetensors", "fresh.csv", "-o", "tracked.csv")


def test_the_base_model_takes_categories(flights):
    done = flights(*["fit", "train.parquet", "--target", "delay", "--base", "trees", "--exclude", "forecast"], *QUICK,
                   "--base-options", "rounds=30", "-o", "base.safetensors")  # fmt: skip
    assert (done.code, done.err) == (0, ""), done
    assert "carrier (5)" in flights.ok("inspect", "base.safetensors").out


def test_integers_and_booleans_are_categories_by_name(flights):
    flights.ok(*fit("train.csv", "--categorical", "gate"), "-o", "gates.safetensors")
    report = flights.ok("inspect", "gates.safetensors", "--json").json
    assert report["categories"]["gate"] == [str(gate) for gate in range(1, 9)]
    err = flights.fails(1, *fit("train.csv", "--categorical", "x"), "-o", "bad.safetensors")
    assert "column 'x', row 1: the number is not an integer; expected text, booleans or integers" in err
    err = flights.fails(2, *fit("train.csv", "--features", "x", "--categorical", "gate"), "-o", "bad.safetensors")
    assert err.endswith("train.csv: --categorical 'gate' is not a feature")


@pytest.mark.parametrize("command", ["predict", "calibrate", "evaluate", "track", "fit"])
def test_labels_in_another_encoding_are_refused(flights, command):
    """In silence, each would be an unseen category."""
    text = (flights.folder / "test.csv").read_text("utf-8")
    (flights.folder / "latin.csv").write_bytes(text.encode("latin-1"))
    row = next(i for i, line in enumerate(text.splitlines()) if "Ünïted" in line)
    words = {"fit": fit("latin.csv"), "evaluate": ["evaluate", "model.safetensors", "latin.csv"]}
    out = [] if command == "evaluate" else ["-o", "latin.out.csv" if command != "fit" else "latin.safetensors"]
    arguments = [*words.get(command, [command, "model.safetensors", "latin.csv"]), *out]
    err = flights.fails(1, *arguments)
    assert f"latin.csv: column 'carrier', row {row}: the label '" in err
    assert err.endswith(
        "is not UTF-8; convert the table to UTF-8, a CSV file for example with iconv -f LATIN1 -t UTF-8"
    )


def test_trainers_without_categories_refuse_them(flights):
    net = ["fit", "train.csv", "--target", "delay", "--base", "trees", "--localizer", "net", "-o", "net.safetensors"]
    err = flights.fails(2, *net, "--features", "x,carrier")
    assert err.endswith(
        "'carrier' is a categorical feature, which --localizer net does not take; remove it from --features"
    )
    err = flights.fails(2, *net, "--categorical", "gate")
    assert err.endswith("--categorical 'gate': --localizer net does not take categorical features")


def test_dates_and_many_categories_are_left_out_with_a_reason(flights):
    table = make_flights(1200, 6)
    days = pa.array(np.arange(1200) % 300, pa.int32()).cast(pa.date32())
    table = table.append_column("day", days).append_column("flight", pa.array([f"F{i}" for i in range(1200)]))
    for name in ("odd.csv", "odd.parquet"):
        write(table, flights.folder / name)
        done = flights(*fit(name), "-o", "odd.safetensors")
        assert done.code == 0
        derive = (
            "holds dates; derive numbers from dates, such as the hour, the weekday or the days since the first date"
        )
        assert f"warning: {name}: left out the column 'day', which {derive}\n" in done.err
        assert "left out the column 'flight', which has more than 1,000 categories; merge rare ones" in done.err
        assert flights.ok("inspect", "odd.safetensors", "--json").json["features"] == ["x", "carrier", "gate"]
        for column, why in [("day", "derive numbers from dates"), ("flight", "has more than 1,000 categories")]:
            err = flights.fails(1, *fit(name, "--features", f"x,{column}"), "-o", "bad.safetensors")
            assert why in err and column in err


def test_workers_agree_on_the_categories(flights):
    """Each worker has seen other categories than the others."""
    table = make_flights(4000, 7).sort_by("carrier")
    parquet.write_table(table, flights.folder / "sorted.parquet", row_group_size=2000)
    words = fit("sorted.parquet", "-o", "workers.safetensors")[1:]
    workers = fit_with_workers(2, *words, cwd=flights.folder)
    assert [worker.returncode for worker in workers] == [0, 0], workers
    report = flights.ok("inspect", "workers.safetensors", "--json").json
    assert report["categories"] == {"carrier": sorted(CARRIERS, key=str.encode)}
    flights.ok("predict", "workers.safetensors", "test.csv", "-o", "out.parquet")
    out = read(flights.folder / "out.parquet")
    carrier = np.array(out["carrier"].to_pylist(), dtype=object)
    assert widths(out)[carrier == "AA"].mean() > 3 * widths(out)[carrier == "B6"].mean()
