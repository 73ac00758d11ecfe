"""The report is correct, gives actionable advice, and is self-contained."""

import copy
import html
import itertools
import json
import os
import re
import shutil
import stat
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from examples import N_JOBS, Rows
from widthwise import Localizer, Predictor, WidthwiseRegressor, evaluate_intervals, report
from widthwise._report import verdict as verdicts


@pytest.fixture(scope="module")
def one_width(rows):
    """A predictor with constant width."""
    localizer = Localizer(goal=None, score_transform="identity", n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    calibrating = Rows(1500, seed=2)
    return Predictor(localizer, localizer.calibrate(calibrating.frame(), calibrating.y, calibrating.y_pred))


@pytest.fixture(scope="module")
def page(model, fresh):
    return report(model, fresh.X, fresh.y, confidence_level=[0.8, 0.9])


@pytest.fixture(scope="module")
def weak_page(one_width, fresh):
    return report(one_width, fresh.frame(), fresh.y, y_pred=fresh.y_pred)


CANAL = "WWW: north of the ship canal"
SHOPS = np.array([CANAL, "東京都渋谷区神南一丁目十九番十一号", "<b>MMMM</b>", "iii", "east"])


@pytest.fixture(scope="module")
def wide_page():
    """A page with wide labels, large numbers, categories, groups, a skewed feature and missing values."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 5000
    shop, lot = SHOPS[rng.integers(0, 5, n)], rng.lognormal(8, 2, n).round()
    X = pandas.DataFrame({"lot, in m²": lot, "shop": shop, "floor": rng.integers(-1, 5, n).astype(float)})
    X.iloc[::40, 0] = np.nan
    f = 1e7 * rng.uniform(1, 3, n)
    y = f + np.where(shop == CANAL, 4e6, 1e6) * np.maximum(lot, 1) ** 0.1 * rng.normal(size=n)
    options = {"goal": None, "score_transform": "identity", "n_jobs": N_JOBS}
    localizer = Localizer(**options).fit(X[:1000], y[:1000], f[:1000])
    region = np.array(["north", "south"])[rng.integers(0, 2, n)]
    calibration = localizer.calibrate(X[1000:3000], y[1000:3000], f[1000:3000], groups=region[1000:3000])
    made = Predictor(localizer, calibration)
    return report(made, X[3000:], y[3000:], y_pred=f[3000:], groups=region[3000:], confidence_level=[0.8, 0.9])


def verdict_of(model, X, y, **options):
    """The headline of the page."""
    return verdicts.verdict_of(model.evaluate(X, y, **options), model)


class Page(HTMLParser):
    """The contents of a page: text, names, references, and whether elements are closed."""

    VOID = ("meta", "br", "img", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.references, self.tags, self.words = [], [], [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self._attributes(attributes)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self._attributes(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data.replace("\u00a0", " "))

    def _attributes(self, attributes):
        for name, value in attributes:
            if name == "id":
                self.names.append(value)
            elif name in ("href", "src", "srcset", "action", "data"):
                self.references.append(value)
            elif name.startswith("aria-labelledby") or name.startswith("aria-describedby"):
                self.references.append("#" + value)


# ---- the text


def test_uneven_intervals(rows, fresh):
    model = WidthwiseRegressor(goal=0.5, random_state=3, n_jobs=N_JOBS).fit(rows.X, rows.y)
    page = report(model, fresh.X, fresh.y, confidence_level=0.8)
    (level,) = page.evaluation["levels"]
    assert page.evaluation["verdict"]["code"] == "uneven"
    narrow, wide = (level["uneven"][end]["coverage"] for end in ("highest", "lowest"))
    assert narrow["share"] > 0.9 > 0.75 > wide["share"]
    sentence = f"{100 * narrow['share']:.1f}% where intervals are narrow ("
    assert page.verdict.startswith(f"The intervals are valid, but uneven: coverage is {sentence}")
    assert f" and {100 * wide['share']:.1f}% where they are wide (" in page.verdict
    assert len(page.advice) == 1 and page.advice[0].startswith("Fit again with the goal even")
    # The same words everywhere.
    assert sentence in level["uneven"]["text"] and level["uneven"]["text"] in level["verdict"]["text"]
    assert sentence in " ".join(str(page.evaluation).split())
    assert level["uneven"]["text"] in Page(page.html).text
    assert "0.5, where 0 is narrow and 1 is even" in Page(page.html).text


def test_valid_intervals(page, model, fresh):
    assert page.evaluation["verdict"]["code"] == "valid"
    assert page.verdict.startswith("The intervals of 80% and 90% are valid; no place was found")
    assert repr(page) == f"Report: {page.verdict}"
    np.testing.assert_equal(page.evaluation, model.evaluate(fresh.X, fresh.y, confidence_level=[0.8, 0.9]))
    text = Page(page.html).text
    assert page.verdict in text
    for level in page.evaluation["levels"]:
        assert f"{100 * level['coverage']['share']:.1f}%" in text
    assert model.fit_report_["summary"] in text
    assert "the smallest interval score, with nearly even coverage" in text
    assert "made by the model itself" in text
    for heading in (
        "Coverage and width by level",
        "Figures",
        "Coverage by bins of the rows",
        "Fitted model",
        "Guarantee and its conditions",
    ):
        assert heading in text
    assert page.html.count("<svg") == page.html.count("<figcaption") >= 8


def test_a_weak_place_is_named_with_advice(weak_page):
    level = weak_page.evaluation["levels"][0]
    assert level["weakest"]["feature"] == "size"
    assert level["weakest"]["weak"]
    first = level["weak_places"]["found"][0]
    assert first["where"] == level["weakest"]["where"]
    share = f"{100 * first['coverage']['share']:.0f}%"
    assert weak_page.verdict == f"The intervals are valid; coverage is low, {share}, where {first['where']}."
    assert weak_page.advice[0].startswith("Fit again with the goal even") and '`goal="even"`' in weak_page.advice[0]
    assert '<code>goal="even"</code>' in weak_page.html
    text = Page(weak_page.html).text
    assert text.index("Coverage by size") < text.index("Coverage by age")
    assert f"{len(level['weak_places']['found'])} of {level['weak_places']['tested']} tested are weak" in text
    assert "one width for all rows" in text
    assert 'class="verdict weak"' in weak_page.html


def test_the_advice_states_the_effect_of_even(rows):
    many = Rows(20_000, seed=3)
    X, X_new = np.nan_to_num(rows.X, nan=2.0), np.nan_to_num(many.X, nan=2.0)
    model = WidthwiseRegressor(LinearRegression(), goal="narrow", compare=True, random_state=0, n_jobs=N_JOBS).fit(
        X, rows.y
    )
    verdict = verdict_of(model, X_new, many.y)
    assert verdict.mood == "weak"
    slab = model.fit_report_["other"]["worst_slab"]
    if slab is None:  # too small a hold-out for a figure
        assert "The hold-out was too small to measure the gain." in verdict.advice[0]
    else:
        interval = f"({100 * slab['low']:.1f}% to {100 * slab['high']:.1f}%)"
        assert f"covered {100 * slab['share']:.1f}% {interval} where coverage is worst" in verdict.advice[0]


def test_coverage_that_is_too_low(model, fresh):
    y_pred = model.predict(fresh.X)
    harder = np.where(fresh.X[:, 0] > 2, y_pred + 2 * (fresh.y - y_pred), fresh.y)
    made = report(model, fresh.X, harder, confidence_level=[0.8, 0.9])
    levels = {level["level"]: level for level in made.evaluation["levels"]}
    found = re.match(
        r"The intervals are not valid on these rows: those of 90% contain ([\d.]+)% of the outcomes. "
        r"Coverage is lowest, \d+%, where x0 is .*\.",
        made.verdict,
    )
    assert found[1] == f"{100 * levels[0.9]['coverage']['share']:.1f}"
    assert "`model.conformalize(X, y, replace=True)`" in made.advice[0]
    assert "<code>model.conformalize(X, y, replace=True)</code>" in made.html
    assert 'class="verdict broken"' in made.html
    assert "2 of 2 levels are too low." in Page(made.html).text


def test_coverage_that_is_too_low_everywhere(model):
    # With few rows, chance alone can explain the differences between places.
    few = Rows(450, seed=6)
    y_pred = model.predict(few.X)
    verdict = verdict_of(model, few.X, y_pred + 1.5 * (few.y - y_pred))
    assert verdict.mood == "broken"
    assert verdict.headline.endswith("of the outcomes.")  # no place is worse than the others


def test_coverage_that_is_too_high(one_width, fresh):
    easier = fresh.y_pred + 0.3 * (fresh.y - fresh.y_pred)
    verdict = verdict_of(one_width, fresh.frame(), easier, y_pred=fresh.y_pred)
    assert verdict.headline.startswith("The intervals are valid, and wider than needed; no place")
    assert "predictor.calibrated(X, y, y_pred, replace=True)" in verdict.advice[0]


@pytest.mark.filterwarnings("ignore:intervals of level 0.99 are infinite")
def test_infinite_intervals(model, fresh):
    few = Rows(30, seed=6)
    small = Predictor._of(model.predictor_._model).calibrated(few.X, few.y, replace=True)
    made = report(small, fresh.X, fresh.y, confidence_level=0.99)
    assert made.verdict == "The intervals are infinite: the level 99% needs 99 calibration rows, and the model has 30."
    assert made.advice == [
        "Add at least 69 calibration rows for the level 99%, or use a level of at most 96.77%, which 30 rows allow."
    ]
    small.predict_interval(fresh.X, confidence_level=0.9677)  # which it can: no warning
    text = Page(made.html).text
    assert "Coverage at every level" in text
    assert "Interval widths" not in text

    some = verdict_of(small, fresh.X, fresh.y, confidence_level=[0.99, 0.8, 0.9])
    assert some.headline.startswith("The intervals of 80% and 90% are valid; ")
    assert some.headline.endswith(" Those of 99% are infinite.")
    assert "Add at least 69 calibration rows" in some.advice[-1]
    assert some.level["level"] == 0.9


def test_few_rows(model, fresh):
    verdict = verdict_of(model, fresh.X[:50], fresh.y[:50])
    assert verdict.headline == "The intervals are valid; 50 rows are too few to search for weak places."
    assert "at least 100 rows" in verdict.advice[0]
    one = report(model, fresh.X[:1], fresh.y[:1])
    assert "1 row is too few" in one.verdict
    assert "Coverage by bins of the rows" not in Page(one.html).text


def test_groups_have_a_picture_and_those_not_calibrated_a_word(rows, fresh):
    localizer = Localizer(n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    calibrating = Rows(1500, seed=2)
    groups = np.arange(1500) % 3
    calibration = localizer.calibrate(calibrating.frame(), calibrating.y, calibrating.y_pred, groups=groups)
    predictor = Predictor(localizer, calibration)
    made = report(predictor, fresh.frame(), fresh.y, y_pred=fresh.y_pred, groups=np.arange(2000) % 4)
    assert "500 of 2,000 intervals are infinite: their groups have too few calibration rows" in made.advice[-1]
    assert "Coverage by group, the lowest first" in Page(made.html).text


def test_categories_and_groups_have_coverage_and_width(wide_page):
    text = Page(wide_page.html).text
    level = next(level for level in wide_page.evaluation["levels"] if level["level"] == 0.9)
    by_shop = next(one for one in level["by_feature"] if one["feature"] == "shop")
    shown = {
        "Coverage by shop, the lowest first": by_shop["bins"],
        "Coverage by group, the lowest first": level["by_group"],
    }
    for heading, bins in shown.items():
        picture = text[text.index(heading) :].partition("Coverage ranges")[0]
        assert "mean width" in picture
        for bin_ in bins:
            assert f"{bin_['mean_width']:,.0f}" in picture
            assert bin_["label"][:8] in picture
    assert "3: lot, in m², shop (5 categories), floor" in text
    assert "2,000, in 2 groups" in text


def test_a_category_is_shown_next_to_features_of_lower_coverage():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.uniform(size=(3000, 5)), columns=list("abcde"))
    y = X.sum(axis=1).to_numpy() ** 3 * rng.normal(size=3000)  # the errors depend on all numbers
    bounds = np.multiply.outer(np.full(3000, np.quantile(np.abs(y), 0.9)), [-1, 1])
    X["shop"] = SHOPS[rng.integers(0, 5, 3000)]
    found = evaluate_intervals(bounds, y, confidence_level=0.9, calibration_rows=3000, X=X)
    names = [one["feature"] for one in found["levels"][0]["by_feature"]]
    assert len(names) == 5 and names[-1] == "shop"


def x_ticks(page, heading):
    """The tick labels of the x axis of a picture."""
    figure = page.html[page.html.index(f">{heading}</h3>") :].partition("</figure>")[0]
    return re.findall(r'text-anchor="middle"[^>]*>([^<]*)<', figure)


def test_a_skewed_feature_has_a_rank_axis(wide_page, page):
    *numbers, missing = x_ticks(wide_page, "Intervals over lot, in m²")
    assert missing == "missing"
    quarters = [float(number.replace(",", "")) for number in numbers]
    assert len(quarters) > 1
    assert all(b > 3 * a for a, b in itertools.pairwise(quarters))  # which one scale would not show
    assert "lot, in m², rows in the order of its values" in Page(wide_page.html).text
    assert x_ticks(page, "Intervals over x0") == ["0", "1", "2", "3", "missing"]
    assert "in the order of its values" not in Page(page.html).text


def test_goals_are_a_table_with_the_names_of_goals(model, fresh):
    fit_report = copy.deepcopy(model.fit_report_)
    assert "balanced (shortest), this model" in str(fit_report)
    for goal, share in (("chosen", 0.88), ("other", 0.8), ("fixed", 0.7)):
        fit_report[goal]["worst_slab"] = {"share": share, "low": share - 0.05, "high": share + 0.04}
    larger = copy.copy(model)  # as if the hold-out had more rows
    larger.fit_report_ = fit_report
    text = Page(report(larger, fresh.X, fresh.y).html).text
    table = text[text.index("Trade-off of the goals") : text.index("Fitted model")]
    for cell in ("balanced (shortest) this model", "narrow (affine)", "one width", "88.0% (83.0 to 92.0%)"):
        assert cell in table
    assert "balanced (default): the smallest interval score, with nearly even coverage" in text


def test_the_worst_slab_is_explained_where_it_first_stands(page):
    text = Page(page.html).text
    first = text.index("Worst slab")
    assert 0 < text.index("Worst slab: the tenth or more of the rows where coverage is lowest") - first < 250


def marks_of(page):
    """The number of bins marked in the pictures of a page; a cross in a legend means at least one."""
    captions = re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", page.html, flags=re.DOTALL)
    counts = [re.search(r"; (one bin lies|(\d+) of \d+ bins lie) below the level by more", text) for text in captions]
    return sum(int(found[2] or 1) for found in counts if found)


def test_headline_table_and_pictures_agree(page, weak_page):
    for made, weak in ((page, False), (weak_page, True)):
        assert (marks_of(made) > 0) == weak
        found = [level["weak_places"]["found"] for level in made.evaluation["levels"]]
        assert any(found) == weak == ("coverage is low" in made.verdict)
        assert ("are weak" in Page(made.html).text) == weak
    level = weak_page.evaluation["levels"][0]
    kinds = [place["kind"] for place in level["weak_places"]["found"]]
    shown = [*level["by_width"], *(bin_ for one in level["by_feature"] for bin_ in one["bins"])]
    assert sum(bin_["weak"] for bin_ in shown) == marks_of(weak_page) <= sum(k not in ("range", "slab") for k in kinds)


def test_exchangeable_groups_are_valid_and_groups_that_differ_are_named(rows):
    localizer = Localizer(goal=None, score_transform="identity", n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    calibrating, new = Rows(1500, seed=2), Rows(3000, seed=4)
    calibration = localizer.calibrate(
        calibrating.frame(), calibrating.y, calibrating.y_pred, groups=np.arange(1500) % 100
    )
    predictor = Predictor(localizer, calibration)
    groups = np.arange(3000) % 100
    level = predictor.evaluate(new.frame(), new.y, new.y_pred, groups=groups)["levels"][0]
    # 15 rows per group give a mean coverage of 15/16; a pooled test would call 94% too high.
    assert level["verdict"]["word"] == "valid"
    assert "1,500 calibration rows in 100 groups" in level["verdict"]["text"]
    assert level["verdict"]["expected_low"] > 0.9
    assert len(level["by_group"]) == 100
    harder = np.where(groups < 3, new.y_pred + 20 * (new.y - new.y_pred), new.y)
    found = predictor.evaluate(new.frame(), harder, new.y_pred, groups=groups)["levels"][0]
    assert [bin_["low"] for bin_ in found["by_group"] if bin_["weak"]] == [0, 1, 2]
    made = report(predictor, new.frame(), harder, y_pred=new.y_pred, groups=groups)
    assert made.verdict.startswith("The intervals cover less than expected: those of 90% contain 90.6%")


def test_empty_and_infinite_intervals_are_counted(rows, fresh):
    localizer = Localizer(goal="narrow", random_state=0, n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    calibrating = Rows(1500, seed=2)
    predictor = Predictor(localizer, localizer.calibrate(calibrating.frame(), calibrating.y, calibrating.y_pred))
    made = report(predictor, fresh.frame(), fresh.y, y_pred=fresh.y_pred, confidence_level=[0.05, 0.9])
    low, high = made.evaluation["levels"]
    bounds = predictor.predict_interval(fresh.frame(), fresh.y_pred, confidence_level=[0.05, 0.9])[1]
    for level, column in ((low, 0), (high, 1)):
        points = (bounds[:, 0, column] == bounds[:, 1, column]) & (bounds[:, 0, column] == fresh.y_pred)
        assert level["empty"] == points.sum()
    assert low["empty"] > 0
    share = f"{100 * (low['empty'] / 2000):.1f}%"
    assert f"empty           {low['empty']:,} interval" in str(made.evaluation)
    text = Page(made.html).text
    assert f"{low['empty']:,} {share}" in text
    assert "Empty: no value conforms, and the prediction alone is returned." in text
    assert set(localizer.fit_report_["chosen"]) >= {"empty", "infinite"}


def test_the_page_states_the_guarantee_with_both_conditions(page):
    text = Page(page.html).text
    for words in ("exchangeable with the calibration rows", "(marginal coverage)", "for every kind of row"):
        assert words in text
    assert "promise" not in text


def test_the_page_states_the_guarantee_of_the_calibration_scheme(fresh, tmp_path):
    X = np.nan_to_num(fresh.X)
    model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=N_JOBS)
    model.fit(X[:1000], fresh.y[:1000], y_pred=fresh.y_pred[:1000], shift_to=X[500:1000])
    made = report(model, X[1000:], fresh.y[1000:], tmp_path / "a.html", y_pred=fresh.y_pred[1000:])
    text = Page(made.html).text
    assert model.predictor_.guarantee_statement in text
    assert "approximate: coverage of about the level" in text
    assert "(marginal coverage)" not in text  # which does not hold for learnt weights
    assert "approximate: coverage of about the level" in model.predictor_._repr_html_()
    assert made.evaluation["guarantee_statement"] == model.predictor_.guarantee_statement


# ---- the page itself


def test_it_is_written_where_asked_and_the_same_each_time(page, model, fresh, tmp_path):
    again = report(model, fresh.X, fresh.y, tmp_path / "a.html", confidence_level=[0.8, 0.9])
    page.save(tmp_path / "b.html")
    assert (tmp_path / "a.html").read_text("utf-8") == (tmp_path / "b.html").read_text("utf-8") == again.html
    assert "<title>Prediction intervals of y</title>" in again.html


def test_it_is_written_whole_and_keeps_permissions_and_links(page, tmp_path):
    secret, link, left = tmp_path / "a.html", tmp_path / "link.html", tmp_path / ".a.html.0123456789abcdef.tmp"
    for file in (secret, left):
        file.write_text("old")
    secret.chmod(0o600)
    link.symlink_to("a.html")
    os.utime(left, (0, 0))
    page.save(link)
    assert link.is_symlink() and secret.read_text("utf-8") == page.html
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert not left.exists()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        page.save(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such file"):
        page.save(tmp_path / "nowhere" / "a.html")


def test_the_page_loads_no_external_resources(page):
    found = Page(page.html)
    assert "script" not in found.tags
    assert "link" not in found.tags
    assert all(reference.startswith("#") for reference in found.references)
    assert not re.search(r"https?:|@import|url\((?!#)", page.html)
    assert "default-src 'none'" in page.html


def test_names_are_unique_and_references_lead_somewhere(page):
    found = Page(page.html)
    assert len(set(found.names)) == len(found.names)
    assert {reference[1:] for reference in found.references} <= set(found.names)
    used = set(re.findall(r"url\(#([^)]+)\)", page.html))
    assert used <= set(found.names)


def test_every_picture_has_a_description(page):
    pictures = re.findall(r"<svg[^>]*>.*?</svg>", page.html, flags=re.DOTALL)
    assert pictures
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        assert root.get("role") == "img"
        assert root.get("aria-labelledby")
        assert root.get("aria-describedby")
        assert "#010203" not in picture
        assert "currentColor" in picture
    headings = [tag for tag in Page(page.html).tags if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert headings.count("h1") == 1


def test_names_are_only_text(rows, fresh):
    pandas = pytest.importorskip("pandas")
    evil = ["<script>alert(1)</script>", 'a"b & c', "$\\frac$ <b>"]
    frame = pandas.DataFrame(rows.X, columns=evil)
    y = pandas.Series(rows.y, name="<i>price</i>")
    localizer = Localizer(score_transform="identity", goal=None).fit(frame[::2], y[::2], rows.y_pred[::2])
    predictor = Predictor(localizer, localizer.calibrate(frame[1::2], y[1::2], rows.y_pred[1::2]))
    made = report(predictor, pandas.DataFrame(fresh.X, columns=evil), fresh.y, y_pred=fresh.y_pred, title="<u>T</u>")
    found = Page(made.html)
    assert not {"script", "b", "i", "u"} & set(found.tags)
    assert "<script>alert(1)</script>" in found.text
    assert "<u>T</u>" in found.text
    for form in (predictor, made.evaluation):
        assert not {"script", "b", "i", "u"} & set(Page(form._repr_html_()).tags)
    assert "<i>price</i>" in Page(predictor._repr_html_()).text


def test_a_notebook_shows_it_in_a_frame(page):
    frame = page._repr_html_()
    inside = re.search(r'srcdoc="([^"]*)"', frame)[1]
    assert html.unescape(inside) == page.html


def test_evaluations_and_predictors_have_a_form_for_notebooks(page, one_width, model):
    evaluation, predictor = page.evaluation, one_width
    found = Page(evaluation._repr_html_())
    assert page.verdict in found.text
    assert html.unescape(re.search(r"<pre>(.*?)</pre>", evaluation._repr_html_(), flags=re.DOTALL)[1]) == str(
        evaluation
    )
    table = found.text.partition("Worst slab: the tenth or more of the rows")[0]
    for level in evaluation["levels"]:
        word = "valid, uneven" if level["uneven"] else "valid"
        assert f"{100 * level['level']:g}% {word} {100 * level['coverage']['share']:.1f}%" in table
    text = Page(predictor._repr_html_()).text
    assert "one width for all rows" in text and "3: size, age, noise" in text and "1,500" in text
    assert repr(predictor) == "Predictor(identity, 3 features, 1,500 calibration rows)"
    balanced = Page(model.predictor_._repr_html_()).text
    assert "balanced (default): the smallest" in balanced and "made by the model itself" in balanced
    bounds = np.stack([np.full(50, -1.0), np.ones(50)], axis=1)
    bare = evaluate_intervals(bounds, np.zeros(50), confidence_level=0.9, calibration_rows=100)
    assert "90% valid 100.0%" in Page(bare._repr_html_()).text


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries(library, one_width, fresh, weak_page):
    frame = fresh.frame()
    table = (
        pytest.importorskip("polars").from_pandas(frame)
        if library == "polars"
        else pytest.importorskip("pyarrow").Table.from_pandas(frame)
    )
    made = report(one_width, table, fresh.y, y_pred=fresh.y_pred)
    assert made.html == weak_page.html


def test_many_rows_take_seconds(one_width):
    many = Rows(336_000, seed=9)
    start = time.perf_counter()
    made = report(one_width, many.frame(), many.y, y_pred=many.y_pred)
    taken = time.perf_counter() - start
    print(f"336,000 rows: {taken:.1f} s, {len(made.html) / 1e6:.2f} MB")
    assert taken < 30
    assert len(made.html) < 1e6


# ---- in a browser


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Open a page in Chromium; return its console messages and its standard output."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("needs Chromium: apt install chromium")
    profile = tmp_path_factory.mktemp("profile")

    def browse(file, *options):
        quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0")
        done = subprocess.run(
            [chromium, *quiet, f"--user-data-dir={profile}", *options, file.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout

    return browse


def picture_of(file):
    import matplotlib.image

    return np.asarray(matplotlib.image.imread(file))[:, :, :3]


def test_a_browser_shows_the_page_without_errors(browse, page, tmp_path):
    page.save(tmp_path / "page.html")
    shot = tmp_path / "page.png"
    console, _ = browse(tmp_path / "page.html", f"--screenshot={shot}", "--window-size=1100,1600")
    assert console == []
    light = picture_of(shot)
    assert light.shape[:2] == (1600, 1100)
    assert light.mean() > 0.8
    assert light.std() > 0.05
    blue = (light[:, :, 2] > light[:, :, 0] + 0.25).mean()
    assert blue > 0.002, "no picture in sight"

    browse(tmp_path / "page.html", f"--screenshot={shot}", "--blink-settings=preferredColorScheme=0")
    assert picture_of(shot).mean() < 0.3, "no dark mode"


def test_the_console_shows_planted_errors(browse, page, tmp_path):
    broken = page.html.replace("<header>", '<header><img alt="" src="https://example.org/a.png">')
    (tmp_path / "broken.html").write_text(broken, "utf-8")
    console, _ = browse(tmp_path / "broken.html", f"--screenshot={tmp_path / 'page.png'}")
    assert any("Content Security Policy" in line for line in console)


@pytest.mark.parametrize("width", [400, 1100])
def test_nothing_is_wider_than_the_screen(browse, page, tmp_path, width):
    (tmp_path / "frame.html").write_text(
        f'<!doctype html><iframe id="f" style="width: {width}px; height: 800px; border: 0"'
        f' srcdoc="{html.escape(page.html)}">'
        "</iframe><script>onload = () => { const root = document.getElementById('f').contentDocument.documentElement;"
        " document.title = `${root.scrollWidth} of ${root.clientWidth}` }</script>",
        "utf-8",
    )
    _, dom = browse(tmp_path / "frame.html", "--dump-dom", "--window-size=1300,900")
    assert f"<title>{width} of {width}</title>" in dom


FONTS = ["DejaVu Sans", "DejaVu Sans Mono", "DejaVu Serif"]

# The texts of a page, and the boxes they are in: those that leave the page or their picture, and tick labels that overlap.
MEASURE = """
function measure(page) {
  const root = page.documentElement, found = [];
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode()); ) {
    if (!text.data.trim() || !text.parentElement.checkVisibility()) continue;
    const range = page.createRange();
    range.selectNodeContents(text);
    const box = text.parentElement.closest('svg')?.getBoundingClientRect();
    for (const r of range.getClientRects()) {
      if (r.left < -0.5 || r.right > root.clientWidth + 0.5) found.push('off the page: ' + text.data);
      if (box && (r.left < box.left - 0.5 || r.right > box.right + 0.5 || r.bottom > box.bottom + 0.5))
        found.push('cut: ' + text.data);
    }
  }
  for (const svg of page.querySelectorAll('svg')) {
    const ticks = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
    ticks.forEach(([a, r], i) => ticks.slice(i + 1).forEach(([b, s]) => {
      if (r.left < s.right && s.left < r.right && r.top < s.bottom && s.top < r.bottom) found.push(`${a} on ${b}`);
    }));
  }
  for (const box of page.querySelectorAll('.scroll'))
    if (box.scrollWidth > box.clientWidth) found.push('hidden: ' + box.innerText);
  const dark = page.defaultView.matchMedia('(prefers-color-scheme: dark)').matches;
  const font = page.defaultView.getComputedStyle(page.querySelector('svg text, td')).fontFamily;
  return [root.clientWidth, dark, font, page.querySelectorAll('svg text').length, found];
}
"""


def layouts_of(browse, pages, broken, folder):
    """Measure pages in every font, light and dark, on a small and on a large screen, and a broken page once."""
    layouts = [*itertools.product(pages, FONTS, ("light", "dark"), (400, 1300)), (broken, FONTS[0], "light", 400)]
    frames = [
        f'<iframe style="width: {width}px; height: 800px; border: 0; color-scheme: {scheme}"'
        f' srcdoc="{html.escape(page.replace("</style>", f"body {{ font-family: {font} !important }}</style>", 1))}">'
        "</iframe>"
        for page, font, scheme, width in layouts
    ]
    (folder / "layouts.html").write_text(
        f'<!doctype html><meta charset="utf-8"><script>{MEASURE} onload = () => {{ document.title = JSON.stringify('
        "[...document.querySelectorAll('iframe')].map(f => measure(f.contentDocument))) }</script>" + "".join(frames),
        "utf-8",
    )
    _, dom = browse(folder / "layouts.html", "--dump-dom", "--window-size=1400,900")
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom)[1]))


def test_no_text_is_cut_or_covered_in_any_font(browse, page, wide_page, model, tmp_path):
    label = re.search(r"<text[^>]*>0%</text>", page.html)[0]
    broken = page.html.replace(label, label + label.replace("0%", "97.5%, which is cut at the left of the picture"), 1)
    forms = page.evaluation._repr_html_() + model.predictor_._repr_html_()
    notebook = f"<!doctype html><style>:root {{ color-scheme: light dark }}</style>{forms}"
    found = layouts_of(browse, [page.html, wide_page.html, notebook], broken, tmp_path)
    seen = {(width, dark, font.strip('"')) for width, dark, font, _, _ in found}
    assert seen == {(width, dark, font) for width in (400, 1300) for dark in (False, True) for font in FONTS}
    assert all(ticks > 80 for *_, ticks, _ in found[:24])
    *measured, would_tell = [where for *_, where in found]
    assert measured == [[]] * 36
    assert {text.partition(" ")[0] for text in would_tell} >= {"cut:", "0%"}
