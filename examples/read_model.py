"""
Read a model file without widthwise
===================================

docs/model-file.md describes the format. This reader needs nothing but Python: it computes the interval of a row from a
file with trees and the transform `identity`, `exp` or `affine`.

    python read_model.py MODEL 0.9 [NUMBER ...]
"""

import json
import math
import struct
import sys
from fractions import Fraction

# The texts of a model that this reader can evaluate; other texts change what the numbers mean.
TEXTS = """format widthwise checksum features target prediction transform score sides unit range.low range.high range.step
levels base base.inputs localizer localizer.inputs fit_rows""".split()

TYPES = {"F64": "d", "F32": "f", "U32": "I", "I32": "i", "U8": "B"}


def read_file(name):
    """The texts and the arrays of a safetensors file."""
    data = open(name, "rb").read()
    start = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:start])
    texts = header.pop("__metadata__")
    arrays = {}
    for key, entry in header.items():
        first, last = entry["data_offsets"]
        count = math.prod(entry["shape"])
        arrays[key] = struct.unpack(f"<{count}{TYPES[entry['dtype']]}", data[start + first : start + last])
    return texts, arrays


def single(x):
    """x rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def evaluate(arrays, name, x):
    """The sums of the trees `name` for a row, in single precision."""

    def get(key):
        return arrays[f"{name}.{key}"]

    sums = list(get("base"))
    for node, output in zip(get("roots"), get("output_of"), strict=True):
        while (feature := get("feature")[node]) >= 0:
            value = single(x[feature])
            left = get("missing_left")[node] if math.isnan(value) else value < get("value")[node]
            node = get("left" if left else "right")[node]
        sums[output] = single(sums[output] + get("value")[node])
    return sums


def calibration_scores(data):
    """The scores of a calibration without groups, ascending. They follow 11 words and the priorities of n rows."""
    words = struct.unpack(f"<{len(data) // 8}Q", bytes(data))
    version, kind, groups, n, weighted = words[1], words[4], words[5], words[8], words[9]
    if (version, kind, groups, weighted) != (1, 0, 1, 0):
        raise SystemExit("this reader knows only calibrations without groups, clusters and weights")
    return sorted(struct.unpack(f"<{n}d", struct.pack(f"<{n}Q", *words[11 + n : 11 + 2 * n])))


def rounded(lower, upper, step):
    """The bounds, rounded inward to multiples of the step; the nearest multiple if there is none between."""
    if step == 0:
        return lower, upper
    if step * 2**20 % 1:
        raise SystemExit("this reader knows only steps whose multiples are exact")
    first = lower if math.isinf(lower) else math.ceil(lower / step) * step
    last = upper if math.isinf(upper) else math.floor(upper / step) * step
    return (first, last) if first <= last else (round((lower + upper) / 2 / step) * step,) * 2


def interval(file, level, x):
    """The prediction, and the bounds of the interval of a row."""
    texts, arrays = read_file(file)
    known = {"score": "absolute", "sides": "one", "base": "trees"}
    unknown = [name for name in texts if name not in TEXTS and not name.startswith("note.")]
    if unknown or known.items() - texts.items() or len(arrays["base.base"]) != 1:
        found = f"; found {', '.join(unknown)}" if unknown else ""
        raise SystemExit(f"{file}: this reader knows only trees of numbers, one side and marginal coverage{found}")
    prediction = evaluate(arrays, "base", x)[0]
    scores = calibration_scores(arrays["calibration"])
    rank = math.ceil((len(scores) + 1) * Fraction(level))
    q = scores[rank - 1] if rank <= len(scores) else math.inf
    p = evaluate(arrays, "localizer", [*x, prediction]) if texts["localizer"] != "none" else []
    half = {"identity": lambda: q, "exp": lambda: q * math.exp(p[0]), "affine": lambda: (q - p[1]) * math.exp(p[0])}
    width = max(half[texts["transform"]](), 0) * float(texts["unit"])
    low, high = float(texts["range.low"]), float(texts["range.high"])
    lower, upper = min(max(prediction - width, low), high), max(min(prediction + width, high), low)
    return prediction, *rounded(lower, upper, float(texts.get("range.step", 0)))


if __name__ == "__main__":
    print(*interval(sys.argv[1], sys.argv[2], [float(number) for number in sys.argv[3:]]))
