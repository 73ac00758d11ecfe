"""Intervals and calibration on Spark, Dask and DuckDB give the same bits as the library."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import widthwise
from examples import N_JOBS, Rows
from widthwise import Localizer, Predictor, WidthwiseRegressor, _batches

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")

LEVELS = [0.8, 0.95]
ADDED = ["lower_0.8", "upper_0.8", "lower_0.95", "upper_0.95"]


def table_of(rows, seed):
    """Features with some nulls, forecasts, outcomes, keys that doubles cannot distinguish, and columns of text."""
    rng = np.random.default_rng(seed)
    n = len(rows.y)
    columns = {name: pa.array(rows.X[:, j], from_pandas=True) for j, name in enumerate(["size", "age", "noise"])}
    columns["y_pred"] = rows.y_pred
    columns["y"] = rows.y
    columns["id"] = rng.permutation(n).astype(np.int64) * np.where(rng.random(n) < 0.5, 1, -1) + (seed << 55)
    columns["kind"] = rng.integers(0, 2, n).astype(np.int32)
    columns["name"] = [f"row {i}" for i in range(n)]
    columns["city"] = pa.array(rng.choice(["Bath", "Ely", None], n))
    columns["ratio"] = rng.uniform(0.5, 2, n)
    columns["patient"] = [f"patient {seed}-{i}" for i in rng.integers(0, 200, n)]
    return pa.table(columns)


@pytest.fixture(scope="module")
def table(fresh):
    return table_of(fresh, 1)


@pytest.fixture(scope="module")
def parquet(table, tmp_path_factory):
    """The table in four files, its rows in another order."""
    folder = tmp_path_factory.mktemp("parquet")
    order = np.random.default_rng(3).permutation(table.num_rows)
    for i, part in enumerate(np.array_split(order, 4)):
        pq.write_table(table.take(part), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def predictors(rows):
    """Predictors with and without a base model, with groups, with weights and categories, with clusters, and of
    folds."""
    frame = rows.frame()
    regressor = WidthwiseRegressor(random_state=0, n_jobs=N_JOBS).fit(frame, rows.y)
    more = Rows(900, seed=7)
    localizer = Localizer(n_jobs=N_JOBS).fit(frame, rows.y, rows.y_pred)
    calibrated = localizer.calibrate(more.frame(), more.y, more.y_pred)
    grouped = localizer.calibrate(more.frame(), more.y, more.y_pred, groups=np.arange(900) % 2)
    table = table_of(more, 6).to_pandas()

    def fitted(features, calibration="split", **columns):
        own = WidthwiseRegressor(random_state=0, n_jobs=N_JOBS, calibration=calibration, cv=3)
        return own.fit(table[features], table["y"], **{name: table[of] for name, of in columns.items()}).predictor_

    return {
        "own": regressor.predictor_,
        "forecasts": Predictor(localizer, calibrated),
        "grouped": Predictor(localizer, grouped),
        "weighted": fitted(["size", "age", "city"], weights="ratio"),
        "clustered": fitted(["size", "age"], clusters="patient"),
        "cross": fitted(["size", "age"], calibration="cross"),
    }


@pytest.fixture(params=["own", "forecasts", "grouped", "weighted", "clustered"])
def predictor(predictors, request):
    return predictors[request.param]


@pytest.fixture(params=["own", "forecasts", "grouped", "weighted", "cross"])
def scoring(predictors, request):
    """A predictor that need not be calibrated further."""
    return predictors[request.param]


def groups_of(predictor):
    return "kind" if predictor._model.grouped else None


def population_of(predictor):
    return "source" if predictor._model.weighted else None


def expected(predictor, table):
    """The expected new columns, computed by the library."""
    y_pred, bounds = predictor.predict_interval(
        table,
        np.array(table["y_pred"]) if predictor.needs_predictions else None,
        confidence_level=LEVELS,
        groups=np.array(table["kind"]) if groups_of(predictor) else None,
    )
    columns = {} if predictor.needs_predictions else {"prediction": y_pred}
    for j, level in enumerate(["0.8", "0.95"]):
        columns[f"lower_{level}"] = bounds[:, 0, j]
        columns[f"upper_{level}"] = bounds[:, 1, j]
    return columns


def assert_same(found, predictor, table):
    """An Arrow table in any order has all rows unchanged and the library's bits."""
    columns = expected(predictor, table)
    assert found.column_names == [*table.column_names, *columns]
    found = found.sort_by("id")
    order = np.argsort(np.array(table["id"]))
    for name in table.column_names:
        np.testing.assert_array_equal(found[name].to_numpy(), table[name].take(order).to_numpy())
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name].to_numpy(), values[order])


def calibrated_alone(predictor, table):
    return predictor.calibrated(
        table,
        np.array(table["y"]),
        np.array(table["y_pred"]) if predictor.needs_predictions else None,
        key=np.array(table["id"]),
        groups=np.array(table["kind"]) if groups_of(predictor) else None,
        population=population_of(predictor),
    )


def bytes_of(predictor):
    return predictor._model.to_bytes()


# ---- keys


def test_any_order_and_partition_of_rows_with_keys_gives_the_same_bytes(predictor, table):
    whole = bytes_of(calibrated_alone(predictor, table))
    order = np.random.default_rng(0).permutation(table.num_rows)
    dealt = predictor
    for part in np.array_split(order, [1, 700]):
        dealt = calibrated_alone(dealt, table.take(part))
    assert bytes_of(dealt) == whole


def test_keys_are_whole_numbers_each_once(predictors, table):
    predictor = predictors["own"]
    y = np.array(table["y"])
    with pytest.raises(ValueError, match="key must be unique 64-bit integers.*found float64"):
        predictor.calibrated(table, y, key=np.arange(len(y), dtype=float))
    with pytest.raises(ValueError, match="2,000 rows, key has shape"):
        predictor.calibrated(table, y, key=np.arange(3))
    with pytest.raises(ValueError, match="added twice"):
        predictor.calibrated(table, y, key=np.zeros(len(y), dtype=int))
    negative = widthwise.Calibration().add([1.0], key=np.array([-1]))
    assert negative == widthwise.Calibration().add([1.0], key=np.array([2**64 - 1], dtype=np.uint64))
    with pytest.raises(ValueError, match="either first_row or key"):
        widthwise.Calibration().add([1.0], key=[1], first_row=0)


def test_keys_that_count_up_are_not_taken_for_rows_of_the_fit(model, rows, fresh):
    n = len(fresh.y)
    assert model.predictor_.calibrated(fresh.X, fresh.y, key=np.arange(n)).calibration.rows_seen > n
    own = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=N_JOBS)
    own.fit(np.nan_to_num(rows.X), rows.y)
    assert own.predictor_.calibrated(fresh.X, fresh.y, fresh.y_pred, key=np.arange(n)).calibration.rows_seen > n


def test_the_command_line_makes_the_same_of_the_keys(program, predictors, table, tmp_path):
    predictor = predictors["own"]
    predictor.save(tmp_path / "model.safetensors")
    pq.write_table(table, tmp_path / "rows.parquet")
    done = program("calibrate", "model.safetensors", "rows.parquet", "--key", "id", cwd=tmp_path)
    if "cannot read tables" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model.safetensors").read_bytes() == bytes_of(calibrated_alone(predictor, table))


# ---- shared behaviour


def test_a_model_is_read_once_in_a_process(predictors):
    data = bytes_of(predictors["own"])
    fetched = []

    def fetch():
        fetched.append(1)
        return data

    models = [_batches.Shipment("some digest", fetch).model() for _ in range(3)]
    assert len(fetched) == 1 and all(model is models[0] for model in models)
    for i in range(10):
        _batches.Shipment(f"digest {i}", fetch).model()
    assert len(_batches._READ) <= 4


def test_a_model_with_clusters_is_not_calibrated_without(predictors, table):
    """Rows counted one by one would make the intervals of a new cluster too narrow."""
    predictor = predictors["clustered"]
    calibrating = _batches.Calibrating.of(predictor._model, "id", "y", None, None)
    assert "patient" in calibrating.needed(predictor._model)
    single = _batches.Calibrating("id", "y")
    for replace in (False, True):
        with pytest.raises(ValueError, match="cluster for every row|rows have clusters"):
            single.finished(predictor, [single.shard(predictor._model, [table])], replace)


def test_clusters_that_fitted_are_refused_in_batches(predictors, table):
    """Spark and Dask calibrate with shards; an error of a shard is that of the call."""
    predictor = predictors["clustered"]
    calibrating = _batches.Calibrating.of(predictor._model, "id", "y", None, None)
    known = table_of(Rows(900, seed=8), 6)  # other rows of the patients of the fit
    for batches in ([known], [table, known]):
        shard = calibrating.shard(predictor._model, batches)
        for replace in (False, True):
            with pytest.raises(ValueError, match="clusters of these rows, in 'patient', were used to fit the model"):
                calibrating.finished(predictor, [shard], replace)


def test_what_is_sent_to_workers_can_be_pickled(predictors):
    intervals = _batches.Intervals.of(predictors["own"], LEVELS, None)
    assert pickle.loads(pickle.dumps(intervals)) == intervals
    assert intervals.names == ["prediction", *ADDED]


def test_models_come_as_predictor_regressor_file_or_bytes(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    data = bytes_of(model.predictor_)
    for given in (model, model.predictor_, tmp_path / "model.safetensors", data):
        assert bytes_of(_batches.predictor_of(given)) == data
    with pytest.raises(ValueError, match="not fitted"):
        _batches.predictor_of(WidthwiseRegressor())
    with pytest.raises(TypeError, match="found int"):
        _batches.predictor_of(3)


def test_columns_are_those_of_the_command_line(program, predictors, table, tmp_path):
    for name in ("own", "forecasts"):
        predictors[name].save(tmp_path / "model.safetensors")
        pq.write_table(table, tmp_path / "rows.parquet")
        arguments = ["model.safetensors", "rows.parquet", "--level", "0.8,0.95", "-o", "out.parquet"]
        done = program("predict", *arguments, cwd=tmp_path)
        if "cannot read tables" in done.stderr:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done.stderr
        assert_same(pq.read_table(tmp_path / "out.parquet"), predictors[name], table)


def test_quantiles_are_those_of_the_command_line(program, predictors, table, tmp_path):
    predictor = predictors["own"]
    predictor.save(tmp_path / "model.safetensors")
    pq.write_table(table, tmp_path / "rows.parquet")
    probabilities = ["0.05", "0.3", "0.499", "0.5", "0.7", "0.99"]
    arguments = ["model.safetensors", "rows.parquet", "--quantile", ",".join(probabilities), "-o", "out.parquet"]
    done = program("predict", *arguments, cwd=tmp_path)
    if "cannot read tables" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    found = pq.read_table(tmp_path / "out.parquet")
    expected = predictor.predict_quantile(table, list(map(float, probabilities)))
    for j, probability in enumerate(probabilities):
        np.testing.assert_array_equal(found[f"quantile_{probability}"].to_numpy(), expected[:, j])


def test_decimals_and_half_precision_are_numbers_in_batches(predictors, table):
    predictor = predictors["own"]
    age = table["age"].fill_null(1).cast(pa.float16()).combine_chunks()
    size = table["size"].fill_null(1).cast(pa.decimal128(20, 4), safe=False).combine_chunks()
    plain = table.set_column(1, "age", age.cast(pa.float64())).set_column(0, "size", size.cast(pa.float64()))
    odd = table.set_column(1, "age", age).set_column(0, "size", size)
    intervals = _batches.Intervals.of(predictor, LEVELS, None)
    found = intervals.columns(predictor._model, odd)
    for name, values in expected(predictor, plain).items():
        np.testing.assert_array_equal(found[name], values)


# ---- Spark


@pytest.mark.distributed
def test_spark_gives_the_librarys_intervals(spark, scoring, table, parquet, tmp_path):
    spark_module = pytest.importorskip("widthwise.spark")
    frame = spark.read.parquet(str(parquet)).repartition(3)
    scored = spark_module.predict_interval(frame, scoring, LEVELS, groups=groups_of(scoring))
    scored.write.parquet(str(tmp_path / "out"))
    assert_same(pq.read_table(tmp_path / "out"), scoring, table)


@pytest.mark.distributed
def test_spark_calibrates_to_the_same_bytes_however_rows_are_split(spark, predictor, table, parquet):
    spark_module = pytest.importorskip("widthwise.spark")
    whole = bytes_of(calibrated_alone(predictor, table))
    frame = spark.read.parquet(str(parquet))
    for dealt in (frame, frame.coalesce(1), frame.repartition(5, "kind"), frame.orderBy("id").repartition(20)):
        found = spark_module.calibrate(
            dealt, predictor, key="id", groups=groups_of(predictor), population=population_of(predictor)
        )
        assert bytes_of(found) == whole


@pytest.mark.distributed
def test_spark_frames_may_have_any_names_and_be_scored_twice(spark, predictors, table, parquet):
    spark_module = pytest.importorskip("widthwise.spark")
    predictor = predictors["forecasts"]
    frame = spark.read.parquet(str(parquet)).withColumnRenamed("kind", "of `old` v.1")
    for level in (0.5, 0.9):
        frame = spark_module.predict_interval(frame, predictor, level)
    assert frame.columns[-4:] == ["lower_0.5", "upper_0.5", "lower_0.9", "upper_0.9"]
    assert frame.where("`lower_0.5` >= `lower_0.9`").count() == len(table)
    again = spark_module.calibrate(frame, predictor, key="id", replace=True, population=population_of(predictor))
    assert again.calibration.rows_seen == len(table)


@pytest.mark.distributed
def test_spark_reports_errors_before_it_runs(spark, predictors, parquet, rows, tmp_path):
    spark_module = pytest.importorskip("widthwise.spark")
    frame = spark.read.parquet(str(parquet))
    own = predictors["own"]
    with pytest.raises(ValueError, match="as key="):
        spark_module.calibrate(frame, own)
    with pytest.raises(ValueError, match="missing column 'ids'"):
        spark_module.calibrate(frame, own, key="ids")
    with pytest.raises(ValueError, match="the key -?[0-9]+ in 'id' occurs twice"):
        spark_module.calibrate(frame.union(frame), own, key="id")
    with pytest.raises(ValueError, match="column 'y', the key, must be unique 64-bit integers"):
        spark_module.calibrate(frame, own, key="y")
    with pytest.raises(ValueError, match="no rows"):
        spark_module.calibrate(frame.limit(0), own, key="id")
    once = spark_module.calibrate(frame, own, key="id")
    with pytest.raises(ValueError, match="already in the calibration"):
        spark_module.calibrate(frame, once, key="id")
    with pytest.raises(ValueError, match="100% of these rows are already in the calibration set"):
        spark_module.calibrate(frame.withColumn("id", frame.id + 1_000_000), once, key="id")
    again = spark_module.calibrate(frame, once, key="id", replace=True)
    assert again.calibration.rows_seen == 2000
    pq.write_table(table_of(rows, 5), tmp_path / "fitted.parquet")
    with pytest.raises(ValueError, match="75% of these rows were used to fit the model"):
        spark_module.calibrate(spark.read.parquet(str(tmp_path / "fitted.parquet")), own, key="id", replace=True)
    with pytest.raises(ValueError, match="'lower_0.9' already"):
        spark_module.predict_interval(frame.withColumn("lower_0.9", frame.y), own, 0.9)
    with pytest.raises(ValueError, match="missing column 'age'"):
        spark_module.predict_interval(frame.drop("age"), own)
    with pytest.raises(ValueError, match="as groups="):
        spark_module.predict_interval(frame, predictors["grouped"])


# ---- Dask


@pytest.mark.distributed
def test_dask_gives_the_librarys_intervals(client, scoring, table):
    dask_module = pytest.importorskip("widthwise.dask")
    import dask.dataframe

    frame = dask.dataframe.from_pandas(table.to_pandas(), npartitions=3)
    scored = dask_module.predict_interval(frame, scoring, LEVELS, groups=groups_of(scoring))
    assert list(scored.columns) == [*table.column_names, *expected(scoring, table)]
    assert_same(pa.Table.from_pandas(scored.compute(), preserve_index=False), scoring, table)


@pytest.mark.distributed
def test_dask_calibrates_to_the_same_bytes_however_rows_are_split(client, predictor, table):
    dask_module = pytest.importorskip("widthwise.dask")
    import dask.dataframe

    whole = bytes_of(calibrated_alone(predictor, table))
    for seed, partitions in itertools.product([0, 1], [1, 11]):
        frame = table.to_pandas().sample(frac=1, random_state=seed)
        dealt = dask.dataframe.from_pandas(frame, npartitions=partitions, sort=False)
        found = dask_module.calibrate(
            dealt, predictor, key="id", groups=groups_of(predictor), population=population_of(predictor)
        )
        assert bytes_of(found) == whole


@pytest.mark.distributed
def test_dask_reports_errors_before_it_runs(client, predictors, table, rows):
    dask_module = pytest.importorskip("widthwise.dask")
    import dask.dataframe

    frame = table.to_pandas()
    own = predictors["own"]
    dealt = dask.dataframe.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match="as key="):
        dask_module.calibrate(dealt, own)
    with pytest.raises(ValueError, match="occurs twice"):
        dask_module.calibrate(dask.dataframe.concat([dealt, dealt]), own, key="id")
    fitted = table_of(rows, 5).to_pandas().sample(frac=1, random_state=0)
    with pytest.raises(ValueError, match="75% of these rows were used to fit the model"):
        dask_module.calibrate(dask.dataframe.from_pandas(fitted, npartitions=3, sort=False), own, key="id")
    key = int(frame["id"][5])
    frame.loc[5, "y"] = np.nan
    with pytest.raises(ValueError, match=f"the row of key {key}: y is missing; remove such rows"):
        dask_module.calibrate(dask.dataframe.from_pandas(frame, npartitions=3), own, key="id")


# ---- DuckDB


def test_duckdb_gives_the_librarys_intervals(scoring, table):
    duckdb_module = pytest.importorskip("widthwise.duckdb")
    import duckdb

    with duckdb.connect() as connection:
        grouped = groups_of(scoring) is not None
        takes = duckdb_module.register(connection, scoring, confidence_level=LEVELS, grouped=grouped)
        more = ["y_pred"] if scoring.needs_predictions else ["ratio"] if scoring._model.weighted else []
        assert takes == [*scoring.features, *more]
        connection.register("homes", table)
        arguments = ", ".join([*takes, *(["kind"] if grouped else [])])
        found = connection.sql(f"SELECT *, unnest(predict_interval({arguments})) FROM homes").to_arrow_table()
        assert_same(found, scoring, table)


def test_duckdb_takes_categories_as_they_are(fresh):
    """Integers, booleans, and digits that are text because they begin with 0."""
    duckdb_module = pytest.importorskip("widthwise.duckdb")
    import duckdb

    rng = np.random.default_rng(0)
    columns = {
        "shop": rng.integers(-2, 3, 2000),
        "open": rng.random(2000) < 0.5,
        "zip": rng.choice(["007", "70"], 2000),
    }
    frame = fresh.frame()[["size"]].assign(**columns)
    model = WidthwiseRegressor(random_state=0, n_jobs=N_JOBS, categorical_features=["shop", "open"])
    model.fit(frame, fresh.y * (1 + frame["open"].to_numpy() + 2 * (frame["zip"].to_numpy() == "007")))
    with duckdb.connect() as connection:
        duckdb_module.register(connection, model, confidence_level=0.9)
        connection.register("homes", frame)
        found = connection.sql('SELECT predict_interval(size, shop, open, zip)."upper_0.9" FROM homes').fetchnumpy()
    np.testing.assert_array_equal(*found.values(), model.predict_interval(frame, 0.9)[1][:, 1, 0])


def test_duckdb_functions_have_names_of_their_own(predictors, table):
    duckdb_module = pytest.importorskip("widthwise.duckdb")
    import duckdb

    with duckdb.connect() as connection:
        duckdb_module.register(connection, predictors["own"], "wide", confidence_level=0.95)
        duckdb_module.register(connection, predictors["own"], "narrow", confidence_level=0.5)
        connection.register("homes", table)
        found = connection.sql(
            'SELECT bool_and(wide(size, age, noise)."upper_0.95" >= narrow(size, age, noise)."upper_0.5") FROM homes'
        ).fetchall()
        assert found == [(True,)]
        with pytest.raises(ValueError, match="grouped=True"):
            duckdb_module.register(connection, predictors["grouped"], "grouped", grouped=False)
