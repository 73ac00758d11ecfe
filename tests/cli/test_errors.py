"""Errors are one line with the file and the remedy; the exit code distinguishes invalid data and invalid usage."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIT, Program, make_table, read, write

USAGE, DATA = 2, 1


def replaced(arguments, option, value):
    changed = list(arguments)
    changed[changed.index(option) + 1] = value
    return changed


def test_a_misspelt_column_suggests_the_nearest(homes):
    message = homes.fails(USAGE, *replaced(FIT, "--target", "prize"), "-o", "x.safetensors")
    assert message == "widthwise fit: train.csv: no column 'prize'; did you mean 'price'?"
    message = homes.fails(USAGE, *FIT, "--features", "a,bb", "-o", "x.safetensors")
    assert message.startswith("widthwise fit: train.csv: no column 'bb'")
    assert not (homes.folder / "x.safetensors").exists()


def test_a_text_column_cannot_be_the_target(homes):
    message = homes.fails(DATA, *replaced(FIT, "--target", "city"), "-o", "x.safetensors")
    assert message.startswith("widthwise fit: train.csv: column 'city', row 1: ") and message.endswith(
        "is not a number"
    )


@pytest.mark.parametrize("both", [True, False])
def test_predictions_and_base_model_exclude_each_other(homes, both):
    arguments = ["fit", "train.csv", "--target", "price", "-o", "x.safetensors"]
    if both:
        arguments += ["--prediction", "forecast", "--base", "trees", "--base-options", "rounds=20"]
    message = homes.fails(USAGE, *arguments)
    assert message.startswith("widthwise fit: give one of --prediction COL") and "--base" in message


def test_features_and_exclude_exclude_each_other(homes):
    homes.fails(USAGE, *FIT, "--features", "a", "--exclude", "b", "-o", "x.safetensors")


def test_a_misspelt_choice_suggests_the_nearest(homes):
    message = homes.fails(USAGE, "fit", "train.csv", "--target", "price", "--base", "tres", "-o", "x.safetensors")
    assert "did you mean 'trees'?" in message


@pytest.mark.parametrize(
    "option, value",
    [
        ("--goal", "2"),
        ("--goal", "eve"),
        ("--level", "1"),
        ("--outcome-range", "5,1"),
        ("--outcome-range", "5"),
        ("--outcome-range", "x,1"),
        ("--level-window", "0.9"),
        ("--level-window", "0.9,0.8"),
        ("--calibration-size", "1.5"),
        ("--folds", "-1"),
        ("--seed", "x"),
    ],
)
def test_invalid_values_are_bad_usage(homes, option, value):
    homes.fails(USAGE, *FIT, option, value, "-o", "x.safetensors")


def test_missing_files_are_named(homes):
    assert "nosuch.csv" in homes.fails(DATA, "fit", "nosuch.csv", *FIT[2:], "-o", "x.safetensors")
    assert "nosuch.safetensors" in homes.fails(DATA, "inspect", "nosuch.safetensors")
    assert "nosuch.csv" in homes.fails(DATA, "predict", "homes.safetensors", "nosuch.csv", "-o", "x.csv")
    assert "nosuch" in homes.fails(DATA, *FIT, "-o", "nosuch/x.safetensors")


def test_a_missing_target_names_the_row_and_what_to_do(homes):
    table = make_table(50, 5)
    price = table["price"].to_pylist()
    price[16] = None
    write(table.set_column(5, "price", pa.array(price)), homes.folder / "gap.csv")
    expected = "gap.csv: row 17: 'price' is missing; remove"
    assert expected in homes.fails(DATA, "fit", "gap.csv", *FIT[2:], "-o", "x.safetensors")
    assert expected in homes.fails(DATA, "calibrate", "homes.safetensors", "gap.csv")
    assert expected in homes.fails(DATA, "evaluate", "homes.safetensors", "gap.csv")


def test_a_table_without_the_models_columns_is_bad_data(homes):
    write(make_table(50, 5).drop_columns(["b"]), homes.folder / "no_b.csv")
    for command in (["calibrate"], ["evaluate"]):
        message = homes.fails(DATA, *command, "homes.safetensors", "no_b.csv")
        assert "no_b.csv: no column 'b', which the model needs" in message
    write(make_table(50, 5).drop_columns(["forecast"]), homes.folder / "no_forecast.csv")
    assert "no column 'forecast'" in homes.fails(DATA, "predict", "homes.safetensors", "no_forecast.csv", "-o", "x.csv")


def test_all_missing_columns_are_named_at_once(homes):
    table = make_table(50, 5)
    write(
        table.drop_columns(["a", "forecast", "price"]).rename_columns(["B", "rooms", "city"]), homes.folder / "few.csv"
    )
    needed = "which the model needs; did you mean 'B' for 'b'?"
    message = homes.fails(DATA, "predict", "homes.safetensors", "few.csv", "-o", "x.csv")
    assert message == f"widthwise predict: few.csv: no columns 'a', 'b' and 'forecast', {needed}"
    for command in ("calibrate", "evaluate"):
        message = homes.fails(DATA, command, "homes.safetensors", "few.csv")
        assert message == f"widthwise {command}: few.csv: no columns 'a', 'b', 'forecast' and 'price', {needed}"
    message = homes.fails(USAGE, "fit", "few.csv", *FIT[2:], "-o", "x.safetensors")
    assert message == "widthwise fit: few.csv: no columns 'price' and 'forecast'"
    message = homes.fails(USAGE, *FIT, "--features", "a,bb,c,d", "-o", "x.safetensors")
    assert message.startswith("widthwise fit: train.csv: no columns 'bb', 'c' and 'd'")


def test_an_output_that_is_no_table_is_refused(homes):
    homes.fails(USAGE, "predict", "homes.safetensors", "test.csv", "-o", "x.txt")
    assert not (homes.folder / "x.txt").exists()


def test_a_column_of_the_output_that_is_there_already_is_refused(homes):
    homes.ok("predict", "homes.safetensors", "test.csv", "-o", "once.csv")
    message = homes.fails(USAGE, "predict", "homes.safetensors", "once.csv", "-o", "twice.csv")
    assert "'lower_0.9'" in message and "--columns" in message
    homes.ok("predict", "homes.safetensors", "once.csv", "--columns", "a,b", "-o", "twice.csv")
    assert read(homes.folder / "twice.csv").column_names == ["a", "b", "lower_0.9", "upper_0.9"]


def test_invalid_cells_are_bad_data_in_every_command(homes):
    """Exit code 1 means invalid data, 2 invalid arguments."""
    table = make_table(50, 5)
    texts = pa.array(["n/k"] * 50)
    for column in ("price", "b", "forecast"):
        write(table.set_column(table.column_names.index(column), column, texts), homes.folder / "texts.csv")
        write(table.set_column(table.column_names.index(column), column, texts), homes.folder / "texts.parquet")
        for file in ("texts.csv", "texts.parquet"):
            if column != "b":  # a feature of text is a category
                named = homes.fails(DATA, "fit", file, *FIT[2:], "--features", "a,b", "-o", "x.safetensors")
                assert f"{file}: column '{column}'" in named
            assert f"{file}: column '{column}'" in homes.fails(DATA, "calibrate", "homes.safetensors", file)
            assert f"{file}: column '{column}'" in homes.fails(DATA, "evaluate", "homes.safetensors", file)
    homes.fails(USAGE, "evaluate", "homes.safetensors", "test.csv", "--by", "cities")


def test_too_little_to_fit_is_bad_data(homes):
    write(make_table(1, 5), homes.folder / "one.csv")
    fit = ["fit", "one.csv", "--target", "price", "-o", "x.safetensors", "--calibration-size", "0"]
    homes.fails(DATA, *fit, "--base", "trees", "--base-options", "rounds=20", "--score-transform", "identity")
    same = make_table(50, 5)
    write(same.set_column(5, "price", same["forecast"]), homes.folder / "exact.csv")
    message = homes.fails(DATA, "fit", "exact.csv", *FIT[2:], "-o", "x.safetensors")
    assert "every prediction equals the outcome" in message
    infinite = make_table(50, 5)
    write(infinite.set_column(1, "b", pa.array([np.inf] * 50)), homes.folder / "infinite.parquet")
    message = homes.fails(DATA, "fit", "infinite.parquet", *FIT[2:], "-o", "x.safetensors")
    assert "infinite.parquet: row 1: 'b' is inf" in message and "missing value" in message


# ---- files that are read are not overwritten


def commands_that_write(output):
    """Each command with the option for its output, and the files it reads."""
    return [
        ([*FIT, "-o", output], ["train.csv"]),
        (["predict", "homes.safetensors", "test.csv", "-o", output], ["test.csv", "homes.safetensors"]),
        (["track", "homes.safetensors", "test.csv", "-o", output], ["test.csv", "homes.safetensors"]),
        (["track", "homes.safetensors", "test.csv", "-o", "out.csv", "--save", output], ["test.csv", "out.csv"]),
        (["calibrate", "homes.safetensors", "fresh.csv", "-o", output], ["fresh.csv"]),
        (["calibrate", "homes.safetensors", "fresh.csv", "--emit", output], ["fresh.csv", "homes.safetensors"]),
        (["merge", "homes.safetensors", "one.shard", "-o", output], ["one.shard"]),
    ]


def links_to(folder, name):
    """Other names of the same file."""
    symbolic, hard = folder / f"symbolic-{name}", folder / f"hard-{name}"
    symbolic.unlink(missing_ok=True)
    hard.unlink(missing_ok=True)
    symbolic.symlink_to(name)
    hard.hardlink_to(folder / name)
    return [name, f"./{name}", folder / name, symbolic.name, hard.name]


@pytest.mark.parametrize("command", range(7))
def test_no_command_overwrites_what_it_reads(tables, tmp_path, command):
    homes = Program(tmp_path)
    for name in ("train.csv", "test.csv", "fresh.csv", "homes.safetensors"):
        shutil.copy(tables / name, tmp_path / name)
    homes.ok("calibrate", "homes.safetensors", "fresh.csv", "--emit", "one.shard")
    (tmp_path / "out.csv").write_text("kept")
    for name in commands_that_write("")[command][1]:
        before = (tmp_path / name).read_bytes()
        for output in links_to(tmp_path, name):
            message = homes.fails(USAGE, *commands_that_write(output)[command][0])
            assert f": {output} is the same file as " in message and "choose another name" in message
            assert (tmp_path / name).read_bytes() == before


def test_a_model_may_be_calibrated_in_place(tables, tmp_path):
    homes = Program(tmp_path)
    shutil.copy(tables / "homes.safetensors", tmp_path)
    shutil.copy(tables / "homes.safetensors", tmp_path / "tracked.safetensors")
    homes.ok("calibrate", "homes.safetensors", tables / "fresh.csv", "-o", "homes.safetensors")
    save = ["--save", "tracked.safetensors"]
    homes.ok("track", "tracked.safetensors", tables / "fresh.csv", "-o", tmp_path / "out.csv", *save)


def test_two_outputs_that_are_one_file_are_refused(homes, tmp_path):
    both = tmp_path / "new.csv"
    homes.fails(USAGE, "track", "homes.safetensors", "test.csv", "-o", both, "--save", tmp_path / "." / "new.csv")
    assert not both.exists()


@pytest.mark.parametrize(
    "command, option",
    [
        *(("fit", option) for option in ("--folds", "--seed", "--threads", "--rank", "--world", "--timeout")),
        ("plan", "--rows"),
        *(("track", option) for option in ("--window-rows", "--batch-size", "--delay")),
    ],
)
def test_whole_numbers_are_neither_wrapped_nor_cut(homes, command, option):
    arguments = {
        "fit": [*FIT, "-o", "x.safetensors"],
        "plan": ["plan"],
        "track": ["track", "model.safetensors", "rows.csv", "-o", "out.csv"],
    }[command]
    for wrong in (2**64, -1, "1e3", "0x10"):
        message = homes.fails(USAGE, *arguments, option, str(wrong))
        assert option in message
        assert (
            f"{2**64} is too large; expected at most {2**64 - 1}" in message
            or "is not a non-negative integer" in message
            or f"'{wrong}' is invalid; expected a whole number" in message
            or f"'{wrong}' is invalid; expected auto, a whole number" in message
        )


def test_no_folds_are_refused(homes):
    message = homes.fails(
        USAGE,
        "fit",
        "train.csv",
        "--target",
        "price",
        "--base",
        "trees",
        "--base-options",
        "rounds=20",
        "--folds",
        "0",
        "-o",
        "x.safetensors",
    )
    assert "fold" in message
