"""Draw intervals on the synthetic sets."""

from __future__ import annotations

import os
from statistics import NormalDist

import numpy as np
from matplotlib.figure import Figure

from ..records import Record

LEVEL = 0.95
LINES = {
    "fixed": ("#7f7f7f", "one width"),
    "erc (error fit)": ("#2a9d5c", "erc (error fit)"),
    "exp": ("#d95f02", "exp, the paper's net"),
    "affine, trees": ("#1b5e9e", "affine, trees"),
}


def draw(pictures: list[Record], path: str | os.PathLike[str]) -> None:
    """Draw four panels: test rows, the central 95% of the noise, and the intervals of four methods."""
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2)
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    axes = figure.subplots(2, 2)
    for axis, picture in zip(axes.flat, pictures, strict=True):
        x, prediction, noise = (np.asarray(picture[key]) for key in ("x", "prediction", "noise"))
        residuals = np.asarray(picture["y"]) - prediction
        axis.fill_between(
            x, -reach * noise, reach * noise, color="#f2c14e", alpha=0.45, lw=0, label="95 % of the noise"
        )
        axis.plot(x, residuals, ".", color="black", ms=4, alpha=0.55, label="test rows")
        for method, (colour, label) in LINES.items():
            half = np.asarray(picture[method])
            axis.plot(x, half, color=colour, lw=1.6, label=label)
            axis.plot(x, -half, color=colour, lw=1.6)
        axis.set(title=picture["dataset"], xlabel="x", ylabel="y - f(x)", xlim=(-1, 1))
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
