"""Plots of intervals with matplotlib, as display objects in the style of scikit-learn.

Create a display from a model and new rows (``from_estimator``), or from arrays of any intervals (``from_predictions``).
A display stores the plotted data, can be drawn again (``plot(ax)``), and describes the plot in sentences (``summary``).

>>> from widthwise.plot import IntervalDisplay                                               # doctest: +SKIP
>>> IntervalDisplay.from_estimator(model, X_test, y_test, feature="sqft_living")             # doctest: +SKIP

========================== ==============================================================================
IntervalDisplay            intervals over a feature or the prediction; outcomes outside are marked
CoverageDisplay            coverage minus level at every level, with the band expected from calibration
WidthDisplay               distribution of widths, compared with a constant width
ConditionalCoverageDisplay coverage by width or by ranges of a feature
FrontierDisplay            mean width against coverage where it is worst, from narrow to even
========================== ==============================================================================

`widthwise.report` writes a report with such pictures and a verdict. Colours are distinguishable with any colour vision and follow the
current matplotlib style, dark or light. Settings of matplotlib are not changed.
"""

from __future__ import annotations

from ._coverage import ConditionalCoverageDisplay, CoverageDisplay
from ._frontier import FrontierDisplay, FrontierPoint
from ._intervals import IntervalDisplay
from ._widths import WidthDisplay

__all__ = [
    "ConditionalCoverageDisplay",
    "CoverageDisplay",
    "FrontierDisplay",
    "FrontierPoint",
    "IntervalDisplay",
    "WidthDisplay",
]
