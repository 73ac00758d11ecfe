"""widthwise fit with several processes: all get the same model, as good as the model of one process."""

import json
import subprocess

import numpy as np
import pytest
from programs import required_path, run_program
from pyarrow import csv, parquet
from workers import FULL, fit_words, run_workers

ROUNDS = ["--goal", "narrow", "--no-compare", "--threads", "1"]


@pytest.mark.parametrize("world", [1, 2, 4])
def test_all_workers_write_the_same_model(world, network, table, tmp_path):
    def words(rank, address):
        team = ["--tracker", address, "--rank", rank, "--world", world, "--timeout", 60, "--private-network"]
        output = tmp_path / f"model-{rank}.safetensors"
        return fit_words(table, *ROUNDS, *team, "-o", output)

    run_workers(network, world, words)
    models = [(tmp_path / f"model-{rank}.safetensors").read_bytes() for rank in range(world)]
    assert all(model == models[0] for model in models)
    assert not list(tmp_path.glob("*.checkpoint"))


def test_processes_of_one_machine_are_started_by_one_command(table, tmp_path):
    out = run_program(
        "fit",
        table,
        "--target",
        "y",
        "--base",
        "trees",
        "--goal",
        "0.85",
        "--no-compare",
        "--workers",
        2,
        "-o",
        tmp_path / "model",
    )
    assert "fitted on" in out
    assert run_program("inspect", tmp_path / "model", "--json")["notes"]["workers"] == "2"
    evaluation = run_program("evaluate", tmp_path / "model", table, "--json")
    assert evaluation["rows"] == 4000


def test_several_files_are_one_table(table, tmp_path):
    whole = parquet.read_table(table)
    parts = [tmp_path / f"part-{i}.parquet" for i in range(2)]
    parquet.write_table(whole.slice(0, 2000), parts[0], row_group_size=250)
    parquet.write_table(whole.slice(2000), parts[1], row_group_size=250)
    answer = run_program(
        "fit", *parts, "--target", "y", "--prediction", "f", *ROUNDS, "--workers", 2, "--json", "-o", tmp_path / "model"
    )
    assert answer["fit_rows"] + answer["calibration_rows"] == 4000
    done = subprocess.run(
        [str(required_path("WIDTHWISE_PROGRAM")), "calibrate", str(tmp_path / "model"), str(parts[1])],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "% of these rows were used to fit the model" in done.stderr


@pytest.mark.skipif(not FULL, reason="takes minutes; set WIDTHWISE_FULL=1")
@pytest.mark.parametrize("goal", ["0.85", "narrow"])
def test_casp_is_as_narrow_as_in_one_process(goal, data_folder, tmp_path):
    rows = csv.read_csv(data_folder / "casp.csv")
    # The first part fits the model that predicts; the rest fits, calibrates and tests.
    rows = rows.take(np.random.default_rng(0).permutation(rows.num_rows))
    parquet.write_table(rows.slice(0, 9000), tmp_path / "base.parquet")
    target = json.loads((data_folder / "datasets.json").read_text())["casp"]["target"]
    run_program(
        "fit",
        tmp_path / "base.parquet",
        "--target",
        target,
        "--base",
        "trees",
        "--score-transform",
        "identity",
        "-o",
        tmp_path / "base",
    )
    for name, first, count in [("fit", 9000, 24_000), ("calibrate", 33_000, 6000), ("test", 39_000, None)]:
        parquet.write_table(rows.slice(first, count), tmp_path / f"{name}.raw.parquet")
        run_program(
            "predict", tmp_path / "base", tmp_path / f"{name}.raw.parquet", "-o", tmp_path / f"{name}.all.parquet"
        )
        columns = parquet.read_table(tmp_path / f"{name}.all.parquet").drop(["lower_0.9", "upper_0.9"])
        parquet.write_table(columns, tmp_path / f"{name}.parquet", row_group_size=1000)

    def mean_width(*workers):
        model = tmp_path / "model"
        run_program("fit", tmp_path / "fit.parquet", "--target", target, "--prediction", "prediction", "--goal", goal,
            "--no-compare", "--calibration-size", 0, *workers, "-o", model)  # fmt: skip
        run_program("calibrate", model, tmp_path / "calibrate.parquet")
        return run_program("evaluate", model, tmp_path / "test.parquet", "--json")["levels"][0]["mean_width"]

    # Several workers split rows by their numbers, a single process by a shuffle, so other rows are held out.
    alone, dealt = mean_width(), mean_width("--workers", 1)
    print(f"\ncasp, {goal}: mean width {alone:.4f} by a process alone, {dealt:.4f} by several workers of one")
    assert dealt < 1.005 * alone
    for world in (2, 4):
        together = mean_width("--workers", world)
        print(f"casp, {goal}: {together:.4f} by {world} workers, {together / dealt - 1:+.2%}")
        assert abs(together / dealt - 1) < 0.005
