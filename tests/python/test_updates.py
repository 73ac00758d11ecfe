"""Concurrent updates of one model file: none is lost."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from widthwise import OnlinePredictor, Predictor, WidthwiseRegressor

GOLDEN = Path(__file__).parents[1] / "golden" / "model-trees.safetensors"
ROWS = 20


@pytest.fixture
def file(tmp_path):
    return Path(shutil.copy(GOLDEN, tmp_path / "model.safetensors"))


def rows(seed):
    random = np.random.default_rng(seed)
    return random.normal(size=(ROWS, 3)), 3 * random.normal(size=ROWS)


def rows_seen(file):
    return Predictor.load(file).calibration.rows_seen


LOAD_LARGE_FILES = """
import resource, sys, time
from widthwise import OnlinePredictor, Predictor, WidthwiseRegressor
limit = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + (1 << 30), limit[1]))
for file in sys.argv[1:]:
    for load in (Predictor.load, OnlinePredictor.load, WidthwiseRegressor.load):
        start = time.monotonic()
        try:
            load(file)
        except ValueError as error:
            print(time.monotonic() - start < 20, str(error)[:120])
"""


def test_large_files_are_rejected_by_their_header(file, tmp_path, run_python):
    long = tmp_path / "long"
    long.write_bytes((84_000_000).to_bytes(8, "little") + b"{")
    for name in (file, long):
        os.truncate(name, 8 << 30)  # holes, which take no space on disk
    done = run_python(LOAD_LARGE_FILES, file, long)
    expected = [f"True {file}: damaged: expected ", f"True {long}: not a model file: found other data"]
    lines = done.stdout.splitlines()
    assert len(lines) == 6, done
    for line, words in zip(lines, [expected[0]] * 3 + [expected[1]] * 3, strict=True):
        assert line.startswith(words[:110]), done


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_update_of_another_process_is_not_overwritten(file, tmp_path):
    before = rows_seen(file)
    first, second = (Predictor.load(file).calibrated(*rows(seed)) for seed in (1, 2))
    first.save(file)
    link = tmp_path / "link"
    link.symlink_to(file)
    second.save(tmp_path / "elsewhere")
    for path in (file, str(file), link):
        with pytest.raises(OSError, match="the file changed after this model was loaded; load it again"):
            second.with_guarantee(0.9).save(path)
    assert rows_seen(file) == before + ROWS
    again = Predictor.load(file).calibrated(*rows(2))
    again.save(file)
    again.save(file)
    assert rows_seen(file) == before + 2 * ROWS
    file.unlink()
    first.save(file)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_same_holds_for_regressors_and_streams(file):
    regressor = WidthwiseRegressor.load(file)
    stream = OnlinePredictor(Predictor.load(file), 0.9)
    stream.save(file)
    resumed = OnlinePredictor.load(file)
    stream.track(*rows(1))
    stream.save(file)
    for stale in (regressor, resumed):
        with pytest.raises(OSError, match="changed after"):
            stale.save(file)
    assert OnlinePredictor.load(file).rows_observed == ROWS


def test_a_model_that_was_not_loaded_from_a_file_replaces_it(file, tmp_path):
    other = Predictor.load(GOLDEN)
    Predictor.load(file).calibrated(*rows(1)).save(file)
    other.save(file)
    assert rows_seen(file) == rows_seen(GOLDEN)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_updates_that_are_repeated_after_a_conflict_all_count(file):
    before = rows_seen(file)

    def update(seed):
        X, y = rows(seed)
        conflicts = 0
        while True:
            try:
                Predictor.load(file).calibrated(X, y).save(file)
                return conflicts
            except OSError as error:
                assert "changed after" in str(error)
                conflicts += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(update, range(8)))
    assert rows_seen(file) == before + 8 * ROWS
