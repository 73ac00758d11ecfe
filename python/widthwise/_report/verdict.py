"""The verdict of an evaluation for the report, with Python code in the advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._evaluation import Evaluation

_CALIBRATE_GROUPS = (
    "`grouped = predictor.calibrated(X, y, groups=groups, replace=True)`, then"
    " `grouped.predict_interval(X_new, groups=groups_new)`"
)


@dataclass(frozen=True)
class Verdict:
    """The content of the header of the report."""

    mood: str  # "valid", "weak" or "broken"
    word: str
    headline: str
    evidence: str
    advice: list[str]
    level: dict[str, Any]  # level of the evaluation shown in the headline and the plots


def verdict_of(evaluation: Evaluation, model: Any) -> Verdict:
    """The overall verdict of an evaluation, with code in the advice."""
    found = evaluation["verdict"]
    advice = [_with_code(one["kind"], one["text"], model) for one in found["advice"]]
    level = evaluation["levels"][found["level"]]
    return Verdict(found["mood"], found["word"], found["headline"], found["evidence"], advice, level)


def _with_code(kind: str, text: str, model: Any) -> str:
    if kind == "calibrate":
        regressor = hasattr(model, "conformalize")
        call = (
            "model.conformalize(X, y, replace=True)"
            if regressor
            else "predictor.calibrated(X, y, y_pred, replace=True)"
        )
        return f"{text} In Python: `{call}`."
    if kind == "groups":
        return f"{text} In Python: {_CALIBRATE_GROUPS}."
    if kind == "even":
        gain = (getattr(model, "fit_report_", None) or {}).get("even_gain")
        return f'{text} In Python: `goal="even"`.' + (f" {gain}" if gain else "")
    return text
