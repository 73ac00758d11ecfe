"""With only numpy, the package predicts from a model file and names the missing packages for everything else.

python tests/python/minimal.py MODEL_FILE
"""

import importlib
import importlib.metadata
import pydoc
import sys

import numpy as np

import widthwise


def refusal(action):
    """The message of an ImportError."""
    try:
        action()
    except ImportError as error:
        return str(error)
    raise AssertionError("no error")


installed = {package.name for package in importlib.metadata.distributions()}
assert not installed & {"scikit-learn", "xgboost", "xgboost-cpu", "pandas", "pyarrow", "matplotlib"}, installed

predictor = widthwise.Predictor.load(sys.argv[1])
X = np.ones((5, len(predictor.features)))
y_pred = np.zeros(5) if predictor.needs_predictions else None
_, intervals = predictor.predict_interval(X, y_pred)
assert intervals.shape == (5, 2, len(predictor.confidence_levels))
assert np.all(intervals[:, 0] <= intervals[:, 1])
assert widthwise.plan(0.9, tolerance=0.01).rows == 3600
assert "widthwise[sklearn]" in refusal(lambda: widthwise.WidthwiseRegressor())
assert "xgboost" in refusal(lambda: widthwise.Localizer().fit(np.ones((30, 1)), np.arange(30.0), np.zeros(30)))
for module in ("xgboost", "torch", "onnx", "plot", "spark", "dask", "duckdb"):
    assert "pip install" in refusal(lambda name=module: importlib.import_module(f"widthwise.{name}")), module
    assert not hasattr(widthwise, module)
assert "WidthwiseRegressor" in pydoc.render_doc(widthwise)
print("with numpy alone: predicts, plans, and says what to install for the rest")
