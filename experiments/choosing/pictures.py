"""Draw the pictures of docs/choosing.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MultipleLocator, NullLocator
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from widthwise.plot._style import Axes, bad, good, ink, legend_above, level_text, name_axes, percentages

from .measure import CONFIDENCE, LEVEL
from .numbers import MEASURES, Numbers, checksum

CHECKSUM = "Numbers"  # name of the PNG text that holds the checksum
COLOURS = 64
DASHES = (0, (4, 3))
NAMES = {"width": "mean width", "interval_score": "interval score"}


def draw_all(folder: Path, shown: dict[str, Numbers]) -> None:
    """Write choosing_NAME.png for every picture, with few colours so that files are small."""
    with plt.rc_context({"font.size": 12}):  # readable on a phone
        for name, draw in DRAWN.items():
            panels = 1 if name == "rows" else 2
            figure, axes = plt.subplots(1, panels, figsize=(7, 3.2), squeeze=False, layout="constrained")
            for ax in axes.flat:
                ax.spines[["top", "right"]].set_visible(False)
                ax.set_axisbelow(True)
                ax.grid(color=ink(), alpha=0.15, linewidth=0.6)
            draw(list(axes.flat), shown[name])
            save(figure, folder / f"choosing_{name}.png", checksum(shown[name]))


def save(figure: Figure, file: Path, text: str) -> None:
    figure.savefig(file, dpi=130)
    plt.close(figure)
    about = PngInfo()
    about.add_text(CHECKSUM, text)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(file, optimize=True, pnginfo=about)


def counts(axis: Axes, ticks: tuple[int, ...]) -> None:
    """A logarithmic x axis with these numbers of rows."""
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def changes(axis: Axis, base: str, step: float) -> None:
    """Ratios as changes in percent, with a name for no change."""
    axis.set_major_locator(MultipleLocator(step))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: base if abs(value - 1) < 1e-9 else f"{100 * (value - 1):+.0f}%")
    )


def draw_goal(axes: list[Axes], shown: Numbers) -> None:
    for ax, (name, points) in zip(axes, shown.items(), strict=True):
        goals = {label: point for label, point in points.items() if label != "one width"}
        ax.axhline(LEVEL, color=ink(), linewidth=1, linestyle=DASHES)
        ax.plot(*zip(*goals.values(), strict=True), "-o", color=good())
        ax.plot(*points["one width"], "s", color=bad())
        for label, point in points.items():
            colour = good() if label in goals else bad()
            ax.annotate(label, point, xytext=(5, -13), textcoords="offset points", color=colour)
        ax.margins(x=0.3, y=0.15)
        percentages(ax.yaxis)
        ax.set_title(name, loc="right", fontsize="medium")
        name_axes(ax, f"mean width at {level_text(LEVEL)}", "coverage in the worst slab" if ax is axes[0] else "")


def draw_transform(axes: list[Axes], shown: Numbers) -> None:
    for ax, value in zip(axes, MEASURES, strict=True):
        for place, by_data in enumerate(shown[value].values()):
            ratios = list(by_data.values())
            ax.plot(ratios, [place] * len(ratios), "o", color=good(), alpha=0.55, markersize=6, markeredgewidth=0)
            ax.plot([np.median(ratios)] * 2, [place - 0.3, place + 0.3], color=bad(), linewidth=2.5)
            if (wider := by_data["facebook_1"]) > 1:
                ax.annotate(
                    "facebook_1",
                    (wider, place),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize="small",
                )
        ax.axvline(1, color=ink(), linewidth=1, linestyle=DASHES)
        ax.set_yticks(range(len(shown[value])), shown[value] if ax is axes[0] else [])
        ax.invert_yaxis()
        changes(ax.xaxis, "one\nwidth", 0.5 if value == "width" else 0.2)
        name_axes(ax, NAMES[value], "")


def draw_rows(axes: list[Axes], shown: Numbers) -> None:
    (ax,) = axes
    ax.fill_between(shown["rows"], shown["low"], shown["high"], color=good(), alpha=0.25, linewidth=0)
    for side in ("low", "high"):
        ax.plot(shown["rows"], shown[side], color=good())
    ax.axhline(LEVEL, color=ink(), linewidth=1, linestyle=DASHES)
    for size in (100, 1000, 10_000):
        place = shown["rows"].index(size)
        for side, offset in (("low", -16), ("high", 8)):
            at = size, shown[side][place]
            ax.plot(*at, "o", color=good(), markersize=5)
            ax.annotate(f"{100 * at[1]:.1f}%", at, xytext=(2, offset), textcoords="offset points")
    counts(ax, (100, 1000, 10_000, 100_000))
    percentages(ax.yaxis)
    ax.set_ylim(0.80, 0.98)
    name_axes(ax, "calibration rows", "coverage of one model")


def draw_guarantee(axes: list[Axes], shown: Numbers) -> None:
    densities, widening = shown["density"], shown["widening"]
    left, right = axes
    for kind, colour, label in (("marginal", bad(), "marginal"), (str(CONFIDENCE), good(), f"guarantee={CONFIDENCE}")):
        style = DASHES if kind == "marginal" else "-"
        left.plot(densities["coverage"], densities[kind], color=colour, label=label, linestyle=style)
        left.fill_between(densities["coverage"], densities[kind], color=colour, alpha=0.15, linewidth=0)
    left.axvline(LEVEL, color=ink(), linewidth=1)
    left.set_ylim(bottom=0)
    left.set_yticks([])
    percentages(left.xaxis)
    legend_above(left)
    name_axes(left, "coverage of one model", "density")
    right.plot([at["rows"] for at in widening], [at["widening"] for at in widening], "-o", color=good())
    for at in widening:
        if at["rows"] in (100, 500, 1000, 5000):
            text = f"+{100 * at['widening']:.2g}%"
            right.annotate(text, (at["rows"], at["widening"]), xytext=(5, 4), textcoords="offset points")
    counts(right, (100, 500, 1000, 5000))
    percentages(right.yaxis)
    right.set_ylim(bottom=0)
    right.tick_params(axis="x", labelsize="small")
    name_axes(right, "calibration rows", "added mean width")


def draw_sides(axes: list[Axes], shown: Numbers) -> None:
    for column, (ax, value) in enumerate(zip(axes, MEASURES, strict=True)):
        for place, ratios in enumerate(shown.values()):
            worse = ratios[column] > 1
            colour = bad() if worse else good()
            ax.plot([1, ratios[column]], [place, place], color=colour, linewidth=2)
            ax.plot(ratios[column], place, "s" if worse else "o", color=colour)
        ax.axvline(1, color=ink(), linewidth=1)
        ax.set_yticks(range(len(shown)), shown if ax is axes[0] else [])
        ax.invert_yaxis()
        ax.set_xlim(0.86, 1.06)
        changes(ax.xaxis, "one\nside", 0.05)
        name_axes(ax, NAMES[value], "")


def draw_gain(axes: list[Axes], shown: Numbers) -> None:
    left, right = axes
    for name, (ert, score) in shown["data_sets"].items():
        left.plot(ert, score, "s" if score > 1 else "o", color=bad() if score > 1 else good(), markersize=5)
        if name in ("wine", "wage", "energy"):
            left.annotate(name, (ert, score), xytext=(6, -2), textcoords="offset points", fontsize="small")
    name_axes(left, "ERT of one width", "interval score")
    for spread, marker, colour, label in ((0, "s", bad(), "equal errors"), (1, "o", good(), "unequal errors")):
        found = [at for at in shown["learnt_widths"] if at["spread"] == spread]
        sizes, scores = [at["rows"] for at in found], [at["score"] for at in found]
        errors = [2 * at["standard_error"] for at in found]
        right.errorbar(sizes, scores, errors, fmt=f"-{marker}", color=colour, label=label, capsize=2, markersize=5)
    counts(right, (50, 200, 500, 2000))
    name_axes(right, "rows", "")
    legend_above(right)
    for ax in axes:
        ax.axhline(1, color=ink(), linewidth=1, linestyle=DASHES)
        changes(ax.yaxis, "one\nwidth", 0.2)
        ax.set_ylim(0.45, 1.15)
    right.tick_params(axis="y", labelleft=False)


DRAWN: dict[str, Callable[[list[Axes], Numbers], None]] = {
    "goal": draw_goal,
    "transform": draw_transform,
    "rows": draw_rows,
    "guarantee": draw_guarantee,
    "sides": draw_sides,
    "gain": draw_gain,
}
