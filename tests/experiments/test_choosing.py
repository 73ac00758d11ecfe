"""The pictures of docs/choosing.md show the committed results, and the text agrees with them."""

import re
from pathlib import Path
from statistics import median

import pytest

pytest.importorskip("matplotlib")
image = pytest.importorskip("PIL.Image")

from experiments.choosing import numbers, pictures  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shown():
    return numbers.all_numbers()


@pytest.fixture(scope="module")
def page():
    return " ".join((ROOT / "docs/choosing.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_shows_the_committed_results(shown, page, name):
    with image.open(numbers.PICTURES / f"choosing_{name}.png") as drawn:
        assert drawn.text[pictures.CHECKSUM] == numbers.checksum(shown[name]), "run `make pictures`"
    assert f"(pictures/choosing_{name}.png)" in page


def test_the_text_agrees_with_the_pictures(shown, page):
    wider = {at["rows"]: f"{100 * at['widening']:.2g}%" for at in shown["guarantee"]["widening"]}
    assert f"{wider[100]} with 100 calibration rows and {wider[5000]} with 5,000" in page
    mathematics = " ".join((ROOT / "docs/mathematics.md").read_text(encoding="utf-8").split())
    assert (
        f"{wider[100]} with 100 calibration rows, {wider[500]} with 500, {wider[1000]} with 1,000 and {wider[5000]} with 5,000"
        in mathematics
    )

    width, slab = zip(shown["goal"]["facebook_1"]["narrow"], shown["goal"]["facebook_1"]["one width"], strict=True)
    assert width[0] < width[1]
    assert f"covers only {slab[0]:.0%} in the worst slab of facebook_1" in page

    medians = {
        value: {label: median(ratios.values()) for label, ratios in by_label.items()}
        for value, by_label in shown["transform"].items()
    }
    assert min(medians["width"], key=medians["width"].get).startswith("affine")
    assert all("even" in label for label in sorted(medians["interval_score"], key=medians["interval_score"].get)[:2])

    narrower = {name: ratio for name, (ratio, _) in shown["sides"].items()}
    assert max(narrower.values()) < 1 and min(narrower, key=narrower.get) == "facebook_1"
    assert "On the small data sets community and energy the interval score is worse" in page
    assert [name for name, (_, score) in shown["sides"].items() if score > 1] == ["community", "energy"]

    gained = shown["gain"]["data_sets"]
    assert f"{len(gained)} data sets" in page
    assert [name for name, (_, score) in gained.items() if score > 1] == ["wine"]
    equal = max(at["score"] for at in shown["gain"]["learnt_widths"] if at["spread"] == 0)
    assert re.search(rf"learnt widths cost up to {100 * (equal - 1):.0f}%", page)
