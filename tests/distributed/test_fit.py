"""widthwise fit with several processes: all get the same model, as good as the model of one process."""

import json
import subprocess

import numpy as np
import pytest
from programs import fit_with_workers, required_path, run_program, worker_options
from pyarrow import csv, parquet
from workers import FULL, fit_words, run_workers, write_table

ROUNDS = ["--goal", "narrow"]


@pytest.mark.parametrize("world", [1, 2, 4])
def test_all_workers_write_the_same_model(world, network, table, tmp_path):
    def words(rank, address):
        output = tmp_path / f"model-{rank}.safetensors"
        return fit_words(table, *ROUNDS, *worker_options(rank, world, address), "-o", output)

    run_workers(network, world, words)
    models = [(tmp_path / f"model-{rank}.safetensors").read_bytes() for rank in range(world)]
    assert all(model == models[0] for model in models)
    assert not list(tmp_path.glob("*.checkpoint"))


def fit(world, *words):
    """Fit with workers that all succeed; return what worker 0 prints."""
    workers = fit_with_workers(world, "--threads", 1, *words)
    assert [worker.returncode for worker in workers] == [0] * world, workers
    return workers[0].stdout


def test_workers_train_the_base_model(table, tmp_path):
    model = tmp_path / "model"
    out = fit(2, table, "--target", "y", "--base", "trees", "--goal", "0.85", "-o", model)
    assert "fitted on" in out
    assert run_program("inspect", model, "--json")["notes"]["workers"] == "2"
    assert run_program("evaluate", model, table, "--json")["rows"] == 4000


def test_shards_sorted_by_outcome_train_the_base_model_of_one_process(tmp_path):
    rows = parquet.read_table(write_table(tmp_path / "rows.parquet", 4000)).drop(["f"])
    shards = tmp_path / "sorted.parquet"
    parquet.write_table(rows.sort_by("y"), shards, row_group_size=2000)  # a group for each of two workers
    test = write_table(tmp_path / "test.parquet", 4000, seed=1)
    outcomes = parquet.read_table(test)["y"].to_numpy()

    def error(world):
        model, out = tmp_path / f"model-{world}", tmp_path / f"out-{world}.parquet"
        fit(world, shards, "--target", "y", "--base", "trees", *ROUNDS, "-o", model)
        run_program("predict", model, test, "-o", out)
        return np.mean(np.abs(parquet.read_table(out)["prediction"].to_numpy() - outcomes))

    assert error(2) == pytest.approx(error(1), rel=0.01)


def test_several_files_are_one_table(table, tmp_path):
    whole = parquet.read_table(table)
    parts = [tmp_path / f"part-{i}.parquet" for i in range(2)]
    parquet.write_table(whole.slice(0, 2000), parts[0], row_group_size=250)
    parquet.write_table(whole.slice(2000), parts[1], row_group_size=250)
    model = tmp_path / "model"
    answer = json.loads(fit(2, *parts, "--target", "y", "--prediction", "f", *ROUNDS, "--json", "-o", model))
    assert answer["fit_rows"] + answer["calibration_rows"] == 4000
    done = subprocess.run(
        [str(required_path("WIDTHWISE_PROGRAM")), "calibrate", str(model), str(parts[1])],
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

    def mean_width(world):
        model = tmp_path / "model"
        words = [tmp_path / "fit.parquet", "--target", target, "--prediction", "prediction", "--goal", goal]
        words += ["--calibration-size", 0, "-o", model]
        fit(world, *words) if world else run_program("fit", *words)
        run_program("calibrate", model, tmp_path / "calibrate.parquet")
        return run_program("evaluate", model, tmp_path / "test.parquet", "--json")["levels"][0]["mean_width"]

    # Several workers split rows by their numbers, a single process by a shuffle, so other rows are held out.
    alone, dealt = mean_width(0), mean_width(1)
    print(f"\ncasp, {goal}: mean width {alone:.4f} by a process alone, {dealt:.4f} by several workers of one")
    assert dealt < 1.005 * alone
    for world in (2, 4):
        together = mean_width(world)
        print(f"casp, {goal}: {together:.4f} by {world} workers, {together / dealt - 1:+.2%}")
        assert abs(together / dealt - 1) < 0.005
