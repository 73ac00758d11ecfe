"""A fit does not depend on the version of XGBoost, which chooses splits alone.

Where two splits are equally good in single precision, versions choose differently, and later trees differ. Quantiles,
which have two trees per round, are compared after fewer rounds and with one width for all rows: the choice between one
and two sides, on a small hold-out, turns small differences into large ones.

WIDTHWISE_OTHER_XGBOOST names the library of another version (.ci/newer_python.py).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = os.environ.get("WIDTHWISE_DATA")
OTHER = os.environ.get("WIDTHWISE_OTHER_XGBOOST")

pytestmark = pytest.mark.skipif(not OTHER, reason="set WIDTHWISE_OTHER_XGBOOST to the library of another version")

FIT = """
import json, sys
import numpy as np, pandas as pd
from widthwise import Predictor, WidthwiseRegressor

table, target, base, rounds, transform, model_file = sys.argv[1:]
rows = pd.read_csv(table).sample(frac=1, random_state=0)[:3000]
X, y = rows.drop(columns=target), rows[target]
options = {"base": base, "base_options": {"rounds": int(rounds)}, "score_transform": transform}
model = WidthwiseRegressor(**options, random_state=0, n_jobs=1)
model.fit(X[:2000], y[:2000])
model.save(model_file)
_, intervals = model.predict_interval(X[2000:])
engine = Predictor.load(model_file)._model.notes["base_engine"]
print(json.dumps({"engine": engine, "width": float(np.mean(intervals[:, 1] - intervals[:, 0]))}))
"""


def fitted(library, *arguments):
    """What the script prints with a library of XGBoost, or with the installed one."""
    environment = {**os.environ, **({"WIDTHWISE_XGBOOST": library} if library else {})}
    words = [sys.executable, "-c", FIT, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not DATA, reason="set WIDTHWISE_DATA to the folder of the data sets")
@pytest.mark.parametrize(
    ("base", "rounds", "transform"),
    [("trees", 400, "auto"), ("quantiles", 100, "identity")],
    ids=["trees", "quantiles"],
)
@pytest.mark.parametrize("name", ["bike", "casp", "homes"])
def test_two_versions_give_the_same_widths(name, base, rounds, transform, tmp_path):
    target = json.loads((Path(DATA) / "datasets.json").read_text())[name]["target"]
    table = Path(DATA) / f"{name}.csv"
    model = (table, target, base, rounds, transform, tmp_path / "model")
    installed, other = (fitted(library, *model) for library in (None, OTHER))
    assert installed["engine"] != other["engine"]
    assert other["width"] == pytest.approx(installed["width"], rel=0.01)
