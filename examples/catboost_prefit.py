"""
Intervals for a CatBoost model in production
============================================

CatBoost is trained already and stays as it is: with ``prefit=True``, ``fit`` only learns the size of its errors, from
rows that CatBoost was not trained on. Widths depend on the column of text as well: trips by car are the hardest to
predict and have the widest intervals.
"""

import numpy as np
import pandas as pd
from catboost import CatBoostRegressor

from widthwise import WidthwiseRegressor

# Minutes of a trip. Traffic makes trips by car unpredictable.
rng = np.random.default_rng(0)
n = 9000
trips = pd.DataFrame({"distance": rng.uniform(1, 30, n), "by": rng.choice(["bicycle", "car", "train"], n)})
minutes_per_km = trips["by"].map({"bicycle": 4.0, "car": 2.0, "train": 1.5})
noise = trips["by"].map({"bicycle": 0.2, "car": 0.8, "train": 0.1})
minutes = trips["distance"] * (minutes_per_km + noise * rng.normal(size=n)) + 5
train, fit, new = slice(0, 4000), slice(4000, 7000), slice(7000, n)

catboost = CatBoostRegressor(
    iterations=300, cat_features=["by"], random_seed=0, verbose=False, allow_writing_files=False
)
catboost.fit(trips[train], minutes[train])

model = WidthwiseRegressor(catboost, prefit=True, goal="even", random_state=0)
model.fit(trips[fit], minutes[fit])
_, intervals = model.predict_interval(trips[new], confidence_level=0.9)
lower, upper = intervals[:, 0, 0], intervals[:, 1, 0]
inside = (lower <= minutes[new]) & (minutes[new] <= upper)

for by in ["bicycle", "car", "train"]:
    rows = (trips["by"][new] == by).to_numpy()
    print(f"{by}: coverage {inside[rows].mean():.1%}, mean width {np.mean((upper - lower)[rows]):.1f} minutes")
print(f"all: coverage {inside.mean():.1%}, mean width {np.mean(upper - lower):.1f} minutes")

# Output:
# bicycle: coverage 90.0%, mean width 10.7 minutes
# car: coverage 89.1%, mean width 43.0 minutes
# train: coverage 89.4%, mean width 5.2 minutes
# all: coverage 89.5%, mean width 20.2 minutes
