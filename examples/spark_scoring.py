"""
Predict and calibrate with Spark
================================

Spark's workers read the model file and add the intervals as columns, in Arrow batches. Then the rows of April
calibrate the model where they are: the workers send only a sample of scores. Needs Java. Spark writes messages of its
own to the standard error output.
"""

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import widthwise.spark
from widthwise import WidthwiseRegressor

rng = np.random.default_rng(0)
n = 12_000
homes = pd.DataFrame({"id": np.arange(n), "size": rng.uniform(30, 200, n), "age": rng.uniform(0, 80, n)})
homes["price"] = homes["size"] * (4 + (0.1 + 0.01 * homes["age"]) * rng.normal(size=n)) - homes["age"]
march = homes[:4000]
model = WidthwiseRegressor(random_state=0).fit(march[["size", "age"]], march["price"])
model.save("homes.safetensors")

spark = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
april = spark.createDataFrame(homes[4000:9000])
may = spark.createDataFrame(homes[9000:])


def show(name, model):
    """Predict May and let Spark compute the coverage."""
    frame = widthwise.spark.predict_interval(may, model, confidence_level=0.9)
    inside = F.col("price").between(F.col("`lower_0.9`"), F.col("`upper_0.9`"))
    width = F.col("`upper_0.9`") - F.col("`lower_0.9`")
    found = frame.select(F.avg(inside.cast("double")).alias("coverage"), F.avg(width).alias("width")).first()
    print(f"{name}: coverage {found.coverage:.1%}, mean width {found.width:.0f}")


show("calibrated with 1,000 rows of March", "homes.safetensors")
# The key makes the result the same for any order and partition of the rows.
calibrated = widthwise.spark.calibrate(april, "homes.safetensors", key="id", target="price", replace=True)
print(calibrated)
show("calibrated with the rows of April", calibrated)
spark.stop()

# Output:
# calibrated with 1,000 rows of March: coverage 89.5%, mean width 200
# Predictor(spline, 2 features, 5,000 calibration rows)
# calibrated with the rows of April: coverage 89.5%, mean width 201
