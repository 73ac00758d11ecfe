"""
Predict intervals with ONNX Runtime
===================================

`widthwise.onnx.export` writes one graph from the features to the prediction and its bounds. ONNX Runtime evaluates it
in any language, without widthwise. The bounds of the graph are those of the library, rounded outwards by 1.4e-14 of the
width.
"""

import numpy as np
import onnxruntime

import widthwise.onnx
from widthwise import WidthwiseRegressor

rng = np.random.default_rng(0)
# Trees of a graph see single precision, so the library predicts the same numbers here.
X = rng.uniform(0, 4, (8000, 2)).astype(np.float32)
y = X[:, 0] + 0.1 * np.exp(X[:, 1] / 2) * rng.normal(size=8000)
model = WidthwiseRegressor(random_state=0).fit(X[:6000], y[:6000])
widthwise.onnx.export(model, "model.onnx", confidence_level=0.9)

session = onnxruntime.InferenceSession("model.onnx")
for value in [*session.get_inputs(), *session.get_outputs()]:
    print(value.name, value.type, value.shape)
prediction, lower, upper = session.run(None, {"x": X[6000:]})

y_pred, intervals = model.predict_interval(X[6000:], confidence_level=0.9)
print(f"same predictions: {np.array_equal(prediction, y_pred)}")
print(f"same bounds, up to rounding: {np.allclose(np.hstack([lower, upper]), intervals[:, :, 0], rtol=1e-13)}")
inside = (lower[:, 0] <= y[6000:]) & (y[6000:] <= upper[:, 0])
print(f"ONNX Runtime: coverage {inside.mean():.1%}, mean width {np.mean(upper - lower):.2f}")

# Output:
# x tensor(float) ['N', 2]
# prediction tensor(double) ['N']
# lower tensor(double) ['N', 1]
# upper tensor(double) ['N', 1]
# same predictions: True
# same bounds, up to rounding: True
# ONNX Runtime: coverage 89.4%, mean width 1.09
