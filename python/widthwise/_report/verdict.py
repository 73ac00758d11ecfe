"""The verdict on intervals, in words a person can act on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .. import _core
from .._evaluation import Evaluation, number, percent
from ..plot._style import level_text

Mood = Literal["valid", "weak", "broken"]


@dataclass(frozen=True)
class Verdict:
    """What the page says first: whether intervals are valid, where coverage is weak, and what to do."""

    mood: Mood
    word: str
    headline: str
    evidence: str
    advice: list[str]
    level: dict[str, Any]  # of the evaluation: the one that the headline is about, and the pictures


def weak_places(level: dict[str, Any]) -> list[dict[str, Any]]:
    """The places whose coverage lies below the level by the test of the evaluation."""
    found: list[dict[str, Any]] = level["weak_places"]["found"]
    return found


def judge(evaluation: Evaluation, core: _core.Model, model: Any) -> Verdict:
    """Put an evaluation into words."""
    if evaluation["seen"]:
        return _seen(evaluation, core)
    by_word: dict[str, list[dict[str, Any]]] = {"valid": [], "too low": [], "too high": [], "infinite": []}
    for level in evaluation["levels"]:
        by_word[level["verdict"]["word"]].append(level)
    infinite = by_word["infinite"]
    if len(infinite) == len(evaluation["levels"]):
        return _infinite(infinite, core)
    if by_word["too low"]:
        verdict = _too_low(by_word["too low"], len(evaluation["levels"]), core, model)
    else:
        # The level that the model was made for comes first.
        finite = sorted(by_word["valid"] + by_word["too high"], key=lambda one: one["level"] != core.levels[0])
        verdict = _kept(finite, len(evaluation["levels"]), evaluation["rows"], core, model)
    if not infinite:
        return verdict
    return replace(
        verdict,
        mood="broken" if verdict.mood == "broken" else "weak",
        word="Valid, some infinite" if verdict.mood == "valid" else verdict.word,
        headline=f"{verdict.headline} Those of {_names(infinite)} are infinite.",
        advice=[*verdict.advice, *_advice_to_add_rows(infinite, core)],
    )


def _seen(evaluation: Evaluation, core: _core.Model) -> Verdict:
    """Rows that the model has seen do not tell how it does on others."""
    level = next((one for one in evaluation["levels"] if one["level"] == core.levels[0]), evaluation["levels"][0])
    return Verdict(
        "broken",
        "Not new rows",
        f"This does not measure coverage of new rows: {evaluation['seen']['rows']}.",
        "The model's errors on rows that it has seen are not those on new rows, so neither are coverage and widths.",
        ["Make this page again with rows that neither fitted nor calibrated the model."],
        level,
    )


def _names(levels: list[dict[str, Any]]) -> str:
    """80 %, 90 % and 95 %, or just the ends."""
    sorted_levels = sorted(float(level["level"]) for level in levels)
    if len(sorted_levels) > 4:
        return f"{level_text(sorted_levels[0])} to {level_text(sorted_levels[-1])}"
    return listed([level_text(level) for level in sorted_levels])


def _too_low(levels: list[dict[str, Any]], tested: int, core: _core.Model, model: Any) -> Verdict:
    def importance(one: dict[str, Any]) -> tuple[bool, float]:
        return one["level"] == core.levels[0], one["verdict"]["expected_low"] - one["coverage"]["share"]

    level = max(levels, key=importance)
    share, wanted = level["coverage"]["share"], level["level"]
    contain = f"those of {level_text(wanted)} contain {percent(share)} of the outcomes"
    # Small groups and training-conditional guarantees give more than the level.
    reached = share >= wanted
    headline = (
        f"The intervals cover less than expected: {contain}."
        if reached
        else f"The intervals are not valid on these rows: {contain}."
    )
    advice = [f"Calibrate again with rows like these: {_code_to_calibrate(model)}. Keep some of them aside to test."]
    weak = level["weakest"]
    if weak and weak["weak"] and _high(weak["coverage"]) < share:  # lower than elsewhere
        headline += f" Coverage is lowest, {share_text(weak['coverage']['share'], wanted)}, where {weak['where']}."
        advice.append(f"Look first at rows where {weak['where']}: what has changed there since the model was fitted?")
    advice.append(
        "If these rows are here to stay, fit again with rows like them: calibration alone makes all intervals wider."
    )
    evidence = level["verdict"]["text"]
    if tested > 1:
        evidence += f" {len(levels)} of {tested} levels are too low."
    return Verdict("broken", "Lower than expected" if reached else "Not valid here", headline, evidence, advice, level)


def _infinite(levels: list[dict[str, Any]], core: _core.Model) -> Verdict:
    level = min(levels, key=lambda one: float(one["level"]))
    have, need = core.calibration_rows, _core.min_rows(level["level"], core.guarantee)
    takes = f"the level {level_text(level['level'])} takes {counted(need, 'calibration row')}"
    found = "per group" if have >= need else f"and there {'is' if have == 1 else 'are'} {have:,}"
    headline = f"The intervals are infinite: {takes}{' ' if have >= need else ', '}{found}."
    advice = _advice_to_add_rows(levels, core)
    return Verdict("broken", "Infinite", headline, level["verdict"]["text"], advice, level)


def _advice_to_add_rows(levels: list[dict[str, Any]], core: _core.Model) -> list[str]:
    have = core.calibration_rows
    maximum = max(float(level["level"]) for level in levels)
    need = _core.min_rows(maximum, core.guarantee)
    if have >= need:
        return [f"Calibrate every group with at least {counted(need, 'row')} that nothing was fitted on."]
    lacking = need - have
    attainable = level_text(math.floor(1e4 * _core.greatest_level(have, core.guarantee)) / 1e4)
    return [
        f"Add at least {counted(lacking, 'calibration row')}, that nothing was fitted on, for the level"
        f" {level_text(maximum)}; or ask for a level of at most {attainable}, which {counted(have, 'row')} allow."
    ]


def _kept(finite: list[dict[str, Any]], asked: int, tested: int, core: _core.Model, model: Any) -> Verdict:
    """Coverage is valid over all rows; are there places where it is low?"""
    level = next((one for one in finite if weak_places(one)), finite[0])
    evidence, places = level["verdict"]["text"], weak_places(level)
    too_high = level["verdict"]["word"] == "too high"
    headline = "The intervals" + (f" of {_names(finite)}" if asked > 1 else "") + " are valid"
    headline += ", and wider than needed" if too_high else ""
    advice = []
    mood: Mood = "valid"
    word = "Valid, but wide" if too_high else "Valid"
    if too_high:
        advice.append(
            f"These rows are easier than those of the calibration. Calibrate with rows like these, and intervals get"
            f" narrower: {_code_to_calibrate(model)}."
        )
    if places:
        mood, word = "weak", "Valid, with a weak place"
        at_level = f"at {level_text(level['level'])}, " if len(finite) > 1 else ""
        share = share_text(places[0]["coverage"]["share"], level["level"])
        headline += f"; {at_level}coverage is low, {share}, where {places[0]['where']}."
        evidence += _evidence_for(places)
        advice += _advice_for_weak_place(core, model)
    elif not level["weak_places"]["tested"]:
        headline += f"; {counted(tested, 'row')} cannot tell where coverage is weak."
        advice.append(f"Test with at least {_core.MIN_SEARCH_ROWS} rows, better thousands, to find weak places.")
    else:
        headline += "; no place was found where coverage is weak."
        if not too_high:
            advice.append("Nothing. Make this page again when the data may have changed.")
    if level["infinite"]:
        advice.append(
            f"{level['infinite']:,} of {tested:,} intervals are infinite: their groups have too few calibration rows,"
            " or none. Calibrate with rows of these groups."
        )
    if level["empty"]:
        advice.append(
            f"{level['empty']:,} of {tested:,} intervals ({percent(level['empty'] / tested)}) are empty: no value"
            " conforms at this level, and the prediction alone is returned. A higher level or a goal nearer to"
            " `even` makes fewer of them."
        )
    return Verdict(mood, word, headline, evidence, advice, level)


def _evidence_for(places: list[dict[str, Any]]) -> str:
    coverage = places[0]["coverage"]
    text = (
        f" Where {places[0]['where']}, {coverage['successes']:,} of {counted(coverage['trials'], 'outcome')} lie in"
        f" their interval: {percent(coverage['share'])} ({percent(coverage['low'])} to {percent(coverage['high'])}"
        " at 95 % confidence)."
    )
    if len(places) > 1:
        text += f" In all, {len(places)} places are weak, some of which overlap."
    return text


def _high(coverage: dict[str, Any]) -> float:
    """The upper end of a confidence interval that few exchangeable rows leave."""
    return float(_core.proportion(coverage["successes"], coverage["trials"], _core.VERDICT_CONFIDENCE)["high"])


def _advice_for_weak_place(core: _core.Model, model: Any) -> list[str]:
    """What to do about coverage that the test found to be low somewhere."""
    goal = core.notes.get("goal")
    if goal == "even" and core.transform != "identity":
        return [
            "Fit again with more rows from there: the goal is even already.",
            "Or calibrate these rows separately, so that they have the marginal coverage of the level: number the groups and "
            "replace the calibration, `grouped = predictor.calibrated(X, y, groups=groups, replace=True)`, then "
            "`grouped.predict_interval(X_new, groups=groups_new)`. Every row needs a group.",
        ]
    text = 'Fit again with `goal="even"`, which makes coverage as even as the data allow'
    fit_report = getattr(model, "fit_report_", None) or {"other": None}
    other = fit_report["other"]
    if not other or other["goal"] != "even":
        return [f"{text}."]
    chosen = fit_report["chosen"]
    slab, chosen_slab = other["worst_slab"], chosen["worst_slab"]
    if not slab or not chosen_slab:
        return [f"{text}. The hold-out was too small to show how much that helps."]
    text += (
        f". On the hold-out it covered {_with_range(slab)} where coverage is worst, instead of"
        f" {_with_range(chosen_slab)}, with a mean width of {number(other['mean_width'])} instead of"
        f" {number(chosen['mean_width'])}"
    )
    if slab["low"] <= chosen_slab["high"]:
        text += "; that may be chance"
    return [f"{text}."]


def _with_range(coverage: dict[str, Any]) -> str:
    return f"{percent(coverage['share'])} ({100 * coverage['low']:.1f} to {percent(coverage['high'])})"


def _code_to_calibrate(model: Any) -> str:
    if hasattr(model, "conformalize"):
        return "`model.conformalize(X, y, replace=True)`"
    return "`predictor.calibrated(X, y, y_pred, replace=True)`"


def share_text(share: float, level: float) -> str:
    """A share for a headline: without decimals, unless they tell it from the level."""
    return percent(share, 0 if abs(share - level) >= 0.02 and level <= 0.97 else 1)


def counted(count: int, thing: str) -> str:
    """3 rows."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
