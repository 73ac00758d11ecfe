"""Critical-difference diagrams: mean ranks on a line, with bars over methods that Nemenyi's test does not distinguish."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

from widthwise.plot._style import Axes, good, ink

from .ours import FRONTIER
from .ranks import Ranks

_LINE = 0.28  # height of a line of text in inches


def draw(path: Path, panels: dict[str, Ranks]) -> None:
    """Draw one panel per measure."""
    heights = [_LINE * (3 + (len(ranks.ranks) + 1) // 2 + len(cliques(ranks)) / 2) for ranks in panels.values()]
    figure, axes = plt.subplots(
        len(panels),
        1,
        figsize=(8.6, sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
        dpi=110,
    )
    for panel, (name, ranks) in zip(axes[:, 0], panels.items(), strict=True):
        _draw_panel(panel, name, ranks)
    figure.savefig(path, dpi="figure")
    plt.close(figure)


def cliques(ranks: Ranks) -> list[tuple[float, float]]:
    """The longest runs of neighbours in rank that differ by less than the critical difference."""
    values = sorted(ranks.ranks.values())
    found: list[tuple[float, float]] = []
    for low in values:
        high = max(value for value in values if value - low < ranks.critical_difference)
        if high > low and (not found or high > found[-1][1]):
            found.append((low, high))
    return found


def _draw_panel(panel: Axes, name: str, ranks: Ranks) -> None:
    methods, bars = list(ranks.ranks.items()), cliques(ranks)
    lowest, highest = 1, len(methods)
    below = 0.4 + 0.5 * len(bars)  # the labels begin under the bars
    panel.set_axis_off()
    margin = 0.45 * (highest - lowest)
    panel.set_xlim(lowest - margin, highest + margin)
    panel.set_ylim(-below - (len(methods) + 1) // 2 - 0.5, 2.2)
    panel.plot([lowest, highest], [0, 0], color=ink(), linewidth=1)
    for tick in range(lowest, highest + 1):
        panel.plot([tick, tick], [0, 0.2], color=ink(), linewidth=1)
        panel.text(tick, 0.3, str(tick), ha="center", va="bottom", fontsize="x-small", color=ink())
    difference = ranks.critical_difference
    panel.plot([lowest, min(highest, lowest + difference)], [1.5, 1.5], color=ink(), linewidth=2)
    panel.text(
        lowest, 1.65, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize="x-small", color=ink()
    )
    panel.set_title(f"mean rank by {name}, {ranks.datasets} data sets", loc="right", fontsize="small")
    for place, (low, high) in enumerate(bars):
        panel.plot([low - 0.05, high + 0.05], [-0.4 - 0.5 * place] * 2, color=ink(), linewidth=3, alpha=0.6)
    half = (len(methods) + 1) // 2
    for place, (method, rank) in enumerate(methods):
        left = place < half
        height = -below - 0.5 - (place if left else len(methods) - 1 - place)
        edge = lowest - 0.1 if left else highest + 0.1
        colour = good() if method in FRONTIER else ink()
        panel.plot([rank, rank, edge], [0, height, height], color=colour, linewidth=0.8)
        text = f"{method} {rank:.1f}" if left else f"{rank:.1f} {method}"
        panel.text(
            edge, height, f" {text} ", ha="right" if left else "left", va="center", fontsize="small", color=colour
        )
