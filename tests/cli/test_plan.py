"""Planning the calibration set."""

import pytest


def test_words_for_a_tolerance(widthwise):
    text = " ".join(widthwise.ok("plan", "--level", "0.9", "--tolerance", "0.01").out.split())
    assert text.startswith("Calibrate with ")
    assert "within 0.01 of 0.9: coverage is between 8" in text


def test_the_rows_asked_for_keep_the_tolerance(widthwise):
    answer = widthwise.ok("plan", "--level", "0.9", "--tolerance", "0.02", "--json").json
    assert answer["low"] >= 0.88 and answer["high"] <= 0.92
    # The normal approximation: 1.96^2 0.9 0.1 / 0.02^2 = 864 rows.
    assert answer["rows"] == pytest.approx(864, rel=0.1)
    again = widthwise.ok("plan", "--level", "0.9", "--rows", answer["rows"], "--json").json
    assert (again["low"], again["high"]) == (answer["low"], answer["high"])


def test_too_few_rows_are_said_to_be_too_few(widthwise):
    text = widthwise.ok("plan", "--level", "0.99", "--rows", "98").out
    assert "infinite" in text and "at least 99" in text
    assert "infinite" not in widthwise.ok("plan", "--level", "0.99", "--rows", "99").out


def test_several_levels_give_several_answers(widthwise):
    for levels in (["--level", "0.8,0.9"], ["--level", "0.8", "--level", "0.9"]):
        answers = widthwise.ok("plan", *levels, "--rows", "1000", "--json").json
        assert [answer["level"] for answer in answers] == [0.8, 0.9]


@pytest.mark.parametrize(
    "arguments", [["--tolerance", "2"], ["--tolerance", "0"], ["--rows", "9", "--confidence", "1"]]
)
def test_invalid_numbers_are_bad_usage(widthwise, arguments):
    widthwise.fails(2, "plan", *arguments)


def test_the_locale_changes_nothing(widthwise):
    plain = widthwise("plan", "--rows", "12345").out
    assert (
        widthwise("plan", "--rows", "12345", environment={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}).out == plain
    )
