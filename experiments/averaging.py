"""The mean of localizers, for example of trees and a net."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widthwise import Localizer
from widthwise.torch import WidthLoss

Floats = NDArray[np.float64]


class MeanLocalizer:
    """The mean of the parameters of localizers with the transform affine, r / b + c, trained on X, y and predictions.

    Intervals do not depend on the unit of a score, but a mean of parameters does. All parameters are therefore
    rescaled such that b is 1 on average and the score of level 0.9 is 0.
    """

    def __init__(self, localizers: list[Localizer], X: Floats, y: Floats, predictions: Floats) -> None:
        self._loss = WidthLoss("narrow", two_sided=localizers[0].two_sided, unit=np.abs(y - predictions).mean())
        self._parts = [
            (
                localizer,
                np.exp(localizer.parameters(X, predictions)[:, 0::2]).mean(),
                np.quantile(localizer.scores(X, y, predictions), 0.9),
            )
            for localizer in localizers
        ]

    def scores(self, X: Floats, y: Floats, predictions: Floats) -> Floats:
        """The scores to calibrate with."""
        return self._loss.scores(self._parameters(X, predictions), y - predictions)

    def half_widths(self, X: Floats, predictions: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """The distances to the lower and the upper bound for these scores."""
        return self._loss.half_widths(self._parameters(X, predictions), scores)

    def _parameters(self, X: Floats, predictions: Floats) -> Floats:
        return np.mean([_in_units(*part, X, predictions) for part in self._parts], axis=0)


def _in_units(localizer: Localizer, scale: float, middle: float, X: Floats, predictions: Floats) -> Floats:
    parameters = localizer.parameters(X, predictions)
    out = np.empty_like(parameters)
    out[:, 0::2] = parameters[:, 0::2] - np.log(scale)
    out[:, 1::2] = (parameters[:, 1::2] - middle) * scale
    return out
