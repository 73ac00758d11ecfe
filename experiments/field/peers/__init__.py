"""The peers: methods of other libraries and papers on the same rows, each used as its documentation recommends.

Every peer gets a `Split` and returns intervals for the test rows at all `LEVELS`, in the format of MAPIE and widthwise:
an array (rows, 2, levels) of lower and upper bounds. The fitting rows fit, exactly the calibration rows calibrate, and
the test rows are only predicted; "quantile forest oob", which needs no separate calibration rows, fits with both. Peers that model the size of the base model's errors are trained on out-of-fold
errors, as widthwise is. Intervals are not clipped here. With too few calibration rows they are infinite if the peer
returns infinite ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..protocol import Floats, Split
from .apart import apart
from .boosted import boosted_conformal
from .crepes import crepes_mondrian, crepes_neighbours, crepes_residual
from .gaussian import catboost_uncertainty, gaussian_net, ngboost_normal
from .mapie import mapie_absolute, mapie_cqr, mapie_residual
from .puncc import puncc_adaptive
from .quantiles import catboost_cqr, quantile_forest_cqr, quantile_forest_oob, xgboost_cqr, xgboost_cqr_out_of_fold


@dataclass(frozen=True)
class Peer:
    """A method of the comparison.

    Attributes
    ----------
    intervals : its function
    model : its own base model; empty if it uses the common one
    max_rows, max_cells : rows, and rows times features, of the largest data set that it is run on, to limit the time
    slow : whether it is run on the first splits of large data sets only
    apart : whether it runs in an environment of its own
    """

    intervals: Callable[[Split], Floats]
    model: str = ""
    max_rows: float = math.inf
    max_cells: float = math.inf
    slow: bool = False
    apart: bool = False

    def runs_on(self, X: Floats) -> bool:
        """Whether it is run on a data set with these features."""
        return len(X) <= self.max_rows and X.size <= self.max_cells


PEERS: dict[str, Peer] = {
    "mapie absolute": Peer(mapie_absolute),
    "mapie residual": Peer(mapie_residual),
    "mapie cqr": Peer(mapie_cqr, "LightGBM"),
    "crepes neighbours": Peer(crepes_neighbours),
    "crepes residual": Peer(crepes_residual),
    "crepes mondrian": Peer(crepes_mondrian),
    "puncc adaptive": Peer(puncc_adaptive),
    "quantile forest cqr": Peer(quantile_forest_cqr, "a random forest", slow=True),
    "quantile forest oob": Peer(quantile_forest_oob, "a random forest", slow=True),
    "cqr, out of fold": Peer(xgboost_cqr_out_of_fold),
    "xgboost cqr": Peer(xgboost_cqr, "XGBoost for quantiles"),
    "catboost cqr": Peer(catboost_cqr, "CatBoost for quantiles", slow=True),
    "catboost uncertainty": Peer(catboost_uncertainty, "CatBoost for mean and variance", slow=True),
    "ngboost": Peer(ngboost_normal, "NGBoost", max_cells=500_000, slow=True),
    "gaussian net": Peer(gaussian_net, "a network"),
    "boosted conformal": Peer(boosted_conformal),
    "conformal tights": Peer(
        apart("conformal tights"), "XGBoost with the package's defaults", max_rows=12_000, slow=True, apart=True
    ),
    "conditional calibration": Peer(apart("conditional calibration"), max_rows=3_000, max_cells=40_000, apart=True),
}
