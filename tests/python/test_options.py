"""Options and capabilities of the C++ library, the command line and Python agree with each other and with the docs.

WIDTHWISE_UPDATE=1 writes the generated part of docs/options.md instead of comparing it.
"""

import importlib
import inspect
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from examples import N_JOBS
from widthwise import Localizer, WidthwiseRegressor, _core

ROOT = Path(__file__).parents[2]
FIELDS = {  # fields of FitOptions with a name of their own
    "confidence_level": "levels",
    "two_sided": "sides",
    "outcome_range": "outcome_space",
    "outcome_step": "outcome_space.step",
}
PARAMETERS = {"seed": "random_state", "folds": "cv"}  # parameters of Python with a name of their own
FURTHER = {"score", "gamma", "epsilon", "may_be_exact"}  # options that Python takes in fit_options

FIT_OPTIONS = _core.fit_option_list()
TRAINER_OPTIONS = _core.trainer_option_list()
TRAINERS = _core.trainer_list()


def command_flags(option):
    """The options of the command line that set an option."""
    name = "--" + {"confidence_level": "level"}.get(option["name"], option["name"]).replace("_", "-")
    if not option["form"].endswith("true|false"):
        return [name]
    off = "--symmetric" if option["name"] == "two_sided" else "--no-" + name[2:]
    return {"auto": [name, off], "true": [off], "false": [name]}[option["default"]]


def python_name(option):
    """How Python calls an option of the fit."""
    name = option["name"]
    return f'fit_options={{"{name}": ...}}' if name in FURTHER else f"{PARAMETERS.get(name, name)}="


def default_of(cls, name):
    return inspect.signature(cls).parameters[name].default


# ---- the reference


def cell(text):
    return text.replace("|", "\\|")


def option_table(options, first_columns):
    head = [*(title for title, _ in first_columns), "value", "default", "meaning"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for option in options:
        names = [text(option) for _, text in first_columns]
        default = f"`{option['default']}`" if option["default"] else ""
        lines.append("| " + " | ".join([*names, cell(option["expected"]), default, cell(option["help"])]) + " |")
    return "\n".join(lines)


def reference():
    """The generated part of docs/options.md."""
    interfaces = [
        ("C++", lambda option: f"`{FIELDS.get(option['name'], option['name'])}`"),
        ("command line", lambda option: ", ".join(f"`{flag}`" for flag in command_flags(option))),
        ("Python", lambda option: f"`{python_name(option)}`"),
    ]
    text = "## Fit\n\n`FitOptions` in C++.\n"
    for group in dict.fromkeys(option["group"] for option in FIT_OPTIONS):
        members = [option for option in FIT_OPTIONS if option["group"] == group]
        text += f"\n### {group}\n\n{option_table(members, interfaces)}\n"
    text += "\n## Choice of trainers\n\n`TrainerOptions` in C++.\n\n"
    text += option_table(TRAINER_OPTIONS, interfaces[:2]) + "\n"
    for trainer in TRAINERS:
        text += f"\n## Options of the {trainer['kind']} `{trainer['name']}`\n\n"
        text += f"{trainer['help'][0].upper()}{trainer['help'][1:]}. "
        text += f"In `--{trainer['kind']}-options` and `{trainer['kind']}_options=`.\n\n"
        text += option_table(trainer["options"], [("name", lambda option: f"`{option['name']}`")]) + "\n"
    return text


def test_the_reference_is_up_to_date():
    file = ROOT / "docs/options.md"
    before, start, rest = file.read_text().partition("<!-- generated -->\n")
    generated, end, after = rest.partition("<!-- end -->")
    assert start and end, "docs/options.md has no generated part"
    if os.environ.get("WIDTHWISE_UPDATE"):
        file.write_text(f"{before}{start}\n{reference()}\n{end}{after}")
    else:
        assert generated.strip() == reference().strip(), "stale: run the test with WIDTHWISE_UPDATE=1"


# ---- capabilities


def capabilities():
    """The rows of the table of capabilities, each with its cells."""
    _, heading, section = (ROOT / "docs/options.md").read_text().partition("\n## What each interface can do\n")
    assert heading
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[part.strip() for part in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def python_names():
    for cells in capabilities():
        yield from re.findall(r"`(widthwise[\w.]*|\w+\.\w+)\(?\)?`", cells[3])


def test_python_has_what_the_capability_table_says():
    for name in python_names():
        *path, last = name.split(".") if name.startswith("widthwise") else ["widthwise", *name.split(".")]
        found = importlib.import_module(path[0])
        for part in path[1:]:
            found = getattr(found, part, None) or importlib.import_module(f"{found.__name__}.{part}")
        try:
            assert hasattr(found, last) or importlib.import_module(f"{found.__name__}.{last}"), name
        except ImportError as error:
            # An optional dependency of that module is not installed.
            assert error.name != f"{found.__name__}.{last}", name


def test_the_command_line_has_what_the_capability_table_says(program):
    help_of = {}
    for cells in capabilities():
        for command in re.findall(r"`widthwise (\w+)", cells[2]):
            help_of.setdefault(command, program(command, "--help"))
            assert help_of[command].returncode == 0, command
        for command, flag in re.findall(r"`widthwise (\w+) (--[\w-]+)", cells[2]):
            assert flag in help_of[command].stdout, f"{command} {flag}"


def test_cpp_has_what_the_page_says():
    headers = "\n".join(file.read_text() for file in sorted((ROOT / "include" / "widthwise").rglob("*.hpp")))
    names = [name for cells in capabilities() for name in re.findall(r"`([\w:]+)\(?\)?`", cells[1])]
    fields = [FIELDS.get(option["name"], option["name"]) for option in FIT_OPTIONS]
    for name in names + fields:
        for part in re.split(r"::|\.", name):
            assert re.search(rf"\b{part}\b", headers), name


# ---- the interfaces of a fit


def test_the_command_line_has_every_option_with_its_default(program):
    text = program("fit", "--help").stdout
    words = " ".join(text.split())
    for option in FIT_OPTIONS + TRAINER_OPTIONS:
        for flag in command_flags(option):
            assert re.search(rf"^  {flag}\b", text, re.MULTILINE), flag
        if option["form"].endswith("true|false") or not option["default"]:
            continue
        assert f"{' '.join(option['help'].split())}; default: {option['default']}" in words, option["name"]


@pytest.mark.parametrize("cls", [Localizer, WidthwiseRegressor])
def test_python_has_every_option_with_its_default(cls):
    parameters = inspect.signature(cls).parameters
    documentation = inspect.getdoc(cls)
    for option in FIT_OPTIONS:
        name = PARAMETERS.get(option["name"], option["name"])
        if option["name"] in FURTHER:
            assert f"``{name}``" in documentation or (cls is WidthwiseRegressor and name == "may_be_exact"), name
            continue
        # A localizer has no base model or calibration.
        if cls is Localizer and option["name"] in ("folds", "calibration", "calibration_size"):
            continue
        assert name in parameters, name
        assert re.search(rf"^(\w+, )*{name}\b.* : ", documentation, re.MULTILINE), name
        default = parameters[name].default
        if name == "random_state" and cls is WidthwiseRegressor:
            assert default is None  # as in scikit-learn
        elif default is None:
            assert option["default"] in ("auto", "none"), name
        else:
            shown = {True: "true", False: "false"}.get(default, str(default)) if isinstance(default, bool) else default
            assert str(shown) == option["default"], name


def fitted(rows, **options):
    localizer = Localizer(n_jobs=N_JOBS, **options)
    return localizer.fit(rows.X[:600], rows.y[:600], rows.y_pred[:600])


def notes_of(localizer):
    notes = localizer._model.notes
    return dict(pair.split("=", 1) for pair in f"{notes['options']} {notes['localizer_options']}".split())


def test_options_reach_the_fit(rows):
    localizer = fitted(
        rows,
        score_transform="erc",
        holdout_fraction=0.3,
        localizer_options={"learning_rate": 0.125, "max_depth": 2},
        fit_options={"score": "squared", "gamma": 0.5},
    )
    notes = notes_of(localizer)
    expected = {"score_transform": "erc", "holdout_fraction": "0.3", "score": "squared", "gamma": "0.5"}
    assert expected.items() <= notes.items()
    assert {"learning_rate": "0.125", "max_depth": "2"}.items() <= notes.items()
    assert localizer.fit_report_["holdout_rows"] == 180


@pytest.mark.parametrize(("name", "value"), [("base", "quantiles"), ("base_options", {"rounds": 7})])
def test_a_base_model_with_an_estimator_or_predictions_is_an_error(rows, name, value):
    """As on the command line: an option is not ignored."""
    for estimator, given in ((LinearRegression(), {}), (None, {"y_pred": rows.y_pred})):
        model = WidthwiseRegressor(estimator, **{name: value})
        with pytest.raises(ValueError, match=f"{name} is .* but no base model is trained here"):
            model.fit(np.nan_to_num(rows.X), rows.y, **given)


def test_base_options_reach_the_base_model(rows):
    model = WidthwiseRegressor(base_options={"rounds": 7}, score_transform="identity", random_state=0, n_jobs=N_JOBS)
    model.fit(rows.X[:300], rows.y[:300])
    assert "rounds=7 " in model.predictor_._model.notes["base_options"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"holdout_fraction": 1.5}, "holdout_fraction is '1.5'; expected a number strictly between 0 and 1"),
        ({"goal": "evn"}, "goal is 'evn'; expected auto, balanced, even, narrow or a number from 0 to 1"),
        ({"goal": True}, "goal is True; expected"),
        ({"two_sided": 1}, "two_sided is '1'; expected"),
        ({"compare": None}, "compare is 'auto'; expected true or false"),
        ({"guarantee": 1.5}, "guarantee is 1.5; expected"),
        ({"level_window": (0.9, 0.8)}, "level_window is '0.9,0.8'; expected"),
        ({"fit_options": {"goal": "even"}}, "fit_options contains 'goal', which has a parameter of its own"),
        ({"fit_options": {"calibration_size": 0.5}}, "which has a parameter of its own"),
        ({"fit_options": {"gama": 1}}, "unknown option 'gama'; did you mean 'gamma'"),
        ({"fit_options": {"gamma": -1}}, "gamma is '-1'; expected a number above 0"),
        ({"fit_options": ["gamma"]}, "expected a dict of options by name"),
        ({"localizer_options": {"depth": object()}}, "expected a number, a word"),
    ],
)
def test_invalid_options_are_named(options, message):
    with pytest.raises(ValueError) as error:
        Localizer(**options)
    assert message in str(error.value)


def test_options_that_the_trainer_does_not_take_are_named(rows):
    with pytest.raises(ValueError, match="unknown option 'max_dept'; did you mean 'max_depth'"):
        fitted(rows, localizer_options={"max_dept": 3})
    with pytest.raises(ValueError, match="subsample is '2'; expected a number above 0 and at most 1"):
        fitted(rows, localizer_options={"subsample": 2})


def test_scores_give_valid_intervals(rows, fresh):
    for score, transform in (("squared", "exp"), ("log", "affine")):
        localizer = fitted(rows, score_transform=transform, fit_options={"score": score})
        parameters = localizer.parameters(fresh.X, fresh.y_pred)
        assert np.isfinite(parameters).all()
