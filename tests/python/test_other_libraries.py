"""The recipes for MAPIE, crepes and Ray in the documents, run as written, give the intervals of widthwise."""

import warnings
from pathlib import Path

import markdown
import numpy as np
import pytest
from scipy.stats import binom

from examples import N_JOBS, Rows
from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor

DOCUMENTS = Path(__file__).parents[2] / "docs"
PAGE = DOCUMENTS / "other-libraries.md"
BLOCKS = list(markdown.BLOCK.finditer(PAGE.read_text()))
LEVELS = [0.5, 0.75, 0.9, 0.95]


def run(block, namespace):
    printed = markdown.run_code(block["code"], str(PAGE), 1, namespace)
    assert markdown.same(block["text"] or "", printed), printed
    return namespace


def recipe(library):
    """The names that the blocks shared by MAPIE and crepes and the block of one of them define."""
    (own,) = (block for block in BLOCKS if f"from {library}" in block["code"])
    return run(own, run(BLOCKS[0], {"__name__": "__main__"}))


@pytest.fixture(scope="module")
def mapie():
    """The names of the recipe, and its intervals of new rows, calibrated with given rows."""
    regression = pytest.importorskip("mapie.regression", reason="mapie is not installed")
    names = recipe("mapie")

    def intervals(X, y, X_new, level):
        calibrated = regression.SplitConformalRegressor(names["model"], level, names["score"], prefit=True)
        return calibrated.conformalize(X, y).predict_interval(X_new)[1][:, :, 0]

    return names, intervals


@pytest.fixture(scope="module")
def crepes():
    library = pytest.importorskip("crepes", reason="crepes is not installed")
    names = recipe("crepes")

    def intervals(X, y, X_new, level):
        wrapped = library.WrapRegressor(names["model"])
        wrapped.calibrate(X, y, de=names["difficulty"])
        return wrapped.predict_int(X_new, confidence=level)

    return names, intervals


@pytest.fixture(params=["mapie", "crepes"])
def library(request):
    return request.getfixturevalue(request.param)


def fresh(n, seed):
    """New rows like those of the page."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 1))
    return X, X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=n)


@pytest.mark.parametrize("n", [19, 303])
def test_intervals_are_those_of_a_predictor(library, n):
    """So the quantile is taken over all calibration rows, each counted once."""
    names, intervals = library
    model, localizer = names["model"], names["localizer"]
    (X, y), (X_new, _) = fresh(n, 1), fresh(200, 2)
    predictor = Predictor(localizer, localizer.calibrate(X, y, model.predict(X)))
    for level in LEVELS:
        if level * (n + 1) == int(level * (n + 1)) and level > 0.75:
            continue  # rounding may give the next score, see below
        _, ours = predictor.predict_interval(X_new, model.predict(X_new), confidence_level=level)
        np.testing.assert_allclose(intervals(X, y, X_new, level), ours[:, :, 0], rtol=0, atol=1e-9)


def test_coverage_has_its_exact_law(library):
    """With 7 rows and the level 0.75, intervals have the 6th of 7 scores and cover 6 of 8 new rows."""
    _, intervals = library
    trials, hits = 200, 0
    for seed in range(trials):
        X, y = fresh(8, 100 + seed)
        ((lower, upper),) = intervals(X[:7], y[:7], X[7:], 0.75)
        hits += lower <= y[7] <= upper
    low, high = binom.ppf([1e-6, 1 - 1e-6], trials, 0.75)
    assert low <= hits <= high


def test_widths_are_learnt(library):
    _, intervals = library
    width = np.diff(intervals(*fresh(1000, 1), [[1.0], [3.0]], 0.9))[:, 0]
    assert 2 < width[1] / width[0] < 4  # errors are three times as large at 3


def test_other_libraries_take_our_rank_or_the_next():
    """If level (n + 1) is an integer, rounding can make them use the next score: wider, never narrower."""
    from crepes import ConformalRegressor
    from mapie.utils import _compute_regression_quantile

    differ = {"mapie": set(), "crepes": set()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows
        for level in (0.5, 0.55, 0.75, 0.8, 0.9, 0.95):
            for n in range(1, 101):
                scores = np.arange(1.0, n + 1)
                ours = Calibration().add(scores).quantile(level)
                theirs = {
                    "mapie": _compute_regression_quantile(scores[:, None], np.array([level]), unbounded=True)[0, 0],
                    "crepes": ConformalRegressor().fit(scores).predict_int(np.zeros(1), confidence=level)[0, 1],
                }
                for name, quantile in theirs.items():
                    if quantile != ours:
                        assert quantile == (ours + 1 if ours < n else np.inf)
                        assert round(level * (n + 1), 9) == ours
                        differ[name].add((level, n))
    assert {level for level, _ in differ["mapie"]} == {0.55}
    assert {level for level, _ in differ["crepes"]} == {0.55, 0.8, 0.9}
    assert (0.9, 9) in differ["crepes"]


def test_what_these_libraries_would_ignore_fails_in_the_recipe(tmp_path):
    """The line that checks the calibration rows fails if they fitted the localizer, or have weights or clusters."""
    names = run(BLOCKS[0], {})
    model, localizer = names["model"], names["localizer"]
    X, y = names["X_fit"], names["y_fit"]
    with pytest.raises(ValueError, match="100% of these rows were used to fit the model"):
        localizer.calibrate(X, y, model.predict(X))
    clustered = Localizer(n_jobs=1).fit(X[:300], y[:300], model.predict(X[:300]), clusters=np.arange(300) // 5)
    X, y = fresh(100, 1)
    with pytest.raises(ValueError, match="cluster"):
        clustered.calibrate(X, y, model.predict(X))
    for more in ({"weights": 1 + names["X_fit"][:, 0]}, {"shift_to": X + 1}):
        weighted = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, n_jobs=1)
        weighted.fit(names["X_fit"], names["y_fit"], y_pred=model.predict(names["X_fit"]), **more)
        weighted.save(tmp_path / "model.safetensors")
        with pytest.raises(ValueError, match="population"):
            Localizer.load(tmp_path / "model.safetensors").calibrate(X, y, model.predict(X))


# ---- Ray


@pytest.fixture(scope="module")
def table():
    """Rows as an Arrow table: features, labels, weights and a column that the model does not use."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rng = np.random.default_rng(1)
    frame = Rows(2000, seed=1).frame()
    frame["city"] = rng.choice(["Bath", "Ely"], 2000)
    frame["ratio"] = rng.uniform(0.5, 2, 2000)
    frame["id"] = np.arange(2000)
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.fixture(scope="module")
def predictor(table):
    frame = table.to_pandas()
    model = WidthwiseRegressor(random_state=0, n_jobs=N_JOBS)
    return model.fit(frame[["size", "age", "city"]], Rows(2000, seed=1).y, weights=frame["ratio"]).predictor_


def expected(predictor, table, level):
    y_pred, bounds = predictor.predict_interval(table, confidence_level=level)
    text = str(level)
    return {"prediction": y_pred, f"lower_{text}": bounds[:, 0, 0], f"upper_{text}": bounds[:, 1, 0]}


def assert_added(found, table, columns):
    assert found.column_names == [*table.column_names, *columns]
    assert found.select(table.column_names).equals(table)
    for name, values in columns.items():
        np.testing.assert_array_equal(found[name].to_numpy(), values)


def test_intervals_are_added_to_arrow_batches(predictor, table):
    assert_added(predictor.add_intervals(table, 0.8), table, expected(predictor, table, 0.8))
    batch = table.slice(5, 20).combine_chunks().to_batches()[0]
    added = predictor.add_intervals(batch)
    np.testing.assert_array_equal(added["upper_0.9"], expected(predictor, table, 0.9)["upper_0.9"][5:25])
    with pytest.raises(ValueError, match="'prediction' already exists"):
        predictor.add_intervals(added)
    with pytest.raises(ValueError, match="missing column 'ratio'"):
        predictor.add_intervals(table.drop_columns("ratio"))


@pytest.mark.distributed
def test_ray_gives_the_librarys_intervals(ray, predictor, table, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.chdir(tmp_path)
    predictor.save("model.safetensors")
    pq.write_table(table, "new.parquet")
    page = DOCUMENTS / "scale.md"
    (block,) = (block for block in markdown.BLOCK.finditer(page.read_text()) if "import ray" in block["code"])
    code = block["code"].replace('["model.safetensors"]', f'["{tmp_path}/model.safetensors"]')
    for file in ("new.parquet", "out"):
        code = code.replace(f'"{file}"', f'"{tmp_path}/{file}"')
    markdown.run_code(code, str(page), 1, {"__name__": "__main__"})
    assert_added(pq.read_table("out").sort_by("id"), table, expected(predictor, table, 0.9))
