"""Coverage of later rows on real data, after a random split and after a split by time: the figures of
docs/groups.md."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from widthwise import WidthwiseRegressor

DATA = Path(os.environ.get("WIDTHWISE_DATA", "/nonexistent"))
DOCUMENT = Path(__file__).parents[2] / "docs" / "groups.md"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="WIDTHWISE_DATA names no folder")


def _appliances():
    rows = pandas.read_csv(DATA / "more" / "appliances.csv.gz")
    return rows.drop(columns=["date", "appliances"]), rows["appliances"], pandas.to_datetime(rows["date"])


def _beijing_air():
    rows = pandas.read_csv(DATA / "more" / "beijing_air.csv.gz")
    hours = rows["time"].unique()[::12]
    rows = rows[rows["time"].isin(hours)].reset_index(drop=True)
    features = ["month", "hour", "so2", "no2", "o3", "temp", "pressure", "dew_point", "rain", "wind_speed"]
    return rows[features], rows["pm25"], pandas.to_datetime(rows["time"], format="%Y-%m-%dT%H")


def measured(load) -> list[float]:
    """Coverage of the last fifth of the rows at level 0.9: the mean of three random splits, and that of a split by
    time."""
    X, y, time = load()
    first = (time < time.sort_values().iloc[int(0.8 * len(time))]).to_numpy()

    def coverage(seed, given=None):
        estimator = HistGradientBoostingRegressor(max_iter=40, random_state=0)
        model = WidthwiseRegressor(estimator, random_state=seed, n_jobs=1, score_transform="identity")
        model.fit(X[first], y[first], time=given)
        bounds = model.predict_interval(X[~first])[1][:, :, 0]
        return float(np.mean((bounds[:, 0] <= y[~first]) & (y[~first] <= bounds[:, 1])))

    return [np.mean([coverage(seed) for seed in range(3)]), coverage(0, time[first])]


@pytest.mark.parametrize(("load", "name"), [(_appliances, "appliances"), (_beijing_air, "beijing_air")])
def test_the_document_shows_the_coverage_of_later_rows(load, name):
    line = re.search(rf"^\| {name} .*\| ([\d.]+)% \| ([\d.]+)% \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert line is not None
    assert [100 * share for share in measured(load)] == pytest.approx([float(text) for text in line.groups()], abs=1)
