"""The example service, examples/serve.cpp: hot reload, invalid lines, and coverage from outcomes that arrive later."""

import itertools
import json
import os
import shutil
import subprocess
import threading
import time

import numpy
import pyarrow
import pyarrow.parquet
import pytest

TOWNS = ["Bonn", "Cologne", "Trier"]
WAIT = 60  # seconds; a busy machine is slow


def homes(rows, seed):
    random = numpy.random.default_rng(seed)
    town = random.integers(0, 3, rows)
    size = random.uniform(30, 200, rows)
    price = size * (3 + town + 0.3 * (1 + town) * random.normal(size=rows))
    size[random.random(rows) < 0.05] = numpy.nan
    columns = {"size": pyarrow.array(size, from_pandas=True), "town": [TOWNS[k] for k in town], "price": price}
    return pyarrow.table(columns)


@pytest.fixture(scope="module")
def new():
    return homes(400, seed=3)


@pytest.fixture(scope="module")
def models(run, new, tmp_path_factory):
    """Two model files, each with the intervals that the command line predicts."""
    folder = tmp_path_factory.mktemp("models")
    pyarrow.parquet.write_table(new, folder / "new.parquet")
    found = []
    for seed in (1, 2):
        file = folder / f"{seed}.safetensors"
        pyarrow.parquet.write_table(homes(1200, seed), folder / "fit.parquet")
        options = ["--target", "price", "--base", "trees", "--outcome-range", "0,"]
        run("fit", folder / "fit.parquet", *options, "-o", file)
        run("predict", file, folder / "new.parquet", "--level", "0.9", "-o", folder / "out.parquet")
        out = pyarrow.parquet.read_table(folder / "out.parquet")
        columns = (out[name].to_pylist() for name in ("prediction", "lower_0.9", "upper_0.9"))
        found.append((file, list(zip(*columns, strict=True))))
    return found


class Client:
    """The service with four threads; its answers are collected as they arrive."""

    def __init__(self, serve, file):
        command = [serve, file, "0.9", "4"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.answers = []
        self.messages = []
        self._readers = [
            threading.Thread(target=lambda: self.answers.extend(map(json.loads, self.process.stdout))),
            threading.Thread(target=lambda: self.messages.extend(self.process.stderr)),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(WAIT) == 0
        for reader in self._readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, requests):
        for request in requests:
            self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def wait_for(self, condition):
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, f"after {len(self.answers)} answers: {self.messages}"
            time.sleep(0.01)


def replace(live, file):
    shutil.copy(file, f"{live}.new")
    os.replace(f"{live}.new", live)


def test_model_files_are_replaced_while_requests_run(models, new, serve, tmp_path):
    (first, _), (second, _) = models
    live = tmp_path / "live.safetensors"
    replace(live, first)
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(second.read_bytes()[:-1])
    rows = new.drop_columns("price").to_pylist()
    stop = threading.Event()
    with Client(serve, live) as client:

        def write():
            for i in itertools.count():
                if stop.is_set():
                    return
                client.ask([{"id": i, "row": rows[i % len(rows)]}])
                time.sleep(0.001)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            client.wait_for(lambda: len(client.answers) > 100)
            replace(live, second)
            client.wait_for(lambda: client.answers[-1]["model"] == 2)
            replace(live, damaged)
            client.wait_for(lambda: client.messages)
            replace(live, first)
            client.wait_for(lambda: client.answers[-1]["model"] == 3)
        finally:
            stop.set()
            writer.join()
    assert len(client.messages) == 1
    assert client.messages[0].endswith("; the old model stays in use\n")
    assert sorted(answer["id"] for answer in client.answers) == list(range(len(client.answers)))
    expected = {1: models[0][1], 2: models[1][1], 3: models[0][1]}
    for answer in client.answers:
        found = (answer["prediction"], answer["lower"], answer["upper"])
        assert found == expected[answer["model"]][answer["id"] % len(rows)]  # bit for bit


def test_outcomes_that_arrive_later_give_the_coverage(models, new, serve):
    file, intervals = models[0]
    rows = new.drop_columns("price").to_pylist()
    price = new["price"].to_pylist()
    with Client(serve, file) as client:
        client.ask({"id": i, "row": row} for i, row in enumerate(rows))
        client.wait_for(lambda: len(client.answers) == len(rows))
        client.ask({"id": i, "outcome": price[i]} for i in range(200))
        client.wait_for(lambda: len(client.answers) == len(rows) + 200)
        quiet = next(answer for answer in client.answers if answer.get("outcomes") == 200)
        client.ask({"id": i, "outcome": 3 * price[i]} for i in range(200, 400))
    covered = [lower <= y <= upper for (_, lower, upper), y in zip(intervals[:200], price[:200], strict=True)]
    assert quiet["coverage"] == sum(covered) / 200
    assert 0.8 < quiet["coverage"] < 0.98
    assert not quiet["drift"]
    for answer in client.answers:
        if "covered" in answer and answer["id"] < 200:
            assert answer["covered"] == covered[answer["id"]]
    last = next(answer for answer in client.answers if answer.get("outcomes") == 400)
    assert last["drift"]
    assert last["coverage"] < 0.7


INVALID = [
    (b"", "not a JSON object"),
    (b"size=3", "not a JSON object"),
    (b"[1, 2]", "not a JSON object"),
    (b"[" * 200_000, "the line has more than 8 levels"),
    (b'{"id": 1, "row": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, "the line has more than 8 levels"),
    (b'{"id": 1, "row": {"size": 1, "town": "' + b"B" * (1 << 20) + b'"}}', "the line is longer than 1048576 bytes"),
    (b'{"id": 1, "row": {"size": "\xff", "town": "Bonn"}}', "not a JSON object"),
    (b'{"row": {"size": 100, "town": "Bonn"}}', 'expected an "id": a text or a whole number below 2^64'),
    (b'{"id": 18446744073709551616, "row": {"size": 100, "town": "Bonn"}}', 'expected an "id": a text'),
    (b'{"id": [1], "row": {"size": 100, "town": "Bonn"}}', 'expected an "id": a text'),
    (b'{"id": 1}', 'expected an object "row" or a number "outcome"'),
    (b'{"id": 1, "row": [100]}', 'expected an object "row" or a number "outcome"'),
    (b'{"id": 1, "row": {"size": 100}}', "the row has no column 'town'"),
    (b'{"id": 1, "row": {"size": "big", "town": "Bonn"}}', "'size' is \"big\"; expected a number or null"),
    (b'{"id": 9, "row": {"size": 100, "town": "Bonn"}}', "another row with this id waits for its outcome"),
    (b'{"id": 1, "outcome": 300}', "no row with this id waits for its outcome"),
    (b'{"id": 9, "outcome": null}', "'outcome' is null; expected a number"),
    (b'{"id": 9, "outcome": "high"}', "'outcome' is \"high\"; expected a number"),
    (b'{"id": 9, "outcome": -400}', "outcome range"),
]


def test_an_invalid_line_is_answered_and_the_next_line_is_served(models, serve):
    good = b'{"id": 9, "row": {"size": null, "town": "Paris", "garden": true}}'
    lines = [good, *(line for line, _ in INVALID), b'{"id": 9, "outcome": 400}']
    done = subprocess.run([serve, models[0][0], "0.9", "1"], input=b"\n".join(lines), capture_output=True, check=True)
    answers = list(map(json.loads, done.stdout.splitlines()))  # one thread answers in order
    assert answers[0]["lower"] < answers[0]["prediction"] < answers[0]["upper"]
    assert answers[-1]["outcomes"] == 1
    for (line, words), answer in zip(INVALID, answers[1:-1], strict=True):
        assert set(answer) == {"id", "error"}, line
        assert words in answer["error"]


IDS = [-(2**63), -1, 2**63 - 1, 2**63, 2**64 - 1, "7", "", "Köln \u2028"]


def test_every_id_is_echoed_exactly_and_the_oldest_row_is_dropped(models, serve):
    """Of 100,000 rows that wait for their outcomes, a new one replaces the oldest, whatever their ids."""
    row = {"size": 100, "town": "Bonn"}
    asked = [{"id": i, "row": row} for i in (7, *IDS)] + [{"id": i, "outcome": 400} for i in (7, *IDS)]
    waiting = [5, 4, *range(6, 100_004)]  # 5 is the oldest, 4 the smallest
    asked += [{"id": i, "row": row} for i in (*waiting, 0)]
    asked += [{"id": i, "outcome": 400} for i in (5, 4, 0)]
    lines = "".join(json.dumps(line) + "\n" for line in asked)
    done = subprocess.run([serve, models[0][0], "0.9", "1"], input=lines, capture_output=True, text=True, check=True)
    answers = list(map(json.loads, done.stdout.rstrip("\n").split("\n")))
    assert [(type(a["id"]), a["id"]) for a in answers] == [(type(a["id"]), a["id"]) for a in asked]
    assert not any("error" in answer for answer in answers[:-3])
    assert ["error" in answer for answer in answers[-3:]] == [True, False, False]


def test_a_model_file_that_cannot_be_read_is_an_error(serve, tmp_path):
    done = subprocess.run([serve, tmp_path / "none", "0.9", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("serve: ")
    assert subprocess.run([serve], capture_output=True, check=False).returncode == 2
