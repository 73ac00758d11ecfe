"""Time of one row in Python by the kind of input, with 19 numbers, and with 18 numbers and a category.

    python bench/one_row.py

Processor time of a call in microseconds: the median, and the range, of the fastest calls of five repeats.
"""

import time

import numpy as np
import pandas
import polars

from widthwise import WidthwiseRegressor

ROWS, FEATURES, REPEATS = 4000, 19, 5


def microseconds(call, calls=200):
    """The fastest of ten blocks of calls, five times."""
    call()
    found = []
    for _ in range(REPEATS):
        best = np.inf
        for _ in range(10):
            start = time.thread_time()
            for _ in range(calls // 10):
                call()
            best = min(best, (time.thread_time() - start) / (calls // 10))
        found.append(1e6 * best)
    return f"{np.median(found):.3g} ({min(found):.3g} to {max(found):.3g})"


def main():
    rng = np.random.default_rng(0)
    numbers = pandas.DataFrame(rng.normal(size=(ROWS, FEATURES)), columns=[f"f{j}" for j in range(FEATURES)])
    mixed = numbers.assign(f0=rng.choice(["Bonn", "Trier"], ROWS))
    y = numbers["f1"] + rng.normal(size=ROWS)
    options = {"base_options": {"rounds": 300}, "random_state": 0, "n_jobs": 1}
    print("| input | 19 numbers | 18 numbers, a category |\n|---|---|---|")
    table = {}
    for frame in (numbers, mixed):
        model = WidthwiseRegressor(**options).fit(frame, y)
        one = frame[:1]
        values = one.to_dict("records")[0]
        row, arrow = model.row_function(), polars.from_pandas(one)
        calls = {
            "dict, `row_function`": lambda row=row, values=values: row(values),
            "dict": lambda model=model, values=values: model.predict_interval(values),
            "polars, `Predictor`": lambda model=model, X=arrow: model.predictor_.predict_interval(X),
            "pandas, `Predictor`": lambda model=model, X=one: model.predictor_.predict_interval(X),
            "pandas": lambda model=model, X=one: model.predict_interval(X),
        }
        if frame is numbers:
            array = one.to_numpy().copy()
            calls["array, `Predictor`"] = lambda model=model, X=array: model.predictor_.predict_interval(X)
        for name, call in calls.items():
            table.setdefault(name, []).append(microseconds(call))
    for name, cells in table.items():
        print(f"| {name} | {' | '.join([*cells, ''][:2])} |")


if __name__ == "__main__":
    main()
