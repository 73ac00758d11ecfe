"""track: intervals for a drifting stream."""

import filecmp

import numpy as np
import pyarrow as pa
import pytest
from conftest import make_table, read, write

LEVELS = ["--level", "0.8,0.9"]


def drifting(rows, seed, factor=1.7):
    """Rows as in make_table whose errors grow by `factor` after the first third."""
    table = make_table(rows, seed)
    forecast = np.array(table["forecast"])
    errors = np.array(table["price"]) - forecast
    errors[rows // 3 :] *= factor
    return table.set_column(5, "price", [forecast + errors])


@pytest.fixture(scope="module")
def stream(tables):
    """stream.csv of 6,000 rows, and the same in two files."""
    table = drifting(6000, 11)
    write(table, tables / "stream.csv")
    write(table.slice(0, 2500), tables / "stream_1.csv")
    write(table.slice(2500), tables / "stream_2.csv")
    return table


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
def test_coverage_is_kept_where_the_calibration_as_it_was_loses_it(homes, stream, method):
    arguments = ["track", "homes.safetensors", "stream.csv", *LEVELS, "--method", method, "-o", "tracked.parquet"]
    report = homes.ok(*arguments, "--json").json
    assert (report["rows"], report["observed"], report["saved"], report["method"]) == (6000, 6000, None, method)
    out = read(homes.folder / "tracked.parquet")
    assert out.column_names == [*stream.column_names, "lower_0.8", "upper_0.8", "lower_0.9", "upper_0.9"]
    y = np.array(out["price"])
    for level in report["levels"]:
        assert level["coverage"] == pytest.approx(level["level"], abs=0.01)
        assert level["fixed_coverage"] < level["level"] - 0.03
        assert level["recent_rows"] == 1000 and level["recent_coverage"] == pytest.approx(level["level"], abs=0.03)
        # The file agrees with the report.
        inside = (np.array(out[f"lower_{level['level']}"]) <= y) & (y <= np.array(out[f"upper_{level['level']}"]))
        assert inside.mean() == level["coverage"] == level["table_coverage"]
    text = homes.ok(*arguments).out
    for part in [
        "tracked.parquet: 6,000 rows",
        "coverage of 6,000 rows",
        "of the last 1,000",
        "fixed calibration",
        "row by row, each outcome known",
    ]:
        assert part in text


def test_the_first_interval_is_that_of_the_calibration(homes, stream):
    homes.ok("track", "homes.safetensors", "stream.csv", "--level", "0.9", "-o", "tracked.parquet")
    homes.ok("predict", "homes.safetensors", "stream.csv", "--level", "0.9", "-o", "predicted.parquet")
    tracked, predicted = (read(homes.folder / f"{name}.parquet") for name in ("tracked", "predicted"))
    assert tracked["lower_0.9"][0] == predicted["lower_0.9"][0]
    # The calibration of 750 rows does not fill a window of 1,000, so the first rows still use its quantile.
    assert tracked["lower_0.9"][5999] != predicted["lower_0.9"][5999]


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
def test_two_tables_one_after_the_other_are_as_one(homes, stream, tmp_path, method):
    options = [*LEVELS, "--method", method, "--window-rows", "300"]
    whole, one, two = (tmp_path / f"{name}.safetensors" for name in ("whole", "one", "two"))
    homes.ok("track", "homes.safetensors", "stream.csv", *options, "-o", tmp_path / "whole.csv", "--save", whole)
    homes.ok("track", "homes.safetensors", "stream_1.csv", *options, "-o", tmp_path / "1.csv", "--save", one)
    report = homes.ok("track", one, "stream_2.csv", "-o", tmp_path / "2.csv", "--save", two, "--json").json
    assert (report["observed"], report["levels"][0]["rows"], report["window_rows"]) == (3500, 6000, 300)
    parts = pa.concat_tables([read(tmp_path / "1.csv"), read(tmp_path / "2.csv")])
    assert parts.equals(read(tmp_path / "whole.csv"))
    states = [homes.ok("inspect", file, "--json").json["online"] for file in (whole, two)]
    assert states[0] == states[1] and states[0]["rows"] == 6000
    assert "adaptive" in homes.ok("inspect", whole).out or method == "decaying"


def test_a_model_is_changed_only_where_it_is_saved(homes, stream, tmp_path):
    copy = tmp_path / "copy.safetensors"
    copy.write_bytes((homes.folder / "homes.safetensors").read_bytes())
    homes.ok("track", copy, "stream_1.csv", "-o", tmp_path / "out.csv")
    assert filecmp.cmp(copy, homes.folder / "homes.safetensors", shallow=False)
    homes.ok("track", copy, "stream_1.csv", "-o", tmp_path / "out.csv", "--save", copy)
    # All other commands still accept the file, with its calibration unchanged.
    homes.ok("predict", copy, "test.csv", "-o", tmp_path / "after.csv")
    homes.ok("predict", "homes.safetensors", "test.csv", "-o", tmp_path / "before.csv")
    assert filecmp.cmp(tmp_path / "after.csv", tmp_path / "before.csv", shallow=False)

    message = homes.fails(1, "track", copy, "stream_1.csv", "-o", tmp_path / "out.csv")
    assert "stream_1.csv: the model has already observed these rows" in message
    restarted = homes.ok("track", copy, "stream_1.csv", "--restart", "-o", tmp_path / "out.csv", "--json").json
    assert restarted["levels"][0]["rows"] == 2500
    for option, value in [("--level", "0.8"), ("--method", "decaying"), ("--step", "0.1"), ("--window-rows", "50")]:
        message = homes.fails(2, "track", copy, "stream_2.csv", option, value, "-o", tmp_path / "out.csv")
        assert message.startswith(f"widthwise track: {option}: ") and "--restart" in message
    homes.ok("track", copy, "stream_2.csv", "--level", "0.9", "--step", "0.005", "-o", tmp_path / "out.csv")


def test_rows_without_an_outcome_get_intervals_and_are_not_observed(homes, stream, tmp_path):
    price = np.array(stream["price"])
    known = np.arange(len(price)) % 4 != 0
    write(stream.set_column(5, "price", pa.array(price, mask=~known)), tmp_path / "some.csv")
    write(stream.filter(pa.array(known)), tmp_path / "known.csv")
    some = homes.ok("track", "homes.safetensors", tmp_path / "some.csv", "-o", tmp_path / "out_some.csv", "--json").json
    all_known = homes.ok(
        "track", "homes.safetensors", tmp_path / "known.csv", "-o", tmp_path / "out_known.csv", "--json"
    ).json
    assert (some["rows"], some["observed"]) == (6000, 4500)
    assert some["pending"] == 0
    assert some["levels"][0] == {**all_known["levels"][0], "infinite": some["levels"][0]["infinite"]}
    out = read(tmp_path / "out_some.csv").filter(pa.array(known))
    assert out["lower_0.9"].equals(read(tmp_path / "out_known.csv")["lower_0.9"])


def test_a_table_of_rows_to_come_needs_no_column_of_outcomes(homes, stream, tmp_path):
    model = tmp_path / "model.safetensors"
    homes.ok("track", "homes.safetensors", "stream.csv", "-o", tmp_path / "out.csv", "--save", model)
    write(stream.drop_columns(["price"]).slice(0, 50), tmp_path / "next.csv")
    outcome = homes("track", model, tmp_path / "next.csv", "-o", tmp_path / "next_out.csv")
    assert outcome.code == 0 and "no column 'price', so no outcome was observed; with --save" in outcome.err
    tracked = read(tmp_path / "next_out.csv")
    homes.ok("predict", "homes.safetensors", tmp_path / "next.csv", "-o", tmp_path / "fixed.csv")
    fixed = read(tmp_path / "fixed.csv")
    widths = [np.array(t["upper_0.9"]) - np.array(t["lower_0.9"]) for t in (tracked, fixed)]
    # Errors were 1.7 times as large at the end of the stream.
    assert 1.4 < np.mean(widths[0]) / np.mean(widths[1]) < 2


def alternating(rows, seed, size):
    """Rows as in make_table with a column of days of `size` rows; on odd days errors are six times as large."""
    table = make_table(rows, seed)
    day = np.arange(rows) // size
    forecast = np.array(table["forecast"])
    errors = np.array(table["price"]) - forecast
    table = table.set_column(5, "price", [forecast + errors * np.where(day % 2 == 0, 1, 6)])
    return table.append_column("day", [day])


def covered(file, level, y):
    out = read(file)
    return ((np.array(out[f"lower_{level}"]) <= y) & (y <= np.array(out[f"upper_{level}"]))).mean()


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
def test_the_coverage_reported_is_that_of_batches_as_issued(homes, tmp_path, method):
    table = alternating(30_000, 12, 500)
    write(table, tmp_path / "days.parquet")
    arguments = ["track", "homes.safetensors", tmp_path / "days.parquet", "--level", "0.9", "--method", method]
    reports = []
    for number, options in enumerate(
        (["--batch-size", "500"], ["--batch-by", "day"], ["--batch-by", "day", "--delay", "2"])
    ):
        out = tmp_path / f"{number}.parquet"
        reports.append(homes.ok(*arguments, *options, "-o", out, "--json").json)
        (level,) = reports[-1]["levels"]
        assert covered(out, 0.9, np.array(table["price"])) == level["coverage"]
        # All rows of a batch use the quantiles known before it: those of the calibration for the first batches.
        if number == 2:
            homes.ok(
                "predict", "homes.safetensors", tmp_path / "days.parquet", "--level", "0.9", "-o", tmp_path / "p.csv"
            )
            first = 3 * 500
            expected = read(tmp_path / "p.csv")["lower_0.9"].slice(0, first)
            if method == "decaying":  # the window of the adaptive method holds a sample of the calibration
                assert read(out)["lower_0.9"].slice(0, first).to_pylist() == expected.to_pylist()
        assert reports[-1]["longest_delay"] == (1500 if number == 2 else 500)
        # The bound of the adaptive method, with alpha / step = max(20, d).
        delay = reports[-1]["longest_delay"]
        if method == "adaptive":
            assert level["coverage"] >= 0.9 - (delay + 0.9 * delay) / 30_000
    assert reports[0]["levels"] == reports[1]["levels"]
    assert reports[0]["levels"][0]["coverage"] == pytest.approx(0.9, abs=0.01 if method == "adaptive" else 0.03)
    text = homes.ok(*arguments, "--batch-by", "day", "--delay", "1", "-o", tmp_path / "x.csv").out
    assert "in batches of equal 'day', 1 batch late" in text


def test_rows_are_issued_in_the_morning_and_observed_in_the_evening(homes, stream, tmp_path):
    """The documented recipe: two days are issued and then observed in reverse order, each row once."""
    model = tmp_path / "model.safetensors"
    homes.ok("track", "homes.safetensors", "stream_1.csv", "--level", "0.9", "-o", tmp_path / "x.csv", "--save", model)
    inside = []
    for number in range(2):
        day = stream.slice(2500 + 100 * number, 100)
        write(day.drop_columns(["price"]), tmp_path / "morning.csv")
        out = tmp_path / f"issued_{number}.csv"
        outcome = homes("track", model, tmp_path / "morning.csv", "-o", out, "--save", model, "--json")
        assert outcome.code == 0 and f"run 'widthwise track {model} {out} --observe" in outcome.err
        assert outcome.json["batch"] == 2500 + 100 * number and outcome.json["pending"] == 100 * (number + 1)
        issued = read(out)
        assert set(issued["batch"].to_pylist()) == {2500 + 100 * number}
        write(issued.append_column("price", day["price"]), tmp_path / f"evening_{number}.csv")
        inside.append(covered(out, 0.9, np.array(day["price"])))
    for number in (1, 0):
        report = homes.ok(
            "track", model, tmp_path / f"evening_{number}.csv", "--observe", "--save", model, "--json"
        ).json
        assert report["levels"][0]["table_coverage"] == inside[number]
        assert (report["observed"], report["pending"], report["output"]) == (100, 100 * number, None)
    assert report["levels"][0]["rows"] == 2700
    message = homes.fails(1, "track", model, tmp_path / "evening_0.csv", "--observe")
    assert "batch 2500 has no pending rows: its outcomes were observed, or it was dropped" in message
    message = homes.fails(1, "track", model, "stream_2.csv", "-o", tmp_path / "again.csv")
    assert "stream_2.csv: 5% of these rows were already observed with the same outcomes" in message
    assert not (tmp_path / "again.csv").exists()
    write(stream.slice(2700), tmp_path / "rest.csv")
    assert "of all 6,000" in homes.ok("track", model, tmp_path / "rest.csv", "-o", tmp_path / "x.csv").out
    write(stream.append_column("batch", [np.full(6000, -1.0)]), tmp_path / "wrong.csv")
    message = homes.fails(1, "track", model, tmp_path / "wrong.csv", "--observe")
    assert "wrong.csv: row 1: 'batch' is not the number of an issued batch" in message
    assert "no column 'batch'" in homes.fails(1, "track", model, "stream_2.csv", "--observe")
    assert "has no online state" in homes.fails(2, "track", "homes.safetensors", "stream_2.csv", "--observe")


def test_rows_of_another_batch_and_rows_observed_twice_are_refused(homes, stream, tmp_path):
    model = tmp_path / "model.safetensors"
    homes.ok("track", "homes.safetensors", "stream_1.csv", "--level", "0.9", "-o", tmp_path / "x.csv", "--save", model)
    issued = []
    for number in range(2):
        day = stream.slice(2500 + 100 * number, 100)
        write(day.drop_columns(["price"]), tmp_path / "morning.csv")
        homes("track", model, tmp_path / "morning.csv", "-o", tmp_path / "issued.csv", "--save", model)
        issued.append(read(tmp_path / "issued.csv").append_column("price", day["price"]))
    place = issued[0].column_names.index("batch")

    def observe(table):
        write(table, tmp_path / "evening.csv")
        return homes.fails(1, "track", model, tmp_path / "evening.csv", "--observe", "--save", model)

    swapped = issued[1].set_column(place, "batch", issued[0]["batch"])
    assert "100 of 100 rows were issued in batch 2600, not in batch 2500; pass each row once" in observe(swapped)
    twice = pa.concat_tables([issued[0].slice(0, 60), issued[0].slice(50, 30)])
    assert "10 of 90 rows were already observed in batch 2500" in observe(twice)
    # All or nothing: both batches are still pending.
    write(pa.concat_tables(issued), tmp_path / "evening.csv")
    report = homes.ok("track", model, tmp_path / "evening.csv", "--observe", "--save", model, "--json").json
    assert (report["observed"], report["pending"]) == (200, 0)


def test_a_delay_longer_than_the_table_is_a_warning(homes, stream, tmp_path):
    def run(*arguments):
        done = homes("track", "homes.safetensors", "stream.csv", "--level", "0.9", *arguments, "-o", tmp_path / "x.csv")
        assert done.code == 0
        return done.err

    late = run("--batch-size", "100", "--delay", "60")
    assert (
        "stream.csv: no outcome was observed before the last batch, so no interval was updated: these rows are 60 "
        "batches, and outcomes arrive 60 batches later; use a shorter delay, which counts batches, not rows"
    ) in " ".join(late.split())
    assert run("--batch-size", "100", "--delay", "58") == ""
    assert "these rows are 1 batch; use a smaller batch size" in " ".join(run("--batch-size", "6000").split())


@pytest.mark.parametrize(
    "code, arguments, message",
    [
        (2, ["--batch-size", "0"], "expected a batch_size of at least 1, found 0"),
        (2, ["--batch-size", "5", "--batch-by", "size"], "--batch-by"),
        (2, ["--batch-by", "nothing"], "no column 'nothing'"),
        (2, ["--observe"], "--observe writes no intervals; remove --output"),
        (2, ["--step", "0"], "expected a step above 0 and up to 10, found 0"),
        (2, ["--step", "much"], "--step: 'much' is not a number"),
        (2, ["--window-rows", "0"], "expected a window of 1 to 1,000,000 rows, found 0"),
        (2, ["--window-rows", "99999999"], "expected a window of 1 to 1,000,000 rows"),
        (2, ["--window-rows", "5"], "a window of 5 rows is too short for level 0.9, which needs 9 rows"),
        (2, ["--method", "adaptiv"], "did you mean 'adaptive'?"),
        (2, ["--columns", "nothing"], "no column 'nothing'"),
    ],
)
def test_invalid_arguments_are_refused(homes, stream, code, arguments, message):
    assert message in homes.fails(code, "track", "homes.safetensors", "stream.csv", "-o", "x.csv", *arguments)


def test_rows_that_fitted_the_model_are_refused(homes):
    message = homes.fails(1, "track", "homes.safetensors", "train.csv", "-o", "x.csv")
    assert "75% of these rows were used to fit the model" in message and not (homes.folder / "x.csv").exists()


def test_infinite_outcomes_are_refused(homes, stream, tmp_path):
    price = np.array(stream["price"]).copy()
    price[4321] = np.inf
    write(stream.set_column(5, "price", [price]), tmp_path / "bad.parquet")
    message = homes.fails(1, "track", "homes.safetensors", tmp_path / "bad.parquet", "-o", tmp_path / "x.csv")
    assert "row 4322: 'price' is infinite" in message
    assert not (tmp_path / "x.csv").exists()


def test_the_alarm_is_raised_after_the_change_and_resumed(homes, stream, tmp_path):
    whole = homes.ok("track", "homes.safetensors", "stream.csv", "-o", tmp_path / "out.csv", "--json").json
    found = whole["exchangeability"]
    assert found["alarm"]["errors"] == "larger" and 2000 < found["alarm"]["row"] < 2200
    one, two = tmp_path / "one.safetensors", tmp_path / "two.safetensors"
    text = homes.ok("track", "homes.safetensors", "stream_1.csv", "-o", tmp_path / "1.csv", "--save", one).out
    row = found["alarm"]["row"]
    assert f"Alarm at row {row:,}: rows stopped being exchangeable with the calibration rows" in text
    resumed = homes.ok("track", one, "stream_2.csv", "-o", tmp_path / "2.csv", "--save", two, "--json").json
    assert resumed["exchangeability"] == found
    assert homes.ok("inspect", two, "--json").json["online"]["exchangeability"] == found
    assert f"at row {row:,}" in homes.ok("inspect", two).out
    message = homes.fails(2, "track", one, "stream_2.csv", "--false-alarm-rate", "0.1", "-o", tmp_path / "2.csv")
    assert message.startswith("widthwise track: --false-alarm-rate: ") and "--restart" in message
    off = homes.ok("track", "homes.safetensors", "stream.csv", "--false-alarm-rate", 0, "-o", tmp_path / "out.csv")
    assert "exchangeable" not in off.out
    assert "expected a false-alarm rate between 0 and 1" in homes.fails(
        2, "track", "homes.safetensors", "stream.csv", "--false-alarm-rate", "2", "-o", tmp_path / "out.csv"
    )


def test_a_table_in_order_is_evaluated_as_a_stream(homes, stream, tmp_path):
    tracked = homes.ok("track", "homes.safetensors", "stream.csv", "-o", tmp_path / "out.csv", "--json").json
    report = homes.ok("evaluate", "homes.safetensors", "stream.csv", "--in-order", "--json").json
    assert report["exchangeability"] == tracked["exchangeability"]
    text = homes.ok("evaluate", "homes.safetensors", "stream.csv", "--in-order").out
    assert f"Alarm at row {report['exchangeability']['alarm']['row']:,}: " in text
    write(stream.slice(0, 2000), tmp_path / "quiet.csv")
    assert "No alarm: " in homes.ok("evaluate", "homes.safetensors", tmp_path / "quiet.csv", "--in-order").out
    assert "exchangeability" not in homes.ok("evaluate", "homes.safetensors", "stream.csv", "--json").json
    assert "--in-order" in homes.fails(2, "evaluate", "homes.safetensors", "stream.csv", "--false-alarm-rate", "0.1")
