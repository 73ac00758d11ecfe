"""Shared fixtures of the tests of the Python package: models, and programs to run.

The tests use the installed package. WIDTHWISE_PROGRAM names a program to compare with; the default is the command of
the installed package.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import widthwise
from examples import N_JOBS, Rows
from widthwise import WidthwiseRegressor


@pytest.fixture(scope="session")
def rows():
    return Rows(3000)


@pytest.fixture(scope="session")
def fresh():
    return Rows(2000, seed=1)


@pytest.fixture(scope="session")
def model(rows):
    """With XGBoost's trees as the base model."""
    return WidthwiseRegressor(compare=True, random_state=1, n_jobs=N_JOBS).fit(rows.X, rows.y)


@pytest.fixture(scope="session")
def program():
    """The command `widthwise`."""
    named = os.environ.get("WIDTHWISE_PROGRAM")
    found = named or shutil.which("widthwise", path=str(Path(sys.executable).parent))
    if not found:
        pytest.skip("there is no command widthwise beside this Python, and WIDTHWISE_PROGRAM is not set")

    def run(*arguments, **options):
        return subprocess.run(
            [found, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options
        )

    return run


@pytest.fixture
def run_python(tmp_path):
    """Run a script in a separate Python process, outside the source tree."""

    def run(script, *arguments, timeout=300, **options):
        file = tmp_path / "script.py"
        file.write_text(script)
        return subprocess.run(
            [sys.executable, str(file), *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )

    return run


# ---- distributed systems on this machine


@pytest.fixture(scope="session")
def _workers_find_the_package():
    """Started processes import the widthwise under test and use only this machine."""
    with pytest.MonkeyPatch.context() as patch:
        home = str(Path(widthwise.__file__).parent.parent)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")])))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


@pytest.fixture(scope="session")
def client(_workers_find_the_package):
    """Dask with two workers."""
    distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def spark(_workers_find_the_package):
    """Spark with two workers."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        session = (
            sql.SparkSession.builder.master("local[2]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        try:
            yield session
        finally:
            session.stop()


@pytest.fixture(scope="session")
def ray(_workers_find_the_package):
    """Ray with two workers, and CPUs left for reading and writing."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_agent_register_timeout_ms", "120000")  # the processes of Ray start slowly on a busy machine
        patch.setenv("RAY_DATA_EXECUTION_NO_PROGRESS_TIMEOUT_S", "300")  # a job that hangs ends after five minutes
        ray.init(num_cpus=4, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()
