"""Put shared objects under mixed load: python load.py SECONDS [THREADS].

Threads predict, observe, calibrate, copy, save and load at random, all on the same few objects. Every interval is
compared bit for bit with the interval of the same model before the load. Prints one line of JSON: calls, latencies of
each kind of call in milliseconds, wrong answers, memory in kB.
"""

import gc
import json
import pickle
import random
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from widthwise import Calibration, Localizer, OnlinePredictor, Predictor

ROWS = 200
KEPT = 1000  # number of latencies kept per kind of call and thread


def resident_kb():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def rows(seed, n=ROWS):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 3))
    return X, X[:, 0] + rng.normal(size=n) * (0.2 + X[:, 1]), X[:, 0]


def tables(X):
    """The same rows in several formats. Not polars, whose frames can deadlock when shared by threads."""
    found = [X, np.asfortranarray(X), X.tolist()]
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    for name, make in (("pandas", "DataFrame"), ("pyarrow", "table")):
        try:
            found.append(getattr(__import__(name), make)(columns))
        except ImportError:
            pass
    return found


class Load:
    def __init__(self, folder):
        localizer = Localizer(n_jobs=1).fit(*rows(0, 1000))
        self.predictors = [Predictor(localizer, localizer.calibrate(*rows(seed, 300))) for seed in (1, 2)]
        self.localizer = localizer
        self.X, self.y, self.f = rows(3)
        self.tables = tables(self.X)
        self.right = [predictor.predict_interval(self.X, self.f)[1] for predictor in self.predictors]
        self.live = 0, self.predictors[0]  # the model served, and its number
        self.online = OnlinePredictor(self.predictors[0], window_rows=500)
        self.calibration = Calibration(capacity=5000)
        self.folder = Path(folder)
        self.stop = False
        self.wrong = 0
        self.taken = {}
        self.calls = {}

    # ---- kinds of calls

    def predict(self, chance):
        number, predictor = self.live
        _, intervals = predictor.predict_interval(chance.choice(self.tables), self.f)
        if intervals.tobytes() != self.right[number].tobytes():
            self.wrong += 1

    def predict_one(self, chance):
        number, predictor = self.live
        row = chance.randrange(ROWS)
        _, intervals = predictor.predict_interval(self.X[row : row + 1], self.f[row : row + 1])
        if intervals.tobytes() != self.right[number][row : row + 1].tobytes():
            self.wrong += 1

    def observe(self, chance):
        issued = self.online.predict_interval(self.X[:20], self.f[:20])
        self.online.observe(self.X[:20], self.y[:20], self.f[:20], batch=issued.batch)

    def calibrate(self, chance):
        self.calibration.add(np.abs(self.y), key=np.random.default_rng(chance.getrandbits(60)).integers(0, 2**62, ROWS))

    def read(self, chance):
        assert self.calibration.quantile(0.9) > 0
        assert pickle.loads(pickle.dumps(self.calibration)).rows_seen <= self.calibration.rows_seen
        assert not np.isnan(self.online.coverage).any() or not self.online.rows_observed

    def reload(self, chance):
        number = chance.randrange(2)
        file = self.folder / f"{threading.get_ident()}.safetensors"
        self.predictors[number].save(file)
        self.live = number, Predictor.load(file)

    def save_stream(self, chance):
        file = self.folder / f"{threading.get_ident()}-stream.safetensors"
        self.online.save(file)
        assert OnlinePredictor.load(file).rows_observed % 20 == 0

    KINDS = {predict: 30, predict_one: 40, observe: 10, calibrate: 8, read: 5, reload: 4, save_stream: 3}

    def work(self, seed):
        chance = random.Random(seed)
        kinds, weights = list(self.KINDS), list(self.KINDS.values())
        while not self.stop:
            kind = chance.choices(kinds, weights)[0]
            begin = time.perf_counter()
            kind(self, chance)
            taken = time.perf_counter() - begin
            mine = self.taken[seed].setdefault(kind.__name__, [])
            self.calls[seed] += 1
            if len(mine) < KEPT:
                mine.append(taken)
            else:
                mine[chance.randrange(KEPT)] = taken


def run(seconds, threads):
    with tempfile.TemporaryDirectory() as folder:
        load = Load(folder)
        load.calibrate(random.Random(0))
        raised = []

        def work(seed):
            load.taken[seed], load.calls[seed] = {}, 0
            try:
                load.work(seed)
            except BaseException as error:  # noqa: BLE001 - raised again below
                raised.append(error)
                load.stop = True

        workers = [threading.Thread(target=work, args=[seed]) for seed in range(threads)]
        begin = time.monotonic()
        for worker in workers:
            worker.start()
        early = 0
        while not load.stop and time.monotonic() < begin + seconds:
            time.sleep(min(1.0, seconds / 20))
            if not early and time.monotonic() > begin + seconds / 2:
                gc.collect()
                early = resident_kb()
        load.stop = True
        for worker in workers:
            worker.join()
        passed = time.monotonic() - begin
        if raised:
            raise raised[0]
        gc.collect()
        calls = sum(load.calls.values())
        return {
            "calls": calls,
            "per_second": round(calls / passed, 1),
            "wrong": load.wrong,
            "half_time_kb": early,
            "end_kb": resident_kb(),
            "latency_ms": {
                kind.__name__: [
                    round(1000 * float(np.quantile(times, share)), 3)
                    for times in [np.concatenate([one.get(kind.__name__, []) for one in load.taken.values()])]
                    if len(times)
                    for share in (0.5, 0.99)
                ]
                for kind in Load.KINDS
            },
        }


if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 8)))
