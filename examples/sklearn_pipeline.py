"""
Intervals for a scikit-learn pipeline
=====================================

A pipeline that encodes a column of text is the estimator of `WidthwiseRegressor`. One call of ``fit`` trains the
pipeline, learns how its errors depend on the row and calibrates the intervals. Prices vary more in one of the towns,
and the intervals there are wider.
"""

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from widthwise import WidthwiseRegressor

# Prices in thousand euros. The spread per square metre depends on the town.
rng = np.random.default_rng(0)
n = 10_000
homes = pd.DataFrame(
    {
        "size": rng.uniform(30, 200, n),
        "age": rng.uniform(0, 80, n),
        "town": rng.choice(["Bonn", "Cologne", "Trier"], n),
    }
)
per_metre = homes["town"].map({"Bonn": 4.0, "Cologne": 5.0, "Trier": 3.0})
spread = homes["town"].map({"Bonn": 0.3, "Cologne": 0.9, "Trier": 0.3})
price = (per_metre + spread * rng.normal(size=n)) * homes["size"] - homes["age"]
homes_fit, homes_new, price_fit, price_new = train_test_split(homes, price, test_size=3000, random_state=0)

encode = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
pipeline = make_pipeline(encode, RandomForestRegressor(50, min_samples_leaf=5, random_state=0))
model = WidthwiseRegressor(pipeline, goal="even", random_state=0).fit(homes_fit, price_fit)

# One frame with the index of `homes_new`: prediction, lower_0.9, upper_0.9.
intervals = model.predict_interval(homes_new, confidence_level=0.9, as_frame=True)
inside = price_new.between(intervals["lower_0.9"], intervals["upper_0.9"])
width = intervals["upper_0.9"] - intervals["lower_0.9"]

print(intervals.head(3).round(0))
for town in ["Bonn", "Cologne", "Trier"]:
    here = homes_new["town"] == town
    print(f"{town}: coverage {inside[here].mean():.1%}, mean width {width[here].mean():.0f}")
print(f"all: coverage {inside.mean():.1%}, mean width {width.mean():.0f}")

# Output:
#       prediction  lower_0.9  upper_0.9
# 9394       528.0      454.0      602.0
# 898        626.0      383.0      861.0
# 2398       333.0      253.0      421.0
# Bonn: coverage 92.5%, mean width 128
# Cologne: coverage 89.6%, mean width 361
# Trier: coverage 92.6%, mean width 128
# all: coverage 91.6%, mean width 205
