"""Ids of rows: named in messages, and listed by evaluate."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from sklearn.linear_model import LinearRegression

from widthwise import WidthwiseRegressor


def frame(rows: int, seed: int) -> pandas.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, rows)
    return pandas.DataFrame({"x": x, "order": [f"A-{seed}{i:03}" for i in range(rows)], "y": x + rng.normal(size=rows)})


@pytest.fixture(scope="module")
def model() -> WidthwiseRegressor:
    rows = frame(300, 1)
    fitted = WidthwiseRegressor(LinearRegression(), score_transform="identity", random_state=0)
    return fitted.fit(rows[["x"]], rows["y"], ids=rows["order"])


def test_evaluate_lists_rows_by_id(model):
    rows = frame(200, 3)
    of_model = model.evaluate(rows[["x"]], rows["y"], ids=rows["order"])
    of_predictor = model.predictor_.evaluate(rows, rows["y"], model.predict(rows[["x"]]))  # X has the column of the fit
    for evaluation in (of_model, of_predictor):
        missed = evaluation["levels"][0]["rows"]["missed"]
        assert len(missed) == 5
        for row in missed:
            assert row["id"] == rows["order"][row["row"] - 1] and row["outcome"] == rows["y"][row["row"] - 1]
        assert "farthest missed" in str(evaluation)
    without = model.evaluate(rows[["x"]], rows["y"])["levels"][0]["rows"]
    assert without == {"widest": [], "missed": []}


def test_messages_name_ids(model):
    rows = frame(50, 4)
    positive = WidthwiseRegressor(LinearRegression(), outcome_range=(0, np.inf))
    y = rows["y"].abs()
    y[16] = -1
    with pytest.raises(ValueError, match="row 17, id A-4016 is -1"):
        positive.fit(rows[["x"]], y, ids=rows["order"])
    ids = [None if i == 16 else f"{i}" for i in range(50)]
    with pytest.raises(ValueError, match="row 17 is -1"):
        positive.fit(rows[["x"]], y, ids=ids)


def test_ids_are_one_per_row(model):
    rows = frame(50, 4)
    with pytest.raises(ValueError, match="ids"):
        WidthwiseRegressor(LinearRegression()).fit(rows[["x"]], rows["y"], ids=rows["order"][:49])
    with pytest.raises(TypeError, match="ids is 'order'; expected the ids of the rows, such as X"):
        WidthwiseRegressor(LinearRegression()).fit(rows[["x"]], rows["y"], ids="order")
    with pytest.raises(ValueError, match="ids"):
        model.evaluate(rows[["x"]], rows["y"], ids=rows["order"][:49])
    model.conformalize(rows[["x"]], rows["y"], ids=rows["order"])
