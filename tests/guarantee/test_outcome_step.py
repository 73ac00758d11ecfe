"""Bounds that are rounded inward to the step of the outcomes cover the same rows, and are narrower.

Every path that predicts has the same covered rows with and without the step: split calibration with a localizer, groups,
clusters, folds, a training-conditional guarantee, quantiles of the outcome and a stream.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from widthwise import Localizer, OnlinePredictor, Predictor, WidthwiseRegressor

LEVELS = [0.5, 0.9]


def rows(random, n):
    X = random.uniform(0, 4, (n, 2))
    return X, random.poisson(1 + X[:, 0] ** 2).astype(float), 1 + X[:, 0] ** 2


def split(step, groups=None, clusters=None, **options):
    """Intervals and outcomes of new rows, and the predictor."""
    random = np.random.default_rng(3)
    (X, y, f), (X_cal, y_cal, f_cal), (X_new, y_new, f_new) = (rows(random, n) for n in (400, 300, 1000))
    localizer = Localizer(n_jobs=1, score_transform="exp", outcome_step=step, **options)
    number = np.arange(400)
    localizer.fit(X, y, f, **({} if clusters is None else {"clusters": 10_000 + number}))
    arguments, new = {}, {}
    if groups:
        arguments["groups"], new["groups"] = np.arange(300) % groups, np.arange(1000) % groups
    if clusters:
        arguments["clusters"] = np.arange(300) // clusters
    predictor = Predictor(localizer, localizer.calibrate(X_cal, y_cal, f_cal, **arguments))
    _, bounds = predictor.predict_interval(X_new, f_new, confidence_level=LEVELS, **new)
    return bounds, y_new, predictor, (X_new, f_new, new)


def compare(free, stepped, y, step=1):
    """The same rows are covered, and bounds are multiples, narrower by about one step."""
    inside = [(found[:, 0] <= y[:, None]) & (y[:, None] <= found[:, 1]) for found in (free, stepped)]
    narrow = np.floor(free[:, 1]) < np.ceil(free[:, 0])  # no multiple between: the nearest one is returned
    assert np.array_equal(inside[0][~narrow], inside[1][~narrow])
    assert not inside[0][narrow].any()
    assert np.all(stepped % step == 0) and np.all(stepped[:, 0] <= stepped[:, 1])
    gain = np.mean((free[:, 1] - free[:, 0] - stepped[:, 1] + stepped[:, 0])[~narrow])
    assert 0.7 * step < gain < 1.3 * step


@pytest.mark.parametrize(
    "options", [{}, {"groups": 3}, {"clusters": 3}, {"guarantee": 0.95}, {"two_sided": True}], ids=str
)
def test_the_same_rows_are_covered_by_narrower_intervals(options):
    free, y, _, _ = split(None, **options)
    stepped, _, _, _ = split(1, **options)
    compare(free, stepped, y)


def test_quantiles_and_p_values_agree_with_them():
    _, y, free, (X, f, _) = split(None)
    _, _, stepped, _ = split(1)
    levels = [0.05, 0.5, 0.95]
    wide, rounded = (one.predict_quantile(X, levels, f) for one in (free, stepped))
    assert np.array_equal(rounded[:, 0], np.ceil(wide[:, 0])) and np.array_equal(rounded[:, 1:], np.floor(wide[:, 1:]))
    assert np.array_equal(y >= wide[:, 0], y >= rounded[:, 0])
    assert np.array_equal(y[:, None] <= wide[:, 1:], y[:, None] <= rounded[:, 1:])
    assert np.array_equal(free.predict_p(X, y, f), stepped.predict_p(X, y, f))


def test_cross_calibration_and_streams():
    random = np.random.default_rng(5)
    (X, y, _), (X_new, y_new, _) = rows(random, 60), rows(random, 500)
    found = []
    for step in (None, 1):
        model = WidthwiseRegressor(
            LinearRegression(),
            calibration="cross",
            cv=4,
            score_transform="identity",
            outcome_step=step,
            random_state=0,
            n_jobs=1,
        )
        found.append(model.fit(X, y).predict_interval(X_new, LEVELS)[1])
    compare(*found, y_new)

    _, _, free, (X, f, _) = split(None)
    _, _, stepped, _ = split(1)
    streams = [OnlinePredictor(one, confidence_level=[0.8, 0.9]) for one in (free, stepped)]
    y = np.random.default_rng(6).poisson(f).astype(float)
    compare(*(stream.track(X, y, f, batch_size=50)[1] for stream in streams), y)
    assert str(streams[0].coverage) == str(streams[1].coverage)
    with pytest.raises(ValueError, match="row 4 is 2.5; bounds are rounded to multiples"):
        streams[1].track(X[:10], np.r_[y[:3], 2.5, y[4:10]], f[:10])
