"""The page: HTML around verdict, numbers and pictures."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from .. import __version__, _core
from .._evaluation import Evaluation, number, percent
from ..plot._rows import ModelRows
from ..plot._style import level_text
from .pictures import Pictures
from .verdict import Verdict, counted, is_weak


def page(title: str, verdict: Verdict, evaluation: Evaluation, rows: ModelRows, model: Any) -> str:
    """The whole page, which needs nothing else."""
    pictures = Pictures(rows, verdict.level)
    overview = pictures.of_all_rows(model)
    by_parts = pictures.by_parts()
    main = [_head(title, verdict), _tiles(verdict.level, rows), _numbers(evaluation)]
    if overview:
        main.append(_section("In pictures", _gallery(overview), f"Intervals of {level_text(verdict.level['level'])}."))
    if by_parts:
        note = (
            "Even coverage keeps the level everywhere. Bars are 95 % confidence intervals; by chance, one in forty lies"
            " below the level."
        )
        if len(pictures.features) < len(rows.table.names):
            note += f" Of {len(rows.table.names)} features, these differ most in coverage."
        main.append(_section("Where coverage holds", _gallery(by_parts), note))
    main += [
        _section("What was fitted", _fitted(rows, model)),
        _section("What the promise means", _promise(verdict, rows)),
    ]
    main.append(f"<footer>widthwise {html.escape(__version__)}</footer>")
    css = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"  # the page may fetch nothing
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(main).replace(" %", "\u00a0%")  # a number and its sign stay on one line
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(title: str, verdict: Verdict) -> str:
    sign = {"valid": "✓", "weak": "!", "broken": "✗"}[verdict.mood]
    return (
        f'<header>\n<p class="soft">{html.escape(title)}</p>\n<div class="verdict {verdict.mood}">\n'
        f'<p class="word"><span aria-hidden="true">{sign}</span> {html.escape(verdict.word)}</p>\n'
        f"<h1>{html.escape(verdict.headline)}</h1>\n<p>{html.escape(verdict.evidence)}</p>\n"
        f"<h2>What to do</h2>\n{_bullets(verdict.advice)}</div>\n</header>"
    )


def _tiles(level: dict[str, Any], rows: ModelRows) -> str:
    coverage = level["coverage"]
    tiles = [
        (f"Coverage at {level_text(level['level'])}", percent(coverage["share"]), f"of {coverage['trials']:,} rows"),
        ("To be expected", _expected(level), "in 99 % of cases"),
        ("Mean width", number(level["mean_width"]), f"median {number(level['median_width'])}"),
    ]
    if level["worst_slab"] and level["worst_slab"]["coverage"]["trials"]:
        tiles.append(("Worst slab", percent(level["worst_slab"]["coverage"]["share"]), "where coverage is worst"))
    tiles.append(("Calibration rows", f"{rows.model.calibration_rows:,}", "behind the promise"))
    cells = [
        f"<div><dt>{html.escape(a)}</dt><dd>{html.escape(b)}<small>{html.escape(c)}</small></dd></div>"
        for a, b, c in tiles
    ]
    return '<dl class="tiles">\n' + "\n".join(cells) + "\n</dl>"


def _numbers(evaluation: Evaluation) -> str:
    infinite = any(level["infinite"] for level in evaluation["levels"])
    heads = ["Level", "Verdict", "Coverage", "To be expected", "Worst slab", "Mean width", "Interval score"]
    heads += ["Infinite"] if infinite else []
    lines = []
    for level in evaluation["levels"]:
        judged = level["verdict"]["word"] != "infinite"
        slab, weak = (level["worst_slab"], level["weakest"]) if judged else (None, None)
        cells = [
            level_text(level["level"]),
            level["verdict"]["word"],
            _measured(level["coverage"]),
            _expected(level),
            _measured(slab["coverage"]) if slab and slab["coverage"]["trials"] else "-",
            f"{number(level['mean_width'])}<small>median {number(level['median_width'])}</small>",
            number(level["interval_score"]),
        ]
        cells += [f"{level['infinite']:,}"] if infinite else []
        where = "-"
        if weak and weak["coverage"]["trials"]:
            where = f"{percent(weak['coverage']['share'])} where {html.escape(weak['where'])}"
            where += "" if is_weak(level) else "<small>not below the level by more than chance</small>"
        lines.append("".join(f"<td>{cell}</td>" for cell in cells) + f'<td class="text">{where}</td>')
    names = (
        "".join(f'<th scope="col">{head}</th>' for head in heads) + '<th scope="col" class="text">Weakest range</th>'
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'
    return _section(
        "In numbers",
        table,
        f"{counted(evaluation['rows'], 'row')} that the model had not seen. In brackets: 95 % confidence intervals. To"
        " be expected: what the calibration promises of such a test in 99 % of cases. Worst slab: the coverage of the"
        " worst tenth or more of the rows, cut out by any mixture of the features. Interval score: mean width, plus a"
        " fine for each outcome outside; lower is better.",
    )


def _fitted(rows: ModelRows, model: Any) -> str:
    core = rows.model
    goal = core.notes.get("goal", "")
    meaning = {"even": "even: the same coverage everywhere", "narrow": "narrow: the smallest mean width"}
    if core.transform == "identity":
        goal_text = "none: one width for all rows"
    else:
        goal_text = meaning.get(goal, f"{goal}, where 0 is narrow and 1 is even" if goal else "not known")
    estimator = getattr(model, "estimator_", None)
    predictions = f"given as {core.prediction}" if core.needs_predictions else "made by the model itself"
    facts = [
        ("Outcome", core.target),
        ("Predictions", f"of {type(estimator).__name__}" if estimator is not None else predictions),
        ("Goal", goal_text),
        ("Transform", core.transform + (", lower and upper side apart" if core.two_sided else "")),
        ("Rows fitted", f"{core.fit_rows:,}" if core.fit_rows else "not known"),
        ("Calibration rows", f"{core.calibration_rows:,}"),
        ("Guarantee", core.guarantee if core.guarantee == "marginal" else f"training-conditional, {core.guarantee}"),
        ("Features", f"{len(core.features)}: {', '.join(core.features)}"),
    ]
    if np.isfinite(core.range).any():
        facts.append(("Range of the outcome", f"{number(core.range[0])} to {number(core.range[1])}"))
    fit_report = getattr(model, "fit_report_", None)
    if fit_report:
        facts.append(("Mean error out of sample", number(fit_report["base_error"])))
    listed = "".join(f"<dt>{html.escape(a)}</dt><dd>{html.escape(b)}</dd>" for a, b in facts)
    words = f"<p>On rows held out when it was fitted: {html.escape(fit_report['in_words'])}</p>" if fit_report else ""
    return f'<dl class="facts">{listed}</dl>{words}'


def _promise(verdict: Verdict, rows: ModelRows) -> str:
    level, n = verdict.level["level"], rows.model.calibration_rows
    name = level_text(level)
    means = [
        f"Of new rows that come like those of the calibration, at least {name} have their outcome in the interval; for"
        " any model and any distribution."
    ]
    if verdict.level["verdict"]["word"] != "infinite":
        guarantee = rows.model.guarantee
        spread = _core.coverage_spread(level, n, guarantee=guarantee)
        held = (
            "That is so on average over calibrations."
            if guarantee == "marginal"
            else f"That is so for at least {level_text(float(guarantee))} of calibrations with independent rows"
            " (training-conditional guarantee)."
        )
        means.append(
            f"{held} The {n:,} rows of this one give a coverage between {percent(spread['low'])} and"
            f" {percent(spread['high'])} in 95 % of cases; more rows bring it closer to {name}."
        )
    not_means = [
        "The same coverage for every kind of row: it is about all rows together. The pictures above show which kinds"
        " get less.",
        "Anything about rows that come otherwise: later, from elsewhere, or chosen by their prediction. Calibrate with"
        " rows like those, and test again.",
        "Anything at all, if rows of the calibration or of this test were used to fit the model.",
    ]
    return f"{_bullets(means)}<p>What it does not promise:</p>{_bullets(not_means)}"


def _section(heading: str, content: str, note: str = "") -> str:
    note = f'<p class="soft">{html.escape(note)}</p>\n' if note else ""
    return f"<section>\n<h2>{html.escape(heading)}</h2>\n{note}{content}\n</section>"


def _gallery(figures: Sequence[str]) -> str:
    return '<div class="pictures">\n' + "\n".join(figures) + "\n</div>"


def _bullets(sentences: Sequence[str]) -> str:
    """A list; what stands between backquotes is code."""
    items = [re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence, quote=False)) for sentence in sentences]
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _expected(level: dict[str, Any]) -> str:
    return f"{100 * level['verdict']['expected_low']:.1f} to {percent(level['verdict']['expected_high'])}"


def _measured(share: dict[str, Any]) -> str:
    return f"{percent(share['share'])}<small>({100 * share['low']:.1f} to {percent(share['high'])})</small>"
