"""The HTML page with the verdict, numbers and plots."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import __version__, _core
from .._evaluation import Evaluation, number, percent
from ..plot._rows import ModelRows
from ..plot._style import level_text
from .pictures import Pictures
from .verdict import Verdict, counted


def page(title: str, verdict: Verdict, evaluation: Evaluation, rows: ModelRows, model: Any) -> str:
    """The page as self-contained HTML."""
    pictures = Pictures(rows, verdict.level, evaluation)
    overview = pictures.of_all_rows(model)
    by_bins = pictures.by_bins()
    main = [_head(title, verdict), _tiles(evaluation, verdict.level, rows), _numbers(evaluation)]
    if overview:
        main.append(_section("In pictures", _gallery(overview), f"Intervals of {level_text(verdict.level['level'])}."))
    if by_bins:
        note = (
            f"Marked bins lie below the level by the test of this page: {_test_text(verdict.level)} Bars are 95%"
            " confidence intervals of each bin alone, so some lie below the level by chance."
        )
        if len(pictures.features) < len(rows.table.names):
            note += f" Of {len(rows.table.names)} features, these have the bins of lowest coverage."
        main.append(_section("Where coverage holds", _gallery(by_bins), note))
    main += [
        _section("What was fitted", _fitted(rows, model)),
        _section("What the guarantee means", _guarantee(verdict, rows)),
    ]
    main.append(f"<footer>widthwise {html.escape(__version__)}</footer>")
    policy = "default-src 'none'; style-src 'unsafe-inline'"  # the page loads no other resources
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{_core.PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(main)
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


def _tiles(evaluation: Evaluation, level: dict[str, Any], rows: ModelRows) -> str:
    coverage = level["coverage"]
    tiles = [
        (f"Coverage at {level_text(level['level'])}", percent(coverage["share"]), f"of {coverage['trials']:,} rows"),
        ("Expected", _expected(level), f"in {100 * level['verdict']['confidence']:.4g}% of cases"),
        ("Mean width", number(level["mean_width"]), f"median {number(level['median_width'])}"),
    ]
    if level["worst_slab"]:
        slab = level["worst_slab"]["coverage"]
        tiles.append(("Worst slab", percent(slab["share"]), f"{100 * slab['low']:.1f} to {percent(slab['high'])}"))
    if level["ert"]:
        ert = level["ert"]["l1"]
        tiles.append(("ERT", percent(ert["value"]), f"standard error {percent(ert['standard_error'])}"))
    if evaluation["crps"] is not None:
        tiles.append(("CRPS", number(evaluation["crps"]), "over all levels; lower is better"))
    for kind in ("infinite", "empty"):
        if level[kind]:
            tiles.append((f"{kind.title()} intervals", percent(level[kind] / coverage["trials"]), f"{level[kind]:,}"))
    tiles.append(("Calibration rows", f"{rows.model.calibration_rows:,}", "behind the guarantee"))
    cells = [
        f"<div><dt>{html.escape(a)}</dt><dd>{html.escape(b)}<small>{html.escape(c)}</small></dd></div>"
        for a, b, c in tiles
    ]
    return '<dl class="tiles">\n' + "\n".join(cells) + "\n</dl>"


def _numbers(evaluation: Evaluation) -> str:
    counts = [kind for kind in ("infinite", "empty") if any(level[kind] for level in evaluation["levels"])]
    heads = ["Level", "Verdict", "Coverage", "Expected", "Worst slab", "Mean width", "Interval score"]
    with_ert = any(level["ert"] for level in evaluation["levels"])
    heads += ["ERT"] * with_ert + [kind.title() for kind in counts]
    lines = []
    for level in evaluation["levels"]:
        slab = level["worst_slab"]
        cells = [
            level_text(level["level"]),
            level["verdict"]["word"],
            _measured(level["coverage"]),
            _expected(level),
            _measured(slab["coverage"]) if slab else "-",
            f"{number(level['mean_width'])}<small>median {number(level['median_width'])}</small>",
            number(level["interval_score"]),
        ]
        if with_ert:
            cells.append(_with_error(level["ert"]["l1"]) if level["ert"] else "-")
        rows = level["coverage"]["trials"]
        cells += [f"{level[kind]:,}<small>{percent(level[kind] / rows)}</small>" for kind in counts]
        lines.append("".join(f"<td>{cell}</td>" for cell in cells) + f'<td class="text">{_weak_cell(level)}</td>')
    names = "".join(f'<th scope="col">{head}</th>' for head in heads) + '<th scope="col" class="text">Weak places</th>'
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f'<div class="scroll"><table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>'
    note = (
        f"{counted(evaluation['rows'], 'row')}{'' if evaluation['seen'] else ' that the model had not seen'}."
        " In brackets: 95% confidence intervals."
        " Expected: the range of coverage that exchangeable rows would show. Worst slab: the coverage of the worst"
        " tenth or more of the rows, cut out by any mixture of the features; reported from"
        f" {_core.MIN_SLAB_ROWS} rows on that measure it. Weak places: {_test_text(evaluation['levels'][0])}"
        " Interval score: mean width, plus a penalty for each outcome outside; lower is better."
    )
    if with_ert:
        note += (
            " ERT: how far coverage given the features is from the level on average, estimated from below by a"
            " classifier; 0 if coverage is the level everywhere, slightly negative by chance."
        )
    if "empty" in counts:
        note += " Empty: no value conforms, and the prediction alone is returned."
    return _section("In numbers", table, note)


def _with_error(estimate: dict[str, float]) -> str:
    return f"{percent(estimate['value'])}<small>standard error {percent(estimate['standard_error'])}</small>"


def _weak_cell(level: dict[str, Any]) -> str:
    tested, found = level["weak_places"]["tested"], level["weak_places"]["found"]
    if not tested:
        return "-<small>too few rows to tell</small>"
    if not found:
        return f"none<small>of {tested:,} tested</small>"
    coverage = found[0]["coverage"]
    where = f"{percent(coverage['share'])} where {html.escape(found[0]['where'])}"
    others = f"; {len(found)} of {tested:,} tested are weak" if len(found) > 1 else f"; {tested:,} tested"
    return f"{where}<small>({100 * coverage['low']:.1f} to {percent(coverage['high'])}){others}</small>"


def _test_text(level: dict[str, Any]) -> str:
    error = percent(level["weak_places"]["error"], 0)
    return f"where coverage is the same everywhere, the chance that this page calls any place weak is at most {error}."


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
    words = f"<p>On rows held out when it was fitted: {html.escape(fit_report['summary'])}</p>" if fit_report else ""
    return f'<dl class="facts">{listed}</dl>{words}'


def _guarantee(verdict: Verdict, rows: ModelRows) -> str:
    level, n = verdict.level["level"], rows.model.calibration_rows
    name = level_text(level)
    statement = (
        f"If new rows are exchangeable with the calibration rows, a {name} interval contains the outcome with"
        f" probability at least {name}, on average over calibration sets and new rows (marginal coverage). This holds"
        " for any model and any data distribution, at any sample size. It does not say that coverage is"
        f" {name} for every kind of row; `evaluate` and the report measure that."
    )
    points = []
    guarantee = rows.model.guarantee
    if guarantee != "marginal":
        points.append(
            f"This model also has a training-conditional guarantee: if rows are independent draws of one distribution,"
            f" a calibration set gives a coverage of at least {name} with probability at least"
            f" {level_text(float(guarantee))}."
        )
    if verdict.level["verdict"]["word"] != "infinite" and rows.groups is None:
        spread = _core.coverage_spread(level, n, guarantee=guarantee)
        points.append(
            f"One calibration set is not the average: with {n:,} rows, coverage lies between"
            f" {percent(spread['low'])} and {percent(spread['high'])} in 95% of cases. More calibration rows bring it"
            f" closer to {name}."
        )
    points += [
        "Rows that are later, from elsewhere, or chosen by their prediction may not be exchangeable with the"
        " calibration rows. Calibrate with rows like them, and test again.",
        "Rows that fitted the model are not exchangeable with new ones: neither the calibration nor this test may"
        " contain them.",
    ]
    return f"<p>{_coded(statement)}</p>{_bullets(points)}"


def _section(heading: str, content: str, note: str = "") -> str:
    note = f'<p class="soft">{html.escape(note)}</p>\n' if note else ""
    return f"<section>\n<h2>{html.escape(heading)}</h2>\n{note}{content}\n</section>"


def _gallery(figures: Sequence[str]) -> str:
    return '<div class="pictures">\n' + "\n".join(figures) + "\n</div>"


def _bullets(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_coded(sentence)}</li>" for sentence in sentences) + "</ul>"


def _coded(sentence: str) -> str:
    """Escaped text, with the parts in backquotes as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence, quote=False))


def _expected(level: dict[str, Any]) -> str:
    return f"{100 * level['verdict']['expected_low']:.1f} to {percent(level['verdict']['expected_high'])}"


def _measured(share: dict[str, Any]) -> str:
    return f"{percent(share['share'])}<small>({100 * share['low']:.1f} to {percent(share['high'])})</small>"
