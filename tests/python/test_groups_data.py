"""Coverage by group on real data, against its exact law."""

from __future__ import annotations

import os
from math import ceil
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.stats import betabinom
from sklearn.linear_model import LinearRegression

from widthwise import Localizer, Predictor

DATA = Path(os.environ.get("WIDTHWISE_DATA", "/nonexistent"))
LEVEL = 0.9
ERROR = 1e-6  # probability of a false alarm of each data set

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="WIDTHWISE_DATA names no folder")


def _star():
    rows = pandas.read_csv(DATA / "more" / "star.csv")
    return rows, "score", rows["systemk"].astype("string").fillna("none")


def _community():
    rows = pandas.read_csv(DATA / "community.csv")
    return rows, "ViolentCrimesPerPop", pandas.qcut(rows["racePctWhite"], 8, labels=False).astype(str)


def _beijing_air():
    rows = pandas.read_csv(DATA / "more" / "beijing_air.csv.gz").sample(40_000, random_state=0)
    return rows, "pm25", rows["station"]


@pytest.mark.parametrize("load", [_star, _community, _beijing_air], ids=["star", "community", "beijing_air"])
def test_every_group_is_covered(load):
    rows, target, groups = load()
    keep = rows[target].notna().to_numpy()
    X = rows.drop(columns=target).select_dtypes("number")[keep].fillna(0.0).to_numpy()
    y, groups = rows[target][keep].to_numpy(float), groups[keep].to_numpy(object)
    part = np.random.default_rng(0).permutation(len(y)) % 3
    fit, calibrate, test = (part == j for j in range(3))
    y_pred = LinearRegression().fit(X[fit], y[fit]).predict(X)
    # Distinct scores, as the law requires; outcomes are rounded.
    y = y + 1e-3 * np.random.default_rng(1).uniform(-1, 1, len(y))
    localizer = Localizer(score_transform="identity").fit(X[fit], y[fit], y_pred[fit])
    calibration = localizer.calibrate(X[calibrate], y[calibrate], y_pred[calibrate], groups=groups[calibrate])
    predictor = Predictor(localizer, calibration)
    _, intervals = predictor.predict_interval(X[test], y_pred[test], groups=groups[test], confidence_level=LEVEL)
    inside = (intervals[:, 0, 0] <= y[test]) & (y[test] <= intervals[:, 1, 0])
    names = sorted(set(groups[test]))
    assert len(names) > 3
    for name in names:
        n, tested = int((groups[calibrate] == name).sum()), groups[test] == name
        k = ceil((n + 1) * LEVEL - 1e-9)
        if k > n:
            assert inside[tested].all()
            continue
        low, high = betabinom.ppf([ERROR / len(names), 1 - ERROR / len(names)], tested.sum(), k, n + 1 - k)
        assert low <= inside[tested].sum() <= high, name
