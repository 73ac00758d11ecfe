"""Style of the plots: colours, axes, numbers. Settings of matplotlib are not changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

try:
    import matplotlib
    from matplotlib.axes import Axes as Axes
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ImportError as error:
    raise ImportError("pictures need matplotlib: pip install 'widthwise[plot]'") from error

# Blue and orange of the Okabe-Ito palette, which are distinguishable with any colour vision; the lighter ones are for
# dark backgrounds. Shapes carry the same information everywhere.
_GOOD = "#0072b2", "#56b4e9"
_BAD = "#d55e00", "#e69f00"

_LONGEST_NAME = 48
_LONGEST_LABEL = 24


class Display:
    """Base of all displays: axes and figure after `plot`, and what the core says about them."""

    ax_: Axes
    figure_: Figure | SubFigure
    _figure: dict[str, Any]  # of the core

    @property
    def summary(self) -> str:
        """Description of the plot in sentences."""
        return str(self._figure["caption"])

    def _begin(self, ax: Axes | None, grid: str = "y") -> Axes:
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_axisbelow(True)
        ax.grid(axis=grid, color=ink(), alpha=0.15, linewidth=0.6)  # type: ignore[arg-type]
        return ax

    def _finish(self, *, y: float = 0.96, va: str = "top", side: Literal["left", "right"] = "left") -> None:
        """Add the names of the axes, the notes at the height `y`, and the legend."""
        name_axes(self.ax_, self._figure["x_name"], self._figure["y_name"])
        if self._figure["notes"]:
            note(self.ax_, "\n".join(self._figure["notes"]), y=y, va=va)
        if self.ax_.get_legend_handles_labels()[0]:
            legend_above(self.ax_, side)


def ink() -> str:
    """The text colour of the current style, dark or light."""
    return str(matplotlib.rcParams["text.color"])


def good() -> str:
    """Colour of expected results."""
    return _GOOD[_is_dark()]


def bad() -> str:
    """Colour of results that need attention."""
    return _BAD[_is_dark()]


def _is_dark() -> bool:
    """Whether the current style is light on dark."""
    return sum(to_rgb(ink())) > 1.5


def name_axes(ax: Axes, x: str, y: str) -> None:
    """Label the axes with plain text: a dollar sign in a column name does not start a formula."""
    for label, name in ((ax.xaxis.label, x), (ax.yaxis.label, y)):
        label.set_parse_math(False)
        label.set_text(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")


def plain_texts(texts: Iterable[Any]) -> None:
    """Draw tick labels as plain text, like the names of axes."""
    for text in texts:
        text.set_parse_math(False)


def short_text(label: str) -> str:
    """A label that leaves room for the plot."""
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


class _Ticks(MaxNLocator):
    """At most five intervals between round numbers, or fewer if labels of so many characters need more room on an x axis."""

    def __init__(self, axis: Any, characters: int) -> None:
        super().__init__(nbins=5, steps=[1, 2, 2.5, 5, 10], min_n_ticks=1)
        self._x_axis = axis if axis.axis_name == "x" else None
        self._characters = characters

    def __call__(self) -> Any:
        if self._x_axis is not None:
            space = 3 * self._x_axis.get_tick_space()  # in units of the font size
            self.set_params(nbins=int(np.clip(space / (0.6 * self._characters + 0.5), 1, 5)))
        return super().__call__()


def plain_numbers(axis: Any) -> None:
    """Format ticks as plain numbers, such as 200,000 and 0.5, as many as fit the axis of the plotted data."""

    def text(value: float) -> str:
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.6g}"

    axis.set_major_locator(_Ticks(axis, max(4, *(len(f"{value:,.0f}") for value in axis.get_view_interval()))))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def percentages(axis: Any, signed: bool = False) -> None:
    """Format ticks as percentages, or as percentage points if `signed`."""
    axis.set_major_locator(_Ticks(axis, 5))
    if signed:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.4g}" if abs(value) > 1e-12 else "0"))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))


def legend_above(ax: Axes, side: Literal["left", "right"] = "left") -> None:
    """Place the legend above the axes, which are complete, aligned left or right, in as many columns as fit."""
    cell = ax.get_subplotspec()
    room = 0.95 * ax.figure.bbox.width / (1 if cell is None else cell.get_gridspec().ncols)
    whole = ax.get_tightbbox()
    if side == "left" and whole is not None:
        room -= ax.get_window_extent().x0 - whole.x0  # what is left of the axes: the names of ticks and of the axis
    options: dict[str, Any] = {"frameon": False, "fontsize": "small", "borderaxespad": 0.2, "borderpad": 0.2}
    options |= {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.2}
    options |= {"loc": f"lower {side}", "bbox_to_anchor": (float(side == "right"), 1)}
    for columns in (4, 2, 1):
        legend = ax.legend(ncols=columns, **options)
        if legend.get_window_extent().width <= room:
            return


def note(ax: Axes, text: str, *, x: float = 0.98, y: float = 0.96, **options: Any) -> None:
    """Add a text inside the axes."""
    options = {"transform": ax.transAxes, "ha": "right", "va": "top", "fontsize": "small", "color": ink(), **options}
    ax.text(x, y, text, **options)


def level_text(level: float) -> str:
    """A level as a percentage: "90%"."""
    return f"{100 * level:.6g}%"
