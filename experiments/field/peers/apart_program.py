"""The peers of `apart.py`: `python apart_program.py METHOD GIVEN.npz FOUND.npz`, run by the environment of these peers."""

from __future__ import annotations

import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = Any  # the arrays of a split by name
MAX_SECONDS = 1200  # of processor time: what ends does not depend on what else the machine does


def conformal_tights(given: Arrays) -> Arrays:
    """The conformal coherent quantile regressor with its defaults: XGBoost and a linear model of its quantiles.

    It gets the fitting and the calibration rows of the other peers instead of a random split of both.
    """
    import conformal_tights._conformal_coherent_quantile_regressor as package

    random_split = package.train_test_split

    def given_split(*_: Any, **__: Any) -> Arrays:
        package.train_test_split = random_split  # the next split divides the calibration rows, as the package does
        return given["X_fit"], given["X_cal"], given["y_fit"], given["y_cal"]

    package.train_test_split = given_split
    regressor = package.ConformalCoherentQuantileRegressor(random_state=int(given["seed"]))
    regressor.fit(np.concatenate([given["X_fit"], given["X_cal"]]), np.concatenate([given["y_fit"], given["y_cal"]]))
    bounds = [regressor.predict_interval(given["X_test"], coverage=float(level)) for level in given["levels"]]
    return np.stack(bounds, axis=2)


def conditional_calibration(given: Arrays) -> Arrays:
    """Quantiles of |y - f| that are linear in x and f: coverage holds under all linear reweightings of the rows.

    The finite-dimensional class is spanned by 1, the standardised features and the prediction. Cutoffs are exact and
    not randomised, the package's defaults.
    """
    from conditionalconformal import CondConf
    from sklearn.preprocessing import StandardScaler

    # The package passes one array of rows: the features and the prediction.
    fit, cal, test = (np.column_stack([given[f"X_{part}"], given[f"f_{part}"]]) for part in ("fit", "cal", "test"))
    scaler = StandardScaler().fit(fit)

    def basis(rows: Arrays) -> Arrays:
        return np.column_stack([np.ones(len(rows)), scaler.transform(rows)])

    regressor = CondConf(lambda rows, y: np.abs(y - rows[:, -1]), basis, seed=int(given["seed"]))
    regressor.setup_problem(cal, given["y_cal"])

    def margin(level: float, row: Arrays) -> float:
        return float(np.squeeze(regressor.predict(level, row[None], lambda cutoff, _: cutoff)))

    margins = np.array([[margin(float(level), row) for level in given["levels"]] for row in test])
    middle = given["f_test"][:, None]
    return np.stack([middle - margins, middle + margins], axis=1)


METHODS: dict[str, Callable[[Arrays], Arrays]] = {
    "conformal tights": conformal_tights,
    "conditional calibration": conditional_calibration,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    np.savez(sys.argv[3], intervals=METHODS[sys.argv[1]](np.load(sys.argv[2])).astype(float))
