"""`widthwise report`: a self-contained page with the verdict of `evaluate`."""

import html
import re
import stat
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, make_table, write

DATA, USAGE = 1, 2

QUICK = ["--threads", "2", "--localizer-options", "max_rounds=20"]
EVIL = '<script>alert("1")</script> & co'


class Page(HTMLParser):
    """Tags, references, ids and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.references, self.names, self.words = [], [], [], []
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("href", "src", "xlink:href"):
                self.references.append(value)
            if name == "id":
                self.names.append(value)

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def shops(tables):
    """Shops with different noise; the model does not know the shop. Names are markup."""
    folder = tables / "report"
    folder.mkdir()
    program = Program(folder)
    for name, rows, seed in [("train", 3000, 1), ("test", 2000, 2)]:
        random = np.random.default_rng(seed)
        shop = np.array(["east", EVIL, "<b>south</b>"])[random.integers(0, 3, rows)]
        x = random.normal(size=rows)
        price = x + np.where(shop == EVIL, 2.0, 0.5) * random.normal(size=rows)
        columns = {"x": x, "<i>y</i>": random.normal(size=rows), "shop": shop, "forecast": x, "<u>price</u>": price}
        write(pa.table(columns), folder / f"{name}.csv")
    fit = ["fit", "train.csv", "--target", "<u>price</u>", "--prediction", "forecast", *QUICK]
    program.ok(*fit, "--features", "x,<i>y</i>", "--level", "0.8,0.9", "-o", "model.safetensors")
    program.ok("report", "model.safetensors", "test.csv", "--by", "shop", "-o", "page.html")
    return program


@pytest.fixture(scope="module")
def page(shops):
    return (shops.folder / "page.html").read_text("utf-8")


def test_the_verdict_is_that_of_evaluate(shops, page):
    report = shops.ok("evaluate", "model.safetensors", "test.csv", "--by", "shop", "--json").json
    printed = shops.ok("report", "model.safetensors", "test.csv", "--by", "shop", "-o", "again.html").out
    headline = report["verdict"]["headline"]
    assert " ".join(printed.split()) == headline  # on several lines
    assert f"<h1>{html.escape(headline)}</h1>" in page
    assert (shops.folder / "again.html").read_text("utf-8") == page
    text = Page(page).text
    for level in report["levels"]:
        assert f"{100 * level['coverage']['share']:.1f}%" in text
    for advice in report["verdict"]["advice"]:
        assert advice["text"] in text
    assert "Coverage by shop, the lowest first" in text
    assert "where shop is '" in text and "2 of 3 bins lie" not in text


def test_names_are_only_text(page):
    found = Page(page)
    assert not {"script", "b", "i", "u"} & set(found.tags)
    assert EVIL in found.text and "<b>south</b>" in found.text and "Prediction intervals of <u>price</u>" in found.text


def test_the_page_needs_nothing_else(page):
    found = Page(page)
    assert found.references == [] and "link" not in found.tags
    assert not re.search(r"https?:|@import|url\(", page)
    assert "default-src 'none'" in page
    assert len(set(found.names)) == len(found.names)
    headings = [tag for tag in found.tags if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1" and headings.count("h1") == 1


def test_every_picture_is_valid_and_described(page):
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) >= 6
    names = set(Page(page).names)
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert {root.get("aria-labelledby"), root.get("aria-describedby")} <= names
        _, _, width, height = map(float, root.get("viewBox").split())
        assert "nan" not in picture and "inf" not in re.sub(r"<text.*?</text>", "", picture)
        for element in root.iter():
            for name, limit in (("cx", width), ("x1", width), ("x2", width), ("cy", height), ("y1", height)):
                assert 0 <= float(element.get(name, 0)) <= limit


def test_inputs_of_every_kind(shops):
    homes = make_table(400, 3)
    write(homes, shops.folder / "homes.csv")
    write(homes.slice(0, 1), shops.folder / "one.csv")
    fit = ["fit", "homes.csv", "--target", "price", "--prediction", "forecast", *QUICK, "-o", "homes.safetensors"]
    shops.ok(*fit, "--score-transform", "identity", "--features", "a")
    write(make_table(200, 4), shops.folder / "new.csv")
    shops.ok("report", "homes.safetensors", "new.csv", "-o", "new.html", "--title", "A & B")  # one width for all
    assert "<title>A &amp; B</title>" in (shops.folder / "new.html").read_text("utf-8")
    warned = shops("report", "homes.safetensors", "new.csv", "--level", "0.9999", "-o", "wide.html")
    assert warned.code == 0 and "The intervals are infinite" in warned.out
    wide = Page((shops.folder / "wide.html").read_text("utf-8")).text
    assert "Coverage at every level" in wide and "Interval widths" not in wide
    shops.ok("report", "homes.safetensors", "one.csv", "-o", "one.html")
    shops.fails(USAGE, "report", "homes.safetensors", "new.csv")
    assert "same file" in shops.fails(USAGE, "report", "homes.safetensors", "new.csv", "-o", "new.csv")
    for name in ("r.pdf", "r"):  # refused before the model is read
        message = shops.fails(USAGE, "report", "none.safetensors", "new.csv", "-o", name)
        assert message == (
            f"widthwise report: {name}: the report is an HTML file; expected a file name that ends in .html or .htm"
        )
        assert not (shops.folder / name).exists()
    shops.fails(DATA, "report", "homes.safetensors", "test.csv", "-o", "x.html")
    assert not (shops.folder / "x.html").exists()


def test_the_file_is_replaced_and_keeps_its_permissions(shops):
    file = shops.folder / "kept.html"
    file.write_text("old")
    file.chmod(0o600)
    shops.ok("report", "model.safetensors", "test.csv", "-o", "kept.html")
    assert file.read_text("utf-8").startswith("<!doctype html>") and stat.S_IMODE(file.stat().st_mode) == 0o600
