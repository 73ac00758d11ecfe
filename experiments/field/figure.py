"""Plot width against evenness of all methods, and the frontier from even to narrow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

from .ours import FRONTIER
from .peers import PEERS
from .table import ALPHA, SLAB_DATASETS, Table, evenness, known_mean

OURS_COLOUR = "#c1440e"
PEER_COLOUR = "#3a5a78"


def draw(path: Path, datasets: list[str], table: Table) -> None:
    """Draw a panel for each data set; up is even, left is narrow."""
    figure, panels = plt.subplots(1, len(datasets), figsize=(6.4 * len(datasets), 4.6), squeeze=False)
    for panel, dataset in zip(panels[0], datasets, strict=True):
        by_slab = dataset in SLAB_DATASETS

        def point(method: str, dataset: str = dataset) -> tuple[float, float]:
            return known_mean(table, dataset, method, "width"), known_mean(table, dataset, method, evenness(dataset))

        path_of_goals = [point(goal) for goal in FRONTIER]
        panel.plot(*zip(*path_of_goals, strict=True), "-o", color=OURS_COLOUR, linewidth=2, zorder=3)
        labels = [(*point(goal), goal, OURS_COLOUR) for goal in FRONTIER]
        for peer in PEERS:
            panel.plot(*point(peer), "s", color=PEER_COLOUR, markersize=5)
            labels.append((*point(peer), peer, PEER_COLOUR))
        _label(panel, labels)
        if by_slab:
            panel.axhline(1 - ALPHA, color="0.7", linewidth=1, linestyle=":")
            panel.set_ylabel("coverage in the worst slab")
        else:
            panel.invert_yaxis()
            panel.set_ylabel("gap of coverage over deciles of width")
        panel.set_xlabel("mean width at 90 %")
        panel.set_title(dataset)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.12, y=0.1)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _label(panel: Any, labels: list[tuple[float, float, str, str]]) -> None:
    """Write names to the right of their points, moved up or down where they would cover each other."""
    panel.figure.canvas.draw()
    taken: list[tuple[float, float]] = []
    for x, y, text, colour in sorted(labels, key=lambda label: -label[1]):
        if math.isnan(y):
            continue
        left, height = panel.transData.transform((x, y))
        while any(abs(left - other) < 110 and abs(height - at) < 11 for other, at in taken):
            height -= 3
        taken.append((left, height))
        _, shown_at = panel.transData.inverted().transform((left, height))
        panel.annotate(
            text,
            (x, y),
            xytext=(x, shown_at),
            textcoords="data",
            fontsize=8,
            color=colour,
            xycoords="data",
            ha="left",
            va="center",
            annotation_clip=False,
        ).set_x(panel.transData.inverted().transform((left + 7, height))[0])
