"""Mean width against evenness of coverage: the goals of widthwise and every other method."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

from widthwise.plot._style import Axes, bad, good, ink, legend_above, level_text, name_axes, percentages, plain_numbers

from .datasets import by_slab
from .ours import FRONTIER
from .table import ALPHA, Table, evenness, known_mean, peers_of

Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle in pixels; matplotlib's own class is too slow to place many labels."""

    x0: float
    y0: float
    x1: float
    y1: float

    def padded(self, margin: float) -> Box:
        return Box(self.x0 - margin, self.y0 - margin, self.x1 + margin, self.y1 + margin)

    def overlaps(self, other: Box) -> bool:
        return self.x0 <= other.x1 and other.x0 <= self.x1 and self.y0 <= other.y1 and other.y0 <= self.y1

    def contains(self, x: float, y: float) -> bool:
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1


_MARKER = 5.0  # half the size of a marker in pixels, with a margin
_PASSES = 5
_LABEL_FREE = 16.0  # a label further from its point than this gets a line to it, in pixels


def draw(path: Path, datasets: list[str], table: Table) -> None:
    """Draw one panel per data set: more even coverage is higher, narrower intervals are further left."""
    figure, panels = plt.subplots(
        1, len(datasets), figsize=(6.4 * len(datasets), 5.6), squeeze=False, layout="constrained", dpi=110
    )
    labels = [_draw_panel(panel, dataset, table) for panel, dataset in zip(panels[0], datasets, strict=True)]
    figure.canvas.draw()  # the layout is final, so pixels can be measured
    figure.set_layout_engine("none")
    for panel, (goals, peers) in zip(panels[0], labels, strict=True):
        _label(panel, goals, peers)
    figure.savefig(path, dpi="figure")
    plt.close(figure)


def _draw_panel(panel: Axes, dataset: str, table: Table) -> tuple[dict[str, Point], dict[str, Point]]:
    """Draw the points of one data set; return those of the goals and those of the other methods by name."""

    def point(method: str) -> Point:
        return known_mean(table, dataset, method, "width"), known_mean(table, dataset, method, evenness(dataset))

    goals = {goal: point(goal) for goal in FRONTIER}
    peers = {peer: at for peer in peers_of(table, dataset) if not math.isnan((at := point(peer))[1])}
    panel.spines[["top", "right"]].set_visible(False)
    panel.set_axisbelow(True)
    panel.grid(color=ink(), alpha=0.15, linewidth=0.6)
    panel.plot(*zip(*goals.values(), strict=True), "-o", color=good(), linewidth=1.5, zorder=3, label="widthwise")
    panel.plot(*zip(*peers.values(), strict=True), "s", color=bad(), markersize=5, zorder=3, label="other methods")
    plain_numbers(panel.xaxis)
    percentages(panel.yaxis)
    if by_slab(dataset):
        level = 1 - ALPHA
        panel.axhline(level, color=ink(), linewidth=1, linestyle=(0, (4, 3)), label=f"level {level_text(level)}")
        measure = "coverage in the worst slab"
    else:
        panel.invert_yaxis()
        measure = "gap between coverage and level"
    name_axes(panel, f"mean width at {level_text(1 - ALPHA)}", measure)
    panel.set_title(dataset, loc="right")
    panel.margins(x=0.16, y=0.18)
    legend_above(panel)
    return goals, peers


def _label(panel: Axes, goals: dict[str, Point], peers: dict[str, Point]) -> None:
    """Write the name of each point next to it, where it covers neither a point nor another name."""
    panel.autoscale(False)
    names = [*goals, *peers]
    places_of = panel.transData.transform([*goals.values(), *peers.values()])
    pixels = {name: (float(x), float(y)) for name, (x, y) in zip(names, places_of, strict=True)}
    segments = list(pairwise(pixels[goal] for goal in goals))
    for line in panel.lines[2:]:  # the level
        height = panel.transData.transform((0, np.ravel(line.get_ydata())[0]))[1]
        segments.append(((panel.bbox.x0, height), (panel.bbox.x1, height)))
    markers = [Box(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in pixels.values()]
    texts = {
        name: panel.annotate(
            name,
            at,
            xycoords="figure pixels",
            fontsize="small",
            color=good() if name in goals else ink(),
            annotation_clip=False,
        )
        for name, at in pixels.items()
    }
    frame = Box(*map(float, panel.bbox.extents))
    extents = {name: text.get_window_extent() for name, text in texts.items()}
    boxes: dict[str, Box] = {}
    for _ in range(_PASSES):  # each pass moves every label to its best place among the others
        for name, at in pixels.items():
            others = [box for other, box in boxes.items() if other != name]
            places = _places(at, extents[name].width, extents[name].height)
            lowest = math.inf
            for box in places:
                if (cost := _cost(box, at, frame, others, markers, segments, lowest)) < lowest:
                    lowest, boxes[name] = cost, box
    for name, at in pixels.items():
        box, extent = boxes[name], extents[name]
        texts[name].set_position((box.x0 - extent.x0 + at[0], box.y0 - extent.y0 + at[1]))
        nearest = _nearest(box, at)
        if math.dist(nearest, at) > _LABEL_FREE:
            leader = panel.transData.inverted().transform([nearest, at])
            panel.plot(*np.transpose(leader), color=ink(), alpha=0.4, linewidth=0.7, zorder=2)


def _places(at: Point, width: float, height: float) -> list[Box]:
    """Boxes of a label around a point, in rings of growing distance."""
    boxes = []
    for distance in (9, 13, 18, 25, 33, 42, 52, 64, 80, 100):
        for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
            # The label touches the ring with the side that faces the point.
            x = float(at[0] + distance * np.cos(angle) + width * (np.cos(angle) - 1) / 2)
            y = float(at[1] + distance * np.sin(angle) + height * (np.sin(angle) - 1) / 2)
            boxes.append(Box(x, y, x + width, y + height))
    return boxes


def _cost(
    box: Box,
    at: Point,
    panel: Box,
    taken: list[Box],
    markers: list[Box],
    segments: list[tuple[Point, Point]],
    lowest: float,
) -> float:
    """How bad a place is: covering names and points is worst, then leaving the panel, lines, and distance.

    The sum ends when it exceeds the lowest cost of other places.
    """
    leader = _nearest(box, at)
    cost = math.dist(leader, at) + 0.05 * abs((box.y0 + box.y1) / 2 - at[1]) + (box.x0 < at[0])
    inside = panel.x0 <= box.x0 and box.y1 <= panel.y1 and box.y0 >= panel.y0 and box.x1 <= panel.x1
    around = box.padded(2)
    cost += 500.0 * (not inside)
    for weight, covered in (
        (1000.0, (around.overlaps(other) for other in taken)),
        (1000.0, (box.overlaps(marker) for marker in markers)),
        (300.0, (_crosses(around, *segment) for segment in segments)),
        (300.0, (_crosses(other, leader, at) for other in taken)),
        (300.0, (_crosses(marker, leader, at) for marker in markers if not marker.contains(*at))),
    ):
        if cost >= lowest:
            return cost
        cost += weight * sum(covered)
    return cost


def _nearest(box: Box, at: Point) -> Point:
    """The point of a box that is nearest to a point."""
    return min(max(at[0], box.x0), box.x1), min(max(at[1], box.y0), box.y1)


def _crosses(box: Box, start: Point, end: Point) -> bool:
    """Whether a line passes through a box: the part of the line inside it, clipped side by side, is not empty."""
    first, last = 0.0, 1.0
    for axis, (low, high) in enumerate(((box.x0, box.x1), (box.y0, box.y1))):
        step = end[axis] - start[axis]
        if step == 0:
            if not low <= start[axis] <= high:
                return False
            continue
        enter, leave = sorted(((low - start[axis]) / step, (high - start[axis]) / step))
        first, last = max(first, enter), min(last, leave)
    return first <= last
