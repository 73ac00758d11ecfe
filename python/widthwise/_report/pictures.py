"""The plots of the page, each with a caption."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._evaluation import Evaluation
from .._options import guarantee_of
from ..plot._coverage import LEVELS, ConditionalCoverageDisplay, CoverageDisplay, width_name
from ..plot._frontier import FrontierDisplay
from ..plot._intervals import IntervalDisplay
from ..plot._rows import PREDICTION, ModelRows
from ..plot._style import bad, good
from ..plot._widths import WidthDisplay

_INK = "#010203"  # placeholder that is replaced with the text colour of the page
_FEATURES_SHOWN = 4
_LABELS_SHOWN = 15


class Pictures:
    """Plots of the intervals of one level, as elements of a page.

    Parameters
    ----------
    rows : ModelRows
    level : dict
        Level of the evaluation, with the bins and marks to draw.
    evaluation : Evaluation
        Evaluation with the verdict on every level.
    """

    def __init__(self, rows: ModelRows, level: dict[str, Any], evaluation: Evaluation) -> None:
        self._rows = rows
        self._evaluated = level
        self._level = float(level["level"])
        self._infinite = level["verdict"]["word"] == "infinite"
        self._y_pred, self._lower, self._upper = rows.intervals(self._level)
        self._judged = {one["level"]: one["verdict"]["word"] for one in evaluation["levels"]}
        self._drawn = 0
        self.features = [PREDICTION if one["feature"] is None else one["feature"] for one in level["by_feature"]]

    def of_all_rows(self, model: Any) -> list[str]:
        """Intervals, coverage at every level, widths, coverage by width, and the trade-off of the goals."""
        rows, target = self._rows, self._rows.model.target
        bounds = np.stack([self._lower, self._upper], axis=1)
        found = []

        def intervals_over(name: str | None) -> Callable[[Axes], IntervalDisplay]:
            options: dict[str, Any] = {"y_pred": self._y_pred, "target_name": target}
            by = None if name is None else rows.feature(name)
            return lambda ax: IntervalDisplay.from_predictions(rows.y, bounds, self._level, by=by, ax=ax, **options)

        if not self._infinite:
            found.append(self._figure("Intervals and outcomes", intervals_over(None)))
            if self.features:
                first = self._evaluated["by_feature"][0]["feature"]
                found.append(self._figure(f"Intervals over {self._called(first)}", intervals_over(self.features[0])))
        levels = sorted({*LEVELS, *self._judged})
        at_levels = CoverageDisplay(
            levels=levels,
            covered=rows.covered(levels),
            rows=len(rows.y),
            calibration_rows=rows.model.calibration_rows,
            guarantee=guarantee_of(rows.model.guarantee),
            model=rows.model,
            groups=rows.groups,
            too_low=[level for level, word in self._judged.items() if word == "too low"],
        )
        if len(at_levels.levels):
            found.append(self._figure("Coverage at every level", lambda ax: at_levels.plot(ax, difference=True)))
        if not self._infinite:
            widths: dict[str, Any] = {"y_pred": self._y_pred, "target_name": target}
            found.append(
                self._figure(
                    "How wide intervals are", lambda ax: WidthDisplay.from_predictions(rows.y, bounds, ax=ax, **widths)
                )
            )
        if not self._infinite and self._evaluated["weak_places"]["tested"]:
            name = width_name(target)
            tenths = ConditionalCoverageDisplay(
                bins=self._evaluated["by_width"], confidence_level=self._level, by_name=name
            )
            found.append(self._figure("Coverage by width", tenths.plot))
        fit_report = getattr(model, "fit_report_", None)
        if fit_report and fit_report["chosen"]["goal"] != "fixed" and fit_report["chosen"]["worst_slab"]:
            found.append(self._figure("Narrow or even", lambda ax: FrontierDisplay.from_report(model, ax=ax)))
        return found

    def by_bins(self) -> list[str]:
        """Coverage by group, and by ranges of the features with the lowest coverage."""
        evaluated, found = self._evaluated, []
        if self._infinite or not evaluated["weak_places"]["tested"]:
            return []
        by_column = evaluated.get("by")
        if by_column:
            found.append(self._bins(by_column["column"], by_column["column"], by_column["bins"]))
        if evaluated["by_group"]:
            found.append(self._bins("group", "group", evaluated["by_group"]))
        for feature, cut in zip(self.features, evaluated["by_feature"], strict=True):
            if by_column and cut["feature"] == by_column["column"]:
                continue
            name = f"prediction of {self._rows.model.target}" if cut["feature"] is None else feature
            found.append(self._bins(self._called(cut["feature"]), name, cut["bins"]))
        return found

    def _bins(self, called: str, name: str, bins: list[dict[str, Any]]) -> str:
        heading = f"Coverage by {called}"
        if any("label" in bin_ for bin_ in bins):
            # Select marked labels first, so that all of them are shown.
            order = sorted(bins, key=lambda bin_: (not bin_["weak"], float(bin_["coverage"]["share"])))
            bins = sorted(order[:_LABELS_SHOWN], key=lambda bin_: float(bin_["coverage"]["share"]))
            heading += ", the lowest first"
        display = ConditionalCoverageDisplay(bins=bins, confidence_level=self._level, by_name=name)
        return self._figure(heading, display.plot)

    def _called(self, feature: str | None) -> str:
        return "the prediction" if feature is None else feature

    def _figure(self, heading: str, draw: Callable[[Axes], Any]) -> str:
        """Draw a display as SVG, with a heading and its summary as the caption."""
        self._drawn += 1
        name = f"picture{self._drawn}"
        ink = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        style = {
            **dict.fromkeys(ink, _INK),
            "axes.linewidth": 0.7,
            "font.size": 10.0,
            "svg.fonttype": "none",  # keep text searchable, accessible and in the font of the page
            "svg.hashsalt": "widthwise",  # reproducible ids
        }
        with matplotlib.style.context(["default", style]):
            figure = Figure(figsize=(4.8, 3.4), layout="constrained")
            display = draw(figure.subplots())
            out = io.StringIO()
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
            colours = {_INK: "currentColor", good(): "var(--good)", bad(): "var(--bad)"}
        return (
            f'<figure><h3 id="{name}-heading">{html.escape(heading)}</h3>{_inline(out.getvalue(), name, colours)}'
            f'<figcaption id="{name}-caption">{html.escape(display.summary)}</figcaption></figure>'
        )


def _inline(svg: str, name: str, colours: dict[str, str]) -> str:
    """An SVG file as an element of a page: without prologue, with unique ids, in the colours of the page."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    viewbox = svg[svg.index('viewBox="') :].split('"')[1]
    described = f'role="img" aria-labelledby="{name}-heading" aria-describedby="{name}-caption"'
    svg = re.sub(r"<svg[^>]*>", f'<svg viewBox="{viewbox}" {described}>', svg, count=1)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace('href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    for drawn, shown in colours.items():
        svg = svg.replace(drawn, shown)
    return re.sub(r"\n\s*", "\n", svg)
