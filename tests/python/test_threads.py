"""The default number of training threads suits the table and the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import with_processes

from widthwise import _core
from widthwise._engine import threads_of

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import threads as bench  # noqa: E402

FITS = """
import os
import numpy as np
from widthwise import Localizer, _core

def fit(rows):
    before = len(os.listdir("/proc/self/task"))
    X = np.random.default_rng(0).normal(size=(rows, 8))
    Localizer().fit(X, X[:, 0] * X[:, 1], np.zeros(rows))
    print(_core.available_processors(), 1 + len(os.listdir("/proc/self/task")) - before)

allowed = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, allowed[:2])
fit(300)
os.environ["OMP_NUM_THREADS"] = "1"
fit(6000)
del os.environ["OMP_NUM_THREADS"]
os.sched_setaffinity(0, allowed[:1])
fit(6000)
os.sched_setaffinity(0, allowed[:2])
fit(6000)
"""


def test_threads_follow_size_variable_and_affinity(run_python):
    """OpenMP keeps its threads after a fit; idle threads that widthwise adds end with the fit."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    done = run_python(FITS, env=bench.environment())
    assert done.returncode == 0, done.stderr
    processors_and_threads = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert processors_and_threads == [(2, 1), (1, 1), (1, 1), (2, 2)]


FORKS = """
import os
import signal
import sys
import numpy as np
from widthwise import Localizer

X = np.random.default_rng(0).normal(size=(1000, 4))

def fit():
    localizer = Localizer(n_jobs=2).fit(X, X[:, 0] * X[:, 1], np.zeros(1000))
    return localizer.parameters(X, np.zeros(1000)).tobytes()

if sys.argv[1] == "widthwise":
    ours = fit()
else:
    import xgboost
    xgboost.train({"nthread": 2}, xgboost.DMatrix(X, X[:, 0], nthread=2), 3)
assert len(os.listdir("/proc/self/task")) > 1
child = os.fork()
if child == 0:
    signal.alarm(240)
    theirs = fit()
    assert len(os.listdir("/proc/self/task")) == 1
    os._exit(0 if sys.argv[1] != "widthwise" or theirs == ours else 2)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("package", ["widthwise", "xgboost"])
def test_a_child_fits_after_its_parent_has_used_threads(run_python, package):
    """Threads do not survive a fork, but libgomp waits for them: with several threads the child would hang."""
    done = run_python(FORKS, package, env=bench.environment(), timeout=300)
    assert done.returncode == 0, done.stderr


def test_n_jobs_counts_from_the_processors_available():
    assert threads_of(None) == threads_of(-1) == 0
    assert threads_of(3) == 3
    assert threads_of(-2) == max(1, _core.available_processors() - 1)
    assert threads_of(-1000) == 1


def test_threads_that_wait_do_not_use_the_processors(tmp_path):
    assert bench.cost_of_waiting(bench.Python(tmp_path)) < 2


@pytest.mark.skipif("WIDTHWISE_FULL" not in os.environ, reason="several minutes; set WIDTHWISE_FULL=1")
@pytest.mark.parametrize("rows", bench.ROWS)
def test_the_default_is_near_the_best(tmp_path, rows):
    """Compare medians of wall time of alternating runs."""
    ratios = bench.compare(bench.Python(tmp_path), rows)
    assert ratios["default over best"] < 1.2
    assert ratios["two at once over one"] < 2.3


FIT_WITH_TWO_THREADS = """
import numpy as np
from widthwise import Localizer
random = np.random.default_rng(0)
X = random.normal(size=(500, 3))
y = X[:, 0] + random.normal(size=500)
fitted = Localizer(n_jobs=2, localizer_options={"max_rounds": 5}).fit(X, y, X[:, 0])
print(hash(fitted._model.to_bytes()))
"""


def test_a_limit_of_processes_leaves_one_thread():
    """libgomp ends the process if it cannot start a thread."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    printed = []
    for words in ([], with_processes(1)):
        command = [*words, sys.executable, "-c", FIT_WITH_TWO_THREADS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1]
