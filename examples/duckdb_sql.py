"""
Predict intervals in DuckDB
===========================

`widthwise.duckdb.register` makes a model a function of SQL, here of a model file that contains its base model. The
query predicts the rows where they are stored, and counts how many outcomes lie in their intervals.
"""

import duckdb
import numpy as np
import pandas as pd

import widthwise.duckdb
from widthwise import WidthwiseRegressor

rng = np.random.default_rng(0)
n = 8000
homes = pd.DataFrame({"size": rng.uniform(30, 200, n), "age": rng.uniform(0, 80, n)})
homes["price"] = homes["size"] * (4 + (0.1 + 0.01 * homes["age"]) * rng.normal(size=n)) - homes["age"]

# Without an estimator, XGBoost's trees are the base model.
model = WidthwiseRegressor(random_state=0).fit(homes[["size", "age"]][:6000], homes["price"][:6000])
model.save("homes.safetensors")

connection = duckdb.connect()
connection.register("sold", homes[6000:])
arguments = widthwise.duckdb.register(connection, "homes.safetensors", confidence_level=0.9)
predicted = f"SELECT *, unnest(predict_interval({', '.join(arguments)})) FROM sold"
print(connection.sql(f"SELECT round(COLUMNS(*)) FROM ({predicted}) LIMIT 3"))

rows = connection.sql(
    f"""
    SELECT CASE WHEN age < 40 THEN 'newer' ELSE 'older' END AS kind,
           avg(CAST(price BETWEEN "lower_0.9" AND "upper_0.9" AS DOUBLE)),
           avg("upper_0.9" - "lower_0.9")
    FROM ({predicted}) GROUP BY ROLLUP (kind) ORDER BY kind
    """
).fetchall()
for kind, coverage, width in rows:
    print(f"{kind or 'all'}: coverage {coverage:.1%}, mean width {width:.0f}")

# Output:
# ┌────────┬────────┬────────┬────────────┬───────────┬───────────┐
# │  size  │  age   │ price  │ prediction │ lower_0.9 │ upper_0.9 │
# │ double │ double │ double │   double   │  double   │  double   │
# ├────────┼────────┼────────┼────────────┼───────────┼───────────┤
# │  140.0 │   73.0 │  539.0 │      482.0 │     274.0 │     664.0 │
# │  171.0 │   27.0 │  648.0 │      645.0 │     517.0 │     780.0 │
# │   41.0 │   10.0 │  156.0 │      160.0 │     138.0 │     177.0 │
# └────────┴────────┴────────┴────────────┴───────────┴───────────┘
#
# newer: coverage 89.4%, mean width 128
# older: coverage 89.3%, mean width 263
# all: coverage 89.3%, mean width 196
