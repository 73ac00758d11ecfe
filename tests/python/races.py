"""Threads that share objects of the package: python races.py REPEATS [RACE ...].

Each race checks what threads must see if every call is atomic. This is a separate program, because a missing lock can
crash the process.
"""

import copy
import faulthandler
import pickle
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, OnlinePredictor, Predictor, WidthwiseRegressor

WRITERS = 8
READERS = 3


def run(*bodies):
    """Run functions in parallel threads, and raise the exception of any of them."""
    start = threading.Barrier(len(bodies))
    raised = []

    def guarded(body):
        start.wait()
        try:
            body()
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=[body]) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def while_running(read, *bodies):
    """Run functions in parallel with READERS threads that read until the functions are done."""
    left = [len(bodies)]
    lock = threading.Lock()

    def counted(body):
        def run_and_count():
            try:
                body()
            finally:
                with lock:
                    left[0] -= 1

        return run_and_count

    def reads():
        read()
        while left[0]:
            read()

    run(*map(counted, bodies), *[reads] * READERS)


def rows(seed, n=400):
    """X, outcomes and predictions."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2))
    return X, X[:, 0] + rng.normal(size=n), X[:, 0]


def localizer():
    return Localizer(score_transform="identity").fit(*rows(0))


def predictor():
    learnt = localizer()
    return Predictor(learnt, learnt.calibrate(*rows(1)))


def adds_of_eight_writers():
    shared, alone = Calibration(capacity=100_000), Calibration(capacity=100_000)
    scores = np.random.default_rng(0).exponential(size=(WRITERS, 20, 3000))
    keys = np.arange(scores.size).reshape(scores.shape)
    for part, key in zip(scores, keys, strict=True):
        for some, numbers in zip(part, key, strict=True):
            alone.add(some, key=numbers)

    def writer(i):
        def write():
            for some, numbers in zip(scores[i], keys[i], strict=True):
                shared.add(some, key=numbers)

        return write

    run(*map(writer, range(WRITERS)))
    assert shared == alone


def adds_that_number_their_rows():
    shared = Calibration()
    run(*[lambda: [shared.add(np.ones(20)) for _ in range(40)]] * WRITERS)
    assert shared.rows_seen == WRITERS * 800
    shared.to_bytes()  # an error if two rows have the same number


def one_writer_and_readers():
    shared = Calibration(capacity=10_000)

    def write():
        for i in range(100):
            shared.add(np.full(600, 1.0 + i), groups=np.arange(600) % 3)

    def read():
        if shared.groups:
            bound = shared.quantile(0.9, group=1)
            assert 1 <= bound <= 100
            assert 0 < shared.p_values([bound], group=1)[0] <= 1
        for other in (pickle.loads(pickle.dumps(shared)), copy.deepcopy(shared)):
            assert other.rows_seen % 600 == 0
            other.add([1.0], groups=[0], first_row=10**9)  # a copy has its own lock
        assert len(shared) <= 30_000

    while_running(read, write)
    assert shared.rows_seen == 60_000


def merges_into_each_other():
    a, b = Calibration(), Calibration()
    a.add(np.ones(2000))
    b.add(np.ones(1000), first_row=10_000)

    def merge(into, other):
        try:
            into.merge(other)
        except ValueError as error:
            assert "was added twice" in str(error)  # noqa: PT017 - the first merge succeeds

    run(
        lambda: [merge(a, b) for _ in range(4)],
        lambda: [merge(b, a) for _ in range(4)],
        lambda: merge(a, a),
        lambda: [(a.rows_seen, b.rows_seen) for _ in range(50)],
    )
    assert sorted([a.rows_seen, b.rows_seen]) in ([1000, 3000], [2000, 3000])


def merges_into_one():
    learnt = localizer()
    parts = [learnt.calibrate(*rows(10 + i, 60)) for i in range(WRITERS)]
    alone, shared = Calibration(), Calibration()
    for part in parts:
        alone.merge(part)
    while_running(
        lambda: Predictor(learnt, shared).calibration, *[lambda part=part: shared.merge(part) for part in parts]
    )
    assert pickle.dumps(shared) == pickle.dumps(alone)


def calibrations_of_one_object():
    learnt = localizer()
    shared, alone = Calibration(), Calibration()
    for i in range(WRITERS):
        learnt.calibrate(*rows(10 + i, 60), calibration=alone)
    refused = []

    def calibrate(i):
        learnt.calibrate(*rows(10 + i, 60), calibration=shared)

    def calibrate_again():
        try:
            calibrate(0)
        except ValueError:
            refused.append(0)

    run(*[lambda i=i: calibrate(i) for i in range(1, WRITERS)], *[calibrate_again] * 4)
    assert len(refused) == 3, "one table was added more than once"
    assert pickle.dumps(shared) == pickle.dumps(alone)


def observations_of_eight_writers():
    online = OnlinePredictor(predictor(), window_rows=200)
    X, y, f = rows(2, 25)
    size = len(pickle.dumps(online))

    def write():
        for _ in range(40):
            issued = online.predict_interval(X, f)
            online.observe(X[:10], y[:10], f[:10], batch=issued.batch)
            online.observe(X[10:], y[10:], f[10:], batch=issued.batch)
        online.drop(online.predict_interval(X, f).batch)
        online.track(X, y, f, batch_size=5)

    def read():
        observed = online.rows_observed
        assert not observed or 0 <= online.recent_coverage[0] <= 1
        assert pickle.loads(pickle.dumps(online)).rows_observed <= WRITERS * 1025
        assert len(online.pending) <= WRITERS

    while_running(read, *[write] * WRITERS)
    assert online.rows_observed == WRITERS * 1025
    assert not online.pending
    assert len(pickle.dumps(online)) < 2 * size + 100_000  # the alarm keeps at most 4,096 rows


def saves_while_observing():
    online = OnlinePredictor(predictor())
    X, y, f = rows(2, 25)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{i}.safetensors") for i in range(READERS)]

        def read():
            file = files[threading.get_ident() % READERS]
            online.save(file)
            assert OnlinePredictor.load(file).rows_observed % 25 == 0

        while_running(read, lambda: [online.track(X, y, f) for _ in range(60)])
    assert online.rows_observed == 1500


def conformalizations_of_one_model():
    X, y, f = rows(3)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=100, random_state=0).fit(X, y, y_pred=f)
    X_new, y_new, f_new = rows(50)
    new = [rows(20 + i, 50) for i in range(WRITERS)]

    def read():
        _, intervals = model.predict_interval(X, y_pred=f)
        assert np.isfinite(intervals).all()
        pickle.loads(pickle.dumps(model)).evaluate(X_new, y_new, y_pred=f_new)

    def write(i):
        return lambda: model.conformalize(*new[i][:2], y_pred=new[i][2])

    while_running(read, *map(write, range(WRITERS)))
    assert model.predictor_.calibration.rows_seen == 100 + WRITERS * 50


def fits_while_predicting():
    """A thread sees one fit or the other, never a mixture."""
    X, y, f = rows(4)
    few, many = (X[:, :1], y), (np.column_stack([X, X]), 3 * y)
    model = WidthwiseRegressor(LinearRegression(), score_transform="identity", random_state=0, cv=2).fit(*few)
    right = {}
    for columns, (table, outcomes) in ((1, few), (4, many)):
        right[columns] = copy.deepcopy(model).fit(table, outcomes).predict_interval(table[:5])[1]
    learnt = Localizer(score_transform="identity").fit(*few, f)

    def write():
        for table, outcomes in (many, few) * 4:
            model.fit(table, outcomes)
            learnt.fit(table, outcomes, f)

    def read():
        for columns, (table, _) in ((1, few), (4, many)):
            try:
                found = model.predict_interval(table[:5])[1]
            except ValueError:
                continue
            assert np.array_equal(found, right[columns])
        for table, outcomes in (few, many):
            try:
                assert learnt.scores(table, outcomes, f).shape == (len(y),)
            except ValueError as error:
                assert "feature" in str(error), error

    while_running(read, write)


RACES = [
    adds_of_eight_writers,
    adds_that_number_their_rows,
    one_writer_and_readers,
    merges_into_each_other,
    merges_into_one,
    calibrations_of_one_object,
    observations_of_eight_writers,
    saves_while_observing,
    conformalizations_of_one_model,
    fits_while_predicting,
]

if __name__ == "__main__":
    faulthandler.enable()
    sys.setswitchinterval(1e-5)  # switch threads as often as possible
    for race in [race for race in RACES if not sys.argv[2:] or race.__name__ in sys.argv[2:]]:
        print(race.__name__, flush=True)
        for _ in range(int(sys.argv[1])):
            race()
