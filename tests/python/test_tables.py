"""Tables of every library give the same intervals and are not copied."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from examples import N_JOBS
from widthwise import Localizer, Predictor, WidthwiseRegressor

NAMES = ["size", "age", "noise"]


@pytest.fixture(scope="module")
def predictor(rows, fresh):
    localizer = Localizer(n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    return Predictor(localizer, localizer.calibrate(fresh.frame(), fresh.y, fresh.y_pred))


def pandas_nullable(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: pandas.array(X[:, j], dtype="Float64") for j, name in enumerate(NAMES)})


def pandas_in_another_order(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=NAMES)
    frame.insert(0, "text", "a")
    return frame[["noise", "text", "age", "size"]]


def polars_frame(X):
    polars = pytest.importorskip("polars")
    columns = {name: polars.Series(X[:, j]).fill_nan(None) for j, name in enumerate(NAMES)}
    return polars.DataFrame({**columns, "text": ["a"] * len(X)})


def pyarrow_chunks(X):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({name: pyarrow.array(X[:, j], from_pandas=True) for j, name in enumerate(NAMES)})
    # Slices have an offset into their buffers and into the validity bitmaps.
    return pyarrow.concat_tables([table.slice(0, 13), table.slice(13, 700), table.slice(713, 0), table.slice(713)])


def duckdb_relation(X):
    duckdb = pytest.importorskip("duckdb")
    arrow = pyarrow_chunks(X)  # noqa: F841 - DuckDB reads the variable
    return duckdb.sql("SELECT noise, size, age, 'a' AS text FROM arrow")


FORMS = {
    "numpy": lambda X: X,
    "numpy by columns": lambda X: np.asfortranarray(X),
    "numpy, every other row backwards": lambda X: np.repeat(X[::-1], 2, axis=0)[::-2],
    "big-endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X, columns=NAMES),
    "pandas, nullable": pandas_nullable,
    "pandas, another order": pandas_in_another_order,
    "polars": polars_frame,
    "pyarrow": pyarrow_chunks,
    "duckdb": duckdb_relation,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_table_gives_the_same_intervals(predictor, rows, form):
    expected = predictor.predict_interval(rows.X, rows.y_pred)[1]
    found = predictor.predict_interval(FORMS[form](rows.X), rows.y_pred)[1]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"],
)
def test_every_kind_of_number(predictor, dtype):
    pyarrow = pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 4, (500, 3)).astype(dtype)
    y_pred = np.ones(500)
    expected = predictor.predict_interval(X.astype(np.float64), y_pred)[1]
    arrow = pyarrow.table({name: X[:, j].copy() for j, name in enumerate(NAMES)})
    if dtype == "float16":
        arrow = arrow.cast(pyarrow.schema([(name, pyarrow.float32()) for name in NAMES]))
    for table in (X, pandas.DataFrame(X, columns=NAMES), arrow, arrow.slice(3)):
        found = predictor.predict_interval(table, y_pred[: len(table)])[1]
        np.testing.assert_array_equal(found, expected[-len(found) :])


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow", "duckdb"])
def test_localizers_fit_every_kind_of_table(rows, form):
    table = FORMS[form](rows.X)
    localizer = Localizer(n_jobs=N_JOBS).fit(table, rows.y, rows.y_pred)
    assert set(localizer.features) - {"text"} == set(NAMES)  # text is a category


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow", "duckdb"])
def test_regressors_fit_every_kind_of_table(rows, form):
    def table():
        return FORMS[form](np.nan_to_num(rows.X[:400]))

    model = WidthwiseRegressor(random_state=0, n_jobs=N_JOBS).fit(table(), rows.y[:400])
    assert set(model.predictor_.features) - {"text"} == set(NAMES)
    assert model.predict_interval(table())[1].shape == (400, 2, 1)
    own = WidthwiseRegressor(ByColumns(), random_state=0, n_jobs=N_JOBS)
    if form == "duckdb":
        with pytest.raises(TypeError, match="pass a frame"):
            own.fit(table(), rows.y[:400])
    else:
        assert own.fit(table(), rows.y[:400]).predict_interval(table())[1].shape == (400, 2, 1)


class ByColumns(RegressorMixin, BaseEstimator):
    """Accepts a frame of any library."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return self.mean_ + np.asarray(X["size"], dtype=float)


def test_columns_of_outcomes_may_come_from_anywhere(predictor, rows):
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    duckdb = pytest.importorskip("duckdb")
    arrow = pyarrow.table({"y": rows.y})
    expected = predictor.predict_p(rows.X, rows.y, rows.y_pred)
    relation = duckdb.sql("SELECT y FROM arrow")
    for y in (rows.y.tolist(), rows.y[:, None], polars.Series(rows.y), arrow["y"], relation):
        np.testing.assert_array_equal(predictor.predict_p(rows.X, y, rows.y_pred), expected)


def test_columns_that_do_not_fit_are_named(predictor, rows):
    with pytest.raises(ValueError, match="no column 'age', which was seen in fit; did you mean 'ages'"):
        predictor.predict_interval(rows.frame().rename(columns={"age": "ages"}), rows.y_pred)
    with pytest.raises(ValueError, match="column 'age' is not numeric"):
        predictor.predict_interval(rows.frame().assign(age="old"), rows.y_pred)
    with pytest.raises(ValueError, match="X has 2 features, but 3 were seen in fit: size, age, noise"):
        predictor.predict_interval(rows.X[:, :2], rows.y_pred)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        predictor.predict_interval(rows.X[0], [1.0])
    with pytest.raises(ValueError, match="X has 3,000 rows, y_pred has 7"):
        predictor.predict_interval(rows.X, rows.y_pred[:7])
    with pytest.raises(ValueError, match="X has no column of numbers or categories"):
        Localizer().fit(rows.frame()[["age"]].astype(str), rows.y, rows.y_pred)
    scipy_sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        predictor.predict_interval(scipy_sparse.csr_matrix(np.nan_to_num(rows.X)), rows.y_pred)


def test_no_rows_are_accepted(predictor):
    pyarrow = pytest.importorskip("pyarrow")
    empty = pyarrow.table({name: pyarrow.array([], pyarrow.float64()) for name in NAMES})
    for table in (np.empty((0, 3)), empty):
        y_pred, intervals = predictor.predict_interval(table, [])
        assert y_pred.shape == (0,) and intervals.shape == (0, 2, 1)


MEMORY = """
import sys
import numpy as np
from widthwise import Predictor

n, form, file = 10_000_000, sys.argv[1], sys.argv[2]
predictor = Predictor.load(file)
columns = {name: np.random.default_rng(j).uniform(0, 4, n).astype(sys.argv[3]) for j, name in enumerate(predictor.features)}
if form == "numpy":
    table = np.column_stack(list(columns.values()))
    columns = None
elif form == "pandas":
    import pandas
    table = pandas.DataFrame(columns, copy=False)
elif form == "polars":
    import polars
    table = polars.DataFrame(columns)
else:
    import pyarrow
    table = pyarrow.table(columns)

def memory(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) * 1024

predictions = np.ones(n)
predictor.predict_interval(table[:10], predictions[:10])
open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
before = memory("VmRSS")
y_pred, intervals = predictor.predict_interval(table, predictions)
peak = memory("VmHWM") - before
output = y_pred.nbytes + intervals.nbytes
print(peak, output)
assert output == n * 3 * 8
assert peak <= output + 64 * 2**20, (peak - output) / 2**20
"""


@pytest.mark.parametrize("form, dtype", [("numpy", "float64"), ("pandas", "float64"), ("polars", "float32")])
def test_ten_million_rows_take_no_memory_but_their_intervals(predictor, run_python, tmp_path, form, dtype):
    if form != "numpy":
        pytest.importorskip(form)
    predictor.save(tmp_path / "model.safetensors")
    done = run_python(MEMORY, form, tmp_path / "model.safetensors", dtype, timeout=600)
    assert done.returncode == 0, done.stderr
    peak, output = map(int, done.stdout.split())
    print(f"{form} {dtype}: peak {peak / 2**20:.0f} MiB for {output / 2**20:.0f} MiB of intervals")
