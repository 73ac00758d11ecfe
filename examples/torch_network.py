"""
Train a PyTorch network on the width of intervals
=================================================

The network predicts the scale of the errors of a model. `WidthLoss` is the logarithm of the mean width that the
intervals would have, with exact gradients, so the network learns what makes intervals narrow. The trained network
becomes part of a model file that is read without PyTorch.
"""

import numpy as np
import torch
from sklearn.linear_model import LinearRegression

from widthwise import Localizer, Predictor
from widthwise.torch import WidthLoss

rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 3))
y = X[:, 0] + np.exp(0.7 * X[:, 1]) * rng.normal(size=8000)
train, fit, calibrate, new = np.split(np.arange(8000), [1000, 4000, 6000])
y_pred = LinearRegression().fit(X[train], y[train]).predict(X)

torch.manual_seed(0)
residuals = torch.tensor(y - y_pred)[fit]
loss = WidthLoss("even", unit=residuals.abs().mean())
network = torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.ReLU(), torch.nn.Linear(32, loss.parameter_count))
optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
inputs = torch.tensor(X[fit], dtype=torch.float32)
for epoch in range(200):
    optimiser.zero_grad()
    value = loss(network(inputs), residuals)
    value.backward()
    optimiser.step()
    if epoch % 50 == 0:
        print(f"epoch {epoch}: loss {value.item():.3f}")

localizer = Localizer.from_torch(network, loss, X[fit], y[fit], y_pred[fit])
calibration = localizer.calibrate(X[calibrate], y[calibrate], y_pred[calibrate])
Predictor(localizer, calibration).save("network.safetensors")

predictor = Predictor.load("network.safetensors")
_, intervals = predictor.predict_interval(X[new], y_pred[new], confidence_level=0.9)
lower, upper = intervals[:, 0, 0], intervals[:, 1, 0]
inside = (lower <= y[new]) & (y[new] <= upper)
one_width = 2 * np.quantile(np.abs(y - y_pred)[calibrate], 0.9)
print(f"one width for all rows: {one_width:.2f}")
print(f"network: coverage {inside.mean():.1%}, mean width {np.mean(upper - lower):.2f}")

# Output:
# epoch 0: loss -0.052
# epoch 50: loss -0.198
# epoch 100: loss -0.200
# epoch 150: loss -0.202
# one width for all rows: 4.64
# network: coverage 90.5%, mean width 4.13
