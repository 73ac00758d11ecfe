"""Print README's output, and checksums of its model file and of the intervals of the golden files."""

import hashlib
import sys
import tempfile
from pathlib import Path

import numpy as np

import widthwise

readme, golden = map(Path, sys.argv[1:])


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]


code = readme.read_text().partition("```python\n")[2].partition("```")[0]
namespace = {}
exec(compile(code, str(readme), "exec"), namespace)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "model.safetensors"
    namespace["model"].save(file)
    print("model file", digest(file.read_bytes()))
print("intervals", digest(np.ascontiguousarray(namespace["intervals"]).tobytes()))
for feature in ("trees", "predictions", "categories", "outcome-step", "weights", "folds", "guarantee", "online"):
    file = golden / f"model-{feature}.safetensors"
    predictor = widthwise.Predictor.load(file)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, len(predictor.features)))
    y_pred = rng.normal(size=1000) if predictor.needs_predictions else None
    _, intervals = predictor.predict_interval(X, y_pred)
    print(file.name, digest(np.ascontiguousarray(intervals).tobytes()))
