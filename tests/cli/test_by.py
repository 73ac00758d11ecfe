"""Coverage by labels: weak categories of a feature, and `evaluate --by` for columns of any kind."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, write

USAGE = 2

QUICK = ["--threads", "2", "--localizer-options", "max_rounds=600", "--goal", "1"]
SHOPS = [f"shop {number}" for number in range(20)]
# Neighbouring numbers have different noise, so that ranges of numbers do not help.
NOISE = {shop: 0.25 * 2.0 ** ((7 * i) % 20 / 5) for i, shop in enumerate(SHOPS)}


def make_sales(rows, seed):
    """Errors of the forecast depend on the shop alone. Three shops have a few rows each."""
    random = np.random.default_rng(seed)
    number = random.integers(0, len(SHOPS), rows)
    shop = np.array(SHOPS)[number]
    x = random.normal(size=rows)
    sales = x + np.array([NOISE[one] for one in shop]) * random.normal(size=rows)
    columns = {"x": x, "shop": shop, "number": number, "rare": shop.astype(object)}
    columns["rare"][:15] = [f"rare {i // 5}" for i in range(15)]
    columns["open"] = pa.array(number % 2 == 0, mask=random.random(rows) < 0.05)
    return pa.table({**columns, "forecast": x, "sales": sales})


@pytest.fixture(scope="module")
def sales(tables):
    folder = tables / "sales"
    folder.mkdir()
    program = Program(folder)
    for name, rows, seed in [("train", 12_000, 1), ("test", 24_000, 2)]:
        for format in ("csv", "parquet"):
            write(make_sales(rows, seed), folder / f"{name}.{format}")
    for name, features in [("labels", "x,shop"), ("numbers", "x,number"), ("without", "x")]:
        fit = ["fit", "train.csv", "--target", "sales", "--prediction", "forecast", *QUICK]
        program.ok(*fit, "--features", features, "-o", f"{name}.safetensors")
    return program


def evaluated(sales, model, *options):
    return sales.ok("evaluate", f"{model}.safetensors", "test.csv", "--json", *options).json["levels"][0]


def test_every_category_is_covered_and_intervals_are_not_wider_than_with_numbers(sales):
    labels, numbers = (evaluated(sales, model, "--by", "shop") for model in ("labels", "numbers"))
    bins = labels["by"]["bins"]
    assert sorted(bin_["label"] for bin_ in bins) == sorted(SHOPS)
    assert all(0.85 <= bin_["coverage"]["share"] <= 0.95 for bin_ in bins)
    assert labels["mean_width"] <= 1.01 * numbers["mean_width"]
    assert labels["interval_score"] < numbers["interval_score"]
    assert not labels["weak_places"]["found"]


def test_weak_labels_of_a_column_that_is_no_feature_are_named(sales):
    found = evaluated(sales, "without", "--by", "shop")
    noisy = {shop for shop in SHOPS if NOISE[shop] > 2}
    weak = {bin_["label"] for bin_ in found["by"]["bins"] if bin_["weak"]}
    assert noisy <= weak < set(SHOPS)
    first = found["weak_places"]["found"][0]
    assert first["kind"] == "column" and first["where"].removeprefix("shop is ").strip("'") in weak
    columns = [place["where"] for place in found["weak_places"]["found"] if place["kind"] == "column"]
    assert sorted(columns) == sorted(f"shop is '{shop}'" for shop in weak)
    out = sales.ok("evaluate", "without.safetensors", "test.csv", "--by", "shop").out
    assert "where shop is 'shop" in out and "by shop" in out
    assert "Fit again with 'shop' as a feature" in out and "'shop' for groups (Mondrian)" in " ".join(out.split())


def test_weak_categories_of_a_feature_are_named(sales):
    # After the fit, one shop has become twice as noisy.
    table = make_sales(12_000, 3)
    shop, forecast, y = (np.array(table[name]) for name in ("shop", "forecast", "sales"))
    changed = np.where(shop == "shop 4", forecast + 2 * (y - forecast), y)
    write(table.set_column(table.schema.get_field_index("sales"), "sales", [changed]), sales.folder / "changed.csv")
    report = sales.ok("evaluate", "labels.safetensors", "changed.csv", "--json").json
    level = report["levels"][0]
    (found,) = (place for place in level["weak_places"]["found"] if place["kind"] == "category")
    assert found["where"] == "shop is 'shop 4'"
    assert "where shop is 'shop 4'" in report["verdict"]["headline"]
    (by_shop,) = (one for one in level["by_feature"] if one["feature"] == "shop")
    assert [bin_["label"] for bin_ in by_shop["bins"] if bin_["weak"]] == ["shop 4"]
    assert level["worst_slab"]["direction"]["shop"] == 0
    assert level["weakest"]["feature"] == "x"
    text = sales.ok("evaluate", "labels.safetensors", "changed.csv").out
    assert [line.split()[-1] for line in text.splitlines() if line.strip().startswith("shop 4 ")] == ["weak"]
    # As the column of --by, its labels are listed once.
    again = sales.ok("evaluate", "labels.safetensors", "changed.csv", "--json", "--by", "shop").json["levels"][0]
    assert [place["where"] for place in again["weak_places"]["found"]].count("shop is 'shop 4'") == 1


def test_every_kind_of_column(sales):
    for format in ("csv", "parquet"):
        table = f"test.{format}"

        def bins(column, table=table):
            command = ("evaluate", "without.safetensors", table, "--json", "--by", column)
            return sales.ok(*command).json["levels"][0]["by"]["bins"]

        assert [bin_["label"] for bin_ in bins("number")] == [str(i) for i in range(20)]
        assert [bin_["low"] for bin_ in bins("number")] == list(range(20))
        flags = bins("open")
        assert [bin_.get("label") for bin_ in flags] == ["false", "true", None]
        assert sum(bin_["coverage"]["trials"] for bin_ in flags) == 24_000
        assert len(bins("x")) == 10 and "label" not in bins("x")[0]
        rare = bins("rare")  # 23 labels, three of which have 5 rows
        assert len(rare) == 21 and rare[-1]["label"] == "(other)" and rare[-1]["coverage"]["trials"] == 15
    sales.fails(USAGE, "evaluate", "without.safetensors", "test.csv", "--by", "shops")


def test_python_gives_the_same_bins(sales):
    widthwise = pytest.importorskip("widthwise")
    predictor = widthwise.Predictor.load(sales.folder / "without.safetensors")
    table = make_sales(24_000, 2)
    frames = {"pyarrow": table, "pandas": table.to_pandas(), "polars": pytest.importorskip("polars").from_arrow(table)}
    for column in ("shop", "number", "open", "rare", "x"):
        expected = evaluated(sales, "without", "--by", column)["by"]
        for name, frame in frames.items():
            for by in (column, frame[column]):
                y, forecast = frame["sales"], frame["forecast"]
                found = predictor.evaluate(frame, y, forecast, by=by)["levels"][0]["by"]
                assert [bin_.get("label") for bin_ in found["bins"]] == [
                    bin_.get("label") for bin_ in expected["bins"]
                ], (name, column)
                shares = [[bin_["coverage"]["share"] for bin_ in one["bins"]] for one in (found, expected)]
                assert shares[0] == shares[1]
    with pytest.raises(ValueError, match="by: X has no column 'shops'"):
        predictor.evaluate(frames["pandas"], table["sales"], table["forecast"], by="shops")
