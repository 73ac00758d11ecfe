"""The command of the wheel reads and writes tables with pyarrow, the program of a C++ build with Arrow's library: the
same table gives the same bytes."""

import gzip
import os
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from programs import with_processes

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")

# Earlier versions of pyarrow read views from Parquet as text, so the copied column has another type.
VIEW = pa.string_view() if int(pa.__version__.partition(".")[0]) >= 21 else pa.string()
N_ROWS = 1000
FIT = ["--target", "y", "--base", "trees", "--base-options", "rounds=10"]


@pytest.fixture(scope="module")
def native():
    """The program of a C++ build."""
    path = os.environ.get("WIDTHWISE_NET_PROGRAM")
    if not path:
        pytest.skip("WIDTHWISE_NET_PROGRAM is not set to the program widthwise of a C++ build")

    def run(*words, folder):
        return subprocess.run([path, *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables with columns of all kinds."""
    folder = tmp_path_factory.mktemp("command")
    random = np.random.default_rng(0)
    x = random.normal(size=N_ROWS)
    missing = random.random(N_ROWS) < 0.1
    columns = {
        "double": x,
        "single": pa.array(x.astype(np.float32), mask=missing),
        "half": pa.array(x.astype(np.float16), mask=missing),
        "decimal": pa.array([Decimal(f"{value:.3f}") for value in x], pa.decimal128(9, 3)),
        "byte": random.integers(-100, 100, N_ROWS).astype(np.int8),
        "key": random.integers(0, 2**63, N_ROWS).astype(np.uint64),
        "truth": pa.array(x > 0, mask=missing),
        "text": random.choice(["a", "b,c", 'd "e"', "f\ng"], N_ROWS),
        "view": pa.array(random.choice(["short", "longer than twelve bytes"], N_ROWS).tolist(), VIEW),
        "large": pa.array(random.choice(["p", "q"], N_ROWS).tolist(), pa.large_utf8()),
        "category": pa.array(random.choice(["u", "v"], N_ROWS)).dictionary_encode(),
        "day": pa.array(random.integers(0, 20_000, N_ROWS).astype("datetime64[D]")),
        "time": pa.array(random.integers(0, 10**15, N_ROWS).astype("datetime64[us]")),
        "nothing": pa.nulls(N_ROWS),
        "y": 2 * x + random.normal(size=N_ROWS),
    }
    table = pa.table(columns)
    pq.write_table(table, folder / "rows.parquet", row_group_size=300)
    plain = table.drop_columns(["key", "category", "view", "half", "decimal"])
    csv.write_csv(plain, folder / "rows.csv")
    with pa.CompressedOutputStream(str(folder / "rows.csv.gz"), "gzip") as out:
        csv.write_csv(plain, out)
    return folder


FEATURES = {
    "rows.parquet": "double,single,half,decimal,byte,truth,text,view,large,category,nothing",
    "rows.csv": "double,single,byte,truth,text,large,nothing",
    "rows.csv.gz": "double,text",
}


@pytest.mark.parametrize("table", FEATURES)
def test_tables_give_the_same_bytes(table, folder, native, program):
    def both(*words, output):
        """Run a command with both programs; return what they print and write."""
        done = [
            program(*words, "-o", f"ours-{output}", cwd=folder),
            native(*words, "-o", f"theirs-{output}", folder=folder),
        ]
        assert [run.returncode for run in done] == [0, 0], [run.stderr for run in done]
        assert done[0].stdout.replace("ours-", "theirs-") == done[1].stdout
        return [folder / f"{kind}-{output}" for kind in ("ours", "theirs")]

    model, same = both("fit", table, *FIT, "--features", FEATURES[table], output=f"{table}.safetensors")
    assert model.read_bytes() == same.read_bytes()
    for missing in ([], ["--missing", "a", "--missing", "0"]):
        written = both("predict", model.name, table, *missing, output=f"{table}.csv")
        assert written[0].read_bytes() == written[1].read_bytes()
    written = both("predict", model.name, table, output=f"{table}.csv.gz")
    assert gzip.decompress(written[0].read_bytes()) == gzip.decompress(written[1].read_bytes())
    ours, theirs = (pq.ParquetFile(file) for file in both("predict", model.name, table, output=f"{table}.parquet"))
    assert ours.schema_arrow == theirs.schema_arrow
    assert ours.read() == theirs.read()
    assert ours.metadata.num_row_groups == theirs.metadata.num_row_groups


def test_errors_are_the_same(native, program, tmp_path):
    tables = {
        "ragged.csv": "a,b\n1,2\n3\n",
        "open.csv": 'a,b\n1,"2\n3,4\n',
        "text.csv": "a,b\n1,2\n2,3\n3,4\n4,x\n",
        "empty.csv": "\n",
        "twice.csv": "a,a\n1,2\n",
        "damaged.parquet": "PAR1 damaged",
        "damaged.csv.gz": "not compressed",
    }
    for name, content in tables.items():
        (tmp_path / name).write_text(content)
        words = ["fit", name, "--target", "b", "--base", "trees", "-o", "m.safetensors"]
        ours = program(*words, cwd=tmp_path)
        theirs = native(*words, folder=tmp_path)
        assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr), name
        assert ours.returncode == 1 and ours.stderr.startswith(f"widthwise fit: {name}: "), ours.stderr


@pytest.mark.parametrize(
    ("limit", "table", "code"),
    [(1, "rows.parquet", 0), (4, "rows.csv", None), (5, "rows.csv", None), (64, "rows.csv", 0)],
)
def test_a_limit_of_processes_is_no_endless_wait(limit, table, code, folder, program):
    """Arrow waits indefinitely if it cannot start a thread. Reading CSV files needs two."""
    features = ["--features", "double,byte"]
    fitted = program("fit", "rows.csv", *FIT, *features, "-o", "limit.safetensors", cwd=folder)
    assert fitted.returncode == 0, fitted.stderr
    command = [*with_processes(limit), sys.executable, "-m", "widthwise._command"]
    words = ["predict", "limit.safetensors", table, "-o", f"limit-{limit}.csv"]
    done = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stderr
    if done.returncode == 1:
        assert "rows.csv: cannot start the 2 threads that read CSV files; raise the limit of processes" in done.stderr
