"""The pictures show the values of the arrays."""

import copy
import html
import inspect
import itertools
import math
import re
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from examples import N_JOBS, Rows
from widthwise import Localizer, Predictor, WidthwiseRegressor, _core, report
from widthwise.plot import (
    ConditionalCoverageDisplay,
    CoverageDisplay,
    FrontierDisplay,
    FrontierPoint,
    IntervalDisplay,
    WidthDisplay,
)

mpl.use("Agg")

DISPLAYS = [IntervalDisplay, CoverageDisplay, WidthDisplay, ConditionalCoverageDisplay]
FROM_ESTIMATOR = [*DISPLAYS, FrontierDisplay]


@pytest.fixture(autouse=True)
def close_figures():
    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")


def test_displays_share_the_names_of_parameters():
    shared = {"y_pred", "confidence_level", "groups", "by", "by_name", "target_name", "calibration_rows", "guarantee"}
    own = {"difference", "bins", "rows", "ax"}
    methods = [(display, "from_estimator", ["model", "X", "y"]) for display in FROM_ESTIMATOR]
    for display, method, first in methods + [(display, "from_predictions", ["y", "intervals"]) for display in DISPLAYS]:
        names = list(inspect.signature(getattr(display, method)).parameters)
        assert names[: len(first)] == first and names[-1] == "ax"
        assert set(names[len(first) :]) <= shared | own, (display, method)


def test_labels_are_bins_and_slots(model, fresh, bounds):
    shop = np.where(fresh.X[:, 0] > 3.5, "north $x$", np.where(fresh.X[:, 0] > 1, "east", "south"))
    shop[:3] = "rare 1", "rare 2", "rare 2"
    y = np.where(shop == "east", fresh.y, 5 * fresh.y)
    for display in (
        ConditionalCoverageDisplay.from_predictions(y, bounds, 0.9, by=shop, by_name="shop"),
        ConditionalCoverageDisplay.from_estimator(model, fresh.X, y, by=shop, confidence_level=0.9),
    ):
        assert display.labels == ["east", "north $x$", "south", "(other)"]
        assert display.below.tolist()[:2] == [False, True]
        assert "north $x$" in texts(display)
    intervals = IntervalDisplay.from_estimator(model, fresh.X, y, by=shop)
    assert "north $x$" in texts(intervals) and "Widths" not in intervals.summary


@pytest.fixture(scope="module")
def localizer(rows):
    return Localizer(n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)


@pytest.fixture(scope="module")
def predictor(localizer):
    calibrating = Rows(1500, seed=2)
    return Predictor(localizer, localizer.calibrate(calibrating.frame(), calibrating.y, calibrating.y_pred))


@pytest.fixture(scope="module")
def bounds(model, fresh):
    """The intervals of the model at 0.9, of shape (n, 2)."""
    return model.predict_interval(fresh.X, 0.9)[1][:, :, 0]


def texts(display):
    display.figure_.canvas.draw()
    return " | ".join(text.get_text() for text in display.ax_.findobj(mpl.text.Text))


def points(artist):
    return np.asarray(artist.get_offsets())


# ---- all displays


@pytest.mark.parametrize("display", DISPLAYS)
def test_a_display_is_drawn_from_a_regressor_and_again_elsewhere(display, model, fresh):
    shown = display.from_estimator(model, fresh.X, fresh.y)
    assert shown.figure_ is shown.ax_.figure
    assert shown.ax_.get_xlabel()
    assert shown.ax_.get_ylabel()
    assert shown.summary.endswith(".")
    figure, (left, right) = plt.subplots(1, 2)
    assert shown.plot(right) is shown
    assert shown.ax_ is right
    assert shown.figure_ is figure
    assert right.has_data()
    assert not left.has_data()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("display", DISPLAYS)
def test_a_predictor_takes_tables_of_any_library(display, library, predictor, fresh):
    frame = fresh.frame()
    if library == "polars":
        frame = pytest.importorskip("polars").from_pandas(frame)
    elif library == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    by = {IntervalDisplay: {"by": "size"}, ConditionalCoverageDisplay: {"by": "size"}}.get(display, {})
    shown = display.from_estimator(predictor, frame, fresh.y, y_pred=fresh.y_pred, **by)
    if by:
        assert "size" in shown.ax_.get_xlabel() + shown.ax_.get_ylabel()
    ours = shown.__dict__
    plain = display.from_estimator(predictor, fresh.frame(), fresh.y, y_pred=fresh.y_pred, **by).__dict__
    for name in ("y", "lower", "upper", "x", "coverage", "widths", "below"):
        if name in ours:
            np.testing.assert_array_equal(ours[name], plain[name])


def test_colours_follow_the_style_in_force(bounds, fresh):
    with plt.style.context("dark_background"):
        dark = ConditionalCoverageDisplay.from_predictions(fresh.y, bounds, 0.9, by=fresh.X[:, 0])
    light = ConditionalCoverageDisplay.from_predictions(fresh.y, bounds, 0.9, by=fresh.X[:, 0])

    def colours(display):
        return [mpl.colors.to_rgb(line.get_color()) for line in display.ax_.lines]

    for on_dark, on_light in zip(colours(dark), colours(light), strict=True):
        assert sum(on_dark) > sum(on_light)


def test_errors_name_the_thing_and_the_remedy(model, predictor, localizer, fresh, bounds):
    def unfinished():
        return IntervalDisplay.from_estimator(WidthwiseRegressor(), fresh.X, fresh.y)

    with pytest.raises(ValueError, match="not fitted yet"):
        unfinished()
    with pytest.raises(TypeError, match="WidthwiseRegressor or a Predictor, got Localizer"):
        IntervalDisplay.from_estimator(localizer, fresh.X, fresh.y)
    with pytest.raises(ValueError, match="pass predictions as y_pred"):
        WidthDisplay.from_estimator(predictor, fresh.frame(), fresh.y)
    with pytest.raises(ValueError, match="did you mean 'size'"):
        IntervalDisplay.from_estimator(predictor, fresh.frame(), fresh.y, y_pred=fresh.y_pred, by="sise")
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        IntervalDisplay.from_predictions([0, math.nan], [[-1, 1], [-1, 1]], y_pred=[0, 0])
    with pytest.raises(ValueError, match="X has no rows"):
        IntervalDisplay.from_predictions([], np.empty((0, 2)), y_pred=[])
    with pytest.raises(ValueError, match=r"shape \(2000,\)"):
        IntervalDisplay.from_predictions(fresh.y, bounds[:, 0], y_pred=fresh.y)
    with pytest.raises(ValueError, match="intervals has 2 levels"):
        IntervalDisplay.from_predictions(fresh.y, np.stack([bounds, bounds], axis=2), y_pred=fresh.y)
    with pytest.raises(ValueError, match="NaN"):
        WidthDisplay.from_predictions(None, [[math.nan, 1.0]])
    with pytest.raises(ValueError, match="intervals has 1 level, confidence_level has 2"):
        CoverageDisplay.from_predictions(fresh.y, bounds, [0.8, 0.9])
    raw = Predictor.__new__(Predictor)
    raw._model = localizer._model
    with pytest.raises(ValueError, match="not calibrated"):
        CoverageDisplay.from_estimator(raw, fresh.frame(), fresh.y, y_pred=fresh.y_pred)


def test_names_are_text_and_no_formulas(fresh, bounds):
    name = "cost in $ per \\frac$ " + "x" * 60
    display = IntervalDisplay.from_predictions(fresh.y, bounds, y_pred=fresh.y, by=fresh.X[:, 0], by_name=name)
    display.figure_.canvas.draw()
    assert display.ax_.get_xlabel() == name[:47] + "…"


def test_captions_are_those_of_the_page(model, fresh):
    harder = np.where(fresh.X[:, 1] > 3.6, fresh.y + 4, fresh.y)
    for y in (fresh.y, harder):
        page = report(model, fresh.X, y, confidence_level=0.9)
        figures = re.findall(r"<h3[^>]*>(.*?)</h3>.*?<figcaption[^>]*>(.*?)</figcaption>", page.html, flags=re.DOTALL)
        captions = {html.unescape(heading): html.unescape(caption) for heading, caption in figures}
        options = {"confidence_level": 0.9}
        feature = next(heading for heading in captions if heading.startswith("Intervals over"))
        displays = {
            "Intervals and outcomes": IntervalDisplay.from_estimator(model, fresh.X, y, **options),
            feature: IntervalDisplay.from_estimator(model, fresh.X, y, by=feature.rpartition(" ")[2], **options),
            "Coverage at every level": CoverageDisplay.from_estimator(model, fresh.X, y),
            "Interval widths": WidthDisplay.from_estimator(model, fresh.X, y, **options),
            "Coverage by width": ConditionalCoverageDisplay.from_evaluation(page.evaluation),
        }
        assert {heading: display.summary for heading, display in displays.items()} == {
            heading: captions[heading] for heading in displays
        }


# ---- intervals


def test_intervals_and_outcomes_are_where_they_belong(model, fresh):
    display = IntervalDisplay.from_estimator(model, fresh.X, fresh.y, by=1, confidence_level=0.8)
    _, intervals = model.predict_interval(fresh.X, 0.8)
    lower, upper = intervals[:, 0, 0], intervals[:, 1, 0]
    np.testing.assert_array_equal(display.outside, (fresh.y < lower) | (fresh.y > upper))

    shown = display.shown_
    assert len(set(shown)) == 250
    outside = display.outside[shown]
    np.testing.assert_array_equal(points(display.inside_)[:, 1], fresh.y[shown][~outside])
    np.testing.assert_array_equal(points(display.outside_)[:, 1], fresh.y[shown][outside])
    lines = np.array(display.intervals_.get_segments())
    np.testing.assert_array_equal(lines[:, 0, 1], lower[shown])
    np.testing.assert_array_equal(lines[:, 1, 1], upper[shown])
    known = np.isfinite(fresh.X[shown, 1])
    np.testing.assert_array_equal(lines[known, 0, 0], fresh.X[shown, 1][known])
    assert "80% interval" in texts(display)


def test_rows_stand_in_the_order_of_their_predictions(model, fresh):
    display = IntervalDisplay.from_estimator(model, fresh.X, fresh.y)
    assert np.all(np.diff(display.y_pred[display.shown_]) >= 0)
    places = np.array(display.intervals_.get_segments())[:, 0, 0]
    np.testing.assert_allclose(np.diff(places), 1 / 250)
    assert "Widths grow with the prediction" in display.summary


def test_the_sample_is_like_all_rows():
    n = 100_000
    rng = np.random.default_rng(0)
    x, y = rng.lognormal(size=n), rng.normal(size=n)
    bounds = np.multiply.outer(np.ones(n), [-1.645, 1.645])
    display = IntervalDisplay.from_predictions(y, bounds, y_pred=np.zeros(n), by=x, by_name="income", rows=400)
    assert len(display.shown_) == 400
    assert abs(display.outside[display.shown_].mean() - 0.1) < 4 * math.sqrt(0.1 * 0.9 / 400)
    np.testing.assert_allclose(
        np.quantile(x[display.shown_], [0.25, 0.5, 0.75]), np.quantile(x, [0.25, 0.5, 0.75]), rtol=0.02
    )
    assert "400 of 100,000 rows" in display.summary
    assert "Widths are much the same at both ends of income" in display.summary
    assert len(display.plot(rows=10).shown_) == 10


def test_few_values_stand_side_by_side_and_missing_ones_last():
    x = np.repeat([3.0, 1.0, math.nan], 20)
    display = IntervalDisplay.from_predictions(np.zeros(60), [[-1, 1]] * 60, y_pred=np.zeros(60), by=x)
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert labels == ["1", "3", "missing"]
    places = np.array(display.intervals_.get_segments())[:, 0, 0]
    assert len(np.unique(places)) == 60
    np.testing.assert_array_equal(np.round(places), [0] * 20 + [1] * 20 + [2] * 20)


def test_missing_values_of_a_continuous_feature_have_a_place_of_their_own():
    x = np.linspace(0, 1, 100)
    x[::10] = math.nan
    display = IntervalDisplay.from_predictions(np.zeros(100), [[-1, 1]] * 100, y_pred=np.zeros(100), by=x)
    places = np.array(display.intervals_.get_segments())[:, 0, 0]
    assert (places > 1).sum() == 10
    assert "missing" in texts(display)
    everything = IntervalDisplay.from_predictions(np.zeros(5), [[-1, 1]] * 5, y_pred=np.zeros(5), by=[math.nan] * 5)
    assert [label.get_text() for label in everything.ax_.get_xticklabels()] == ["missing"]


def test_a_skewed_feature_has_a_rank_axis():
    x = np.random.default_rng(0).lognormal(8, 2, 1000).round(1)
    x[::50] = math.nan
    display = IntervalDisplay.from_predictions(np.zeros(1000), [[-1, 1]] * 1000, y_pred=np.zeros(1000), by=x)
    places = np.array(display.intervals_.get_segments())[:, 0, 0]
    drawn = display.by[display.shown_]
    known = np.isfinite(drawn)
    np.testing.assert_allclose(np.diff(places[known]), 1 / known.sum())
    assert np.all(np.diff(drawn[known]) >= 0) and np.all(places[~known] > 1)
    ticks = dict(
        zip(display.ax_.get_xticks(), (text.get_text() for text in display.ax_.get_xticklabels()), strict=True)
    )
    quarters = np.quantile(x[np.isfinite(x)], [0, 0.25, 0.5, 0.75, 1], method="lower")
    assert ticks == {
        place: _core.significant(value) for place, value in zip(np.linspace(0, 1, 5), quarters, strict=True)
    }
    assert display.ax_.get_xlabel() == "by, rows in the order of its values"
    many_zeros = np.where(np.arange(1000) < 800, 0.0, np.arange(1000.0) ** 3)
    display = IntervalDisplay.from_predictions(np.zeros(1000), [[-1, 1]] * 1000, y_pred=np.zeros(1000), by=many_zeros)
    assert [text.get_text() for text in display.ax_.get_xticklabels()].count("0") == 1
    even = IntervalDisplay.from_predictions(np.zeros(1000), [[-1, 1]] * 1000, y_pred=np.zeros(1000), by=np.arange(1e3))
    assert even.ax_.get_xlabel() == "by"


@pytest.mark.parametrize("size", [(6.4, 4.4), (4.0, 3.0)])
def test_tick_labels_do_not_overlap_and_legends_are_whole(size):
    y, x = np.linspace(1e7, 3e7, 1000), np.linspace(1e6, 9e6, 1000)
    half = np.linspace(1e6, 9e6, 1000)
    bounds = np.stack([y - half, y + half], axis=1)
    displays = {
        IntervalDisplay: {"y_pred": y, "by": x},
        CoverageDisplay: {"confidence_level": 0.9, "calibration_rows": 1000},
        WidthDisplay: {"y_pred": y},
        ConditionalCoverageDisplay: {"confidence_level": 0.9, "by": x},
    }
    for display, options in displays.items():
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        display.from_predictions(y, bounds, **options, ax=ax)
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
        limits = ax.get_window_extent()
        boxes = [box for box in boxes if limits.x0 - 1 <= (box.x0 + box.x1) / 2 <= limits.x1 + 1]
        assert boxes
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes)), display
        legend = ax.get_legend().get_window_extent()
        assert 0 <= legend.x0 and legend.x1 <= figure.bbox.width and legend.y1 <= figure.bbox.height


def test_infinite_intervals_reach_the_ends_and_are_counted():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    bounds = np.array([[-1.0, 1.0], [-np.inf, 2.0], [-np.inf, np.inf], [2.0, 2.5]])
    display = IntervalDisplay.from_predictions(y, bounds, y_pred=y)
    low, high = display.ax_.get_ylim()
    assert low < -1
    assert 3 < high < 4
    lines = np.array(display.intervals_.get_segments())[:, :, 1]
    np.testing.assert_allclose(lines, [[-1, 1], [low, 2], [low, high], [2, 2.5]])
    assert "2 of 4 intervals are infinite" in texts(display)
    assert display.outside.tolist() == [False, False, False, True]
    everything = IntervalDisplay.from_predictions(y, [[-np.inf, np.inf]] * 4, y_pred=y)
    assert np.isfinite(everything.ax_.get_ylim()).all()


# ---- coverage


def test_coverage_is_that_of_the_evaluation(model, fresh):
    levels = [0.9, 0.5, 0.8]
    evaluation = model.evaluate(fresh.X, fresh.y, confidence_level=levels)
    display = CoverageDisplay.from_estimator(model, fresh.X, fresh.y, confidence_level=levels)
    assert display.levels.tolist() == [0.5, 0.8, 0.9]
    found = {level["level"]: level["coverage"]["share"] for level in evaluation["levels"]}
    assert display.coverage.tolist() == [found[level] for level in display.levels]
    verdicts = {level["level"]: level["verdict"] for level in evaluation["levels"]}
    for end, ours in (("low", display.expected_low), ("high", display.expected_high)):
        assert ours.tolist() == pytest.approx([verdicts[level][f"expected_{end}"] for level in display.levels])


def test_coverage_is_drawn_against_the_level_or_minus_it(model, fresh):
    display = CoverageDisplay.from_estimator(model, fresh.X, fresh.y)
    assert len(display.levels) == 40
    measured = next(line for line in display.ax_.lines if line.get_label() == "measured")
    np.testing.assert_array_equal(measured.get_ydata(), display.coverage - display.levels)
    low, high = display.ax_.get_ylim()
    assert low == -high
    assert display.ax_.get_ylabel() == "coverage minus level, in points"
    assert display.plot(difference=False) is display
    measured = next(line for line in display.ax_.lines if line.get_label() == "measured")
    np.testing.assert_array_equal(measured.get_ydata(), display.coverage)


def test_coverage_that_is_too_low_is_marked(model, fresh):
    harder = model.predict(fresh.X) + 1.5 * (fresh.y - model.predict(fresh.X))
    display = CoverageDisplay.from_estimator(model, fresh.X, harder)
    marked = next(line for line in display.ax_.lines if line.get_label() == "too low")
    below = display.coverage < display.expected_low
    assert below.sum() > 20
    np.testing.assert_array_equal(marked.get_xdata(), display.levels[below])
    assert f"at {below.sum()} of 40 levels" in display.summary
    easier = CoverageDisplay.from_estimator(model, fresh.X, model.predict(fresh.X))
    assert "these rows are easier than the calibration rows" in easier.summary


def test_levels_that_need_more_calibration_rows_are_left_out(model, fresh):
    few = Rows(30, seed=5)
    small = Predictor._of(model.predictor_._model).calibrated(few.X, few.y, replace=True)
    display = CoverageDisplay.from_estimator(small, fresh.X, fresh.y)
    assert display.levels.max() == 0.95
    assert display.greatest_level == 30 / 31
    assert "infinite above 96.77%" in texts(display)
    none = CoverageDisplay.from_estimator(small, fresh.X, fresh.y, confidence_level=0.99)
    assert len(none.levels) == 0
    assert "too few calibration rows" in none.summary


def test_coverage_of_arrays_has_a_band_when_calibration_rows_are_known():
    y = np.linspace(-1, 1, 1001)
    levels = [0.5, 0.9]
    intervals = np.multiply.outer(np.ones(1001), [np.negative(levels), levels])
    display = CoverageDisplay.from_predictions(y, intervals, levels)
    np.testing.assert_allclose(display.coverage, levels, atol=2e-3)
    assert display.expected_low is None
    assert "1,001 rows" in display.summary
    display = CoverageDisplay.from_predictions(y, intervals[:, :, :1], 0.5, calibration_rows=99)
    bars = display.ax_.collections[0].get_segments()
    np.testing.assert_allclose(bars[0][:, 1] + 0.5, [display.expected_low[0], display.expected_high[0]])
    bars = display.plot(difference=False).ax_.collections[0].get_segments()
    np.testing.assert_allclose(bars[0][:, 1], [display.expected_low[0], display.expected_high[0]])
    assert "stays inside the band" in display.summary
    known = CoverageDisplay(_core.coverage_figure(levels, [500, 700], 1001, 99, "marginal"))
    assert known.below.tolist() == [False, True]


# ---- coverage by bins


def test_coverage_by_width_is_that_of_the_evaluation(model, fresh):
    evaluation = model.evaluate(fresh.X, fresh.y)
    display = ConditionalCoverageDisplay.from_estimator(model, fresh.X, fresh.y)
    assert display.bins == evaluation["levels"][0]["by_width"]
    again = ConditionalCoverageDisplay.from_evaluation(evaluation, target_name="price")
    assert again.bins == display.bins
    assert again.ax_.get_ylabel() == "interval width (units of price)"
    with pytest.raises(ValueError, match=r"no level 0.5; it has 0.9"):
        ConditionalCoverageDisplay.from_evaluation(evaluation, confidence_level=0.5)


def test_one_width_for_all_is_one_part():
    y_pred = np.linspace(1e6, 2e6, 1000) + 0.1
    bounds = np.stack([y_pred - 0.3, y_pred + 0.3], axis=1)  # widths that differ only by rounding
    display = ConditionalCoverageDisplay.from_predictions(y_pred, bounds, 0.9)
    assert len(display.bins) == 1
    assert "one kind" in display.summary


def test_parts_below_the_level_are_marked(model, fresh):
    y = np.where(fresh.X[:, 0] > 3.2, fresh.y + 10, fresh.y)
    display = ConditionalCoverageDisplay.from_estimator(model, fresh.X, y, by=0)
    _, lower, upper = (np.ascontiguousarray(values) for values in (0, *model.predict_interval(fresh.X)[1][:, :, 0].T))
    calibration_rows = model.predictor_._model.calibration_rows
    values = np.ascontiguousarray(fresh.X[:, 0])
    found = _core.coverage_by_feature(lower, upper, y, values, 10, 0.9, calibration_rows)
    np.testing.assert_equal(display.bins, found)
    assert display.labels[-1] == "missing"
    assert display.below.tolist() == [bin_["weak"] for bin_ in found]
    assert all(bin_["coverage"]["high"] < 0.9 for bin_ in found if bin_["weak"])
    assert display.below[8:10].all()
    assert not display.below[:7].any()
    drawn = {container.get_label(): container for container in display.ax_.containers}
    np.testing.assert_allclose(
        drawn["below the level"].lines[0].get_xdata(),
        [bin_["coverage"]["share"] for bin_, below in zip(found, display.below, strict=True) if below],
    )
    assert f"{display.below.sum()} of 11 bins lie below the level" in display.summary


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        (47.1, 47.8, "47.10 to 47.17", "47.73 to 47.80"),
        (0, 1e6, "0 to 99,099", "900,901 to 1,000,000"),
        (1900, 2010, "1900 to 1911", "1999 to 2010"),
        (-0.01, 0.01, "-0.010 to -0.008", "0.008 to 0.010"),
        (0, 1e-9, "0 to 9.91e-11", "9.009e-10 to 1e-09"),
        (0, 1e12, "0 to 99,099,099,099", "900,900,900,901 to 1,000,000,000,000"),
        (7, 7, "7", "7"),
    ],
)
def test_ranges_have_enough_decimals_to_differ(low, high, first, last):
    by = np.linspace(low, high, 1000)
    display = ConditionalCoverageDisplay.from_predictions(np.zeros(1000), [[-1, 1]] * 1000, 0.9, by=by)
    assert (display.labels[0], display.labels[-1]) == (first, last)
    assert len(set(display.labels)) == len(display.bins)


def test_infinite_widths_have_a_label():
    bounds = [[-1.0, 1.0]] * 50 + [[-np.inf, np.inf]] * 50
    display = ConditionalCoverageDisplay.from_predictions(np.zeros(100), bounds, 0.9)
    assert display.labels == ["2", "infinite"]


# ---- widths


def test_widths_and_the_one_width_that_covers_as_many(model, fresh, bounds):
    display = WidthDisplay.from_estimator(model, fresh.X, fresh.y)
    np.testing.assert_array_equal(display.widths, bounds[:, 1] - bounds[:, 0])
    assert display.infinite == 0
    y_pred = model.predict(fresh.X)
    covered = (bounds[:, 0] <= fresh.y) & (fresh.y <= bounds[:, 1])
    assert (np.abs(fresh.y - y_pred) <= display.one_width / 2).sum() == covered.sum()
    assert f"mean {display.widths.mean():.4g}" in texts(display)
    bars = next(patch for patch in display.ax_.patches if isinstance(patch, mpl.patches.StepPatch))
    assert math.isclose(bars.get_data().values.sum(), 1)


def test_infinite_widths_are_counted_and_not_drawn():
    bounds = np.array([[-1.0, 1.0]] * 30 + [[-2.0, 2.0]] * 30 + [[-np.inf, 1.0]] * 40)
    display = WidthDisplay.from_predictions(np.zeros(100), bounds, y_pred=np.zeros(100))
    assert (len(display.widths), display.infinite, display.one_width) == (60, 40, None)
    assert "40 of 100 are infinite" in texts(display)
    assert "40 of 100 are infinite" in display.summary
    bars = next(patch for patch in display.ax_.patches if isinstance(patch, mpl.patches.StepPatch))
    assert math.isclose(bars.get_data().values.sum(), 0.6)
    nothing = WidthDisplay.from_predictions(None, [[-np.inf, np.inf]] * 3)
    assert nothing.summary == "All 3 intervals are infinite."


def test_few_rows_much_wider_than_all_others_share_the_last_bar():
    half = np.append(np.linspace(1, 2, 999), 1000)
    display = WidthDisplay.from_predictions(None, np.stack([-half, half], axis=1))
    assert display.ax_.get_xlim()[1] < 10
    assert "up to 2,000" in texts(display)
    same = WidthDisplay.from_predictions(None, [[-1.0, 1.0]] * 9 + [[-1.0, 1 + 4e-16]])
    bars = next(patch for patch in same.ax_.patches if isinstance(patch, mpl.patches.StepPatch))
    np.testing.assert_allclose(bars.get_data().edges, [1.9, 2.1])


# ---- the frontier


def test_the_frontier_of_a_fit_is_its_report(model):
    report = copy.deepcopy(model.fit_report_)
    for goal, share in (("chosen", 0.88), ("other", 0.8), ("fixed", 0.7)):
        report[goal]["worst_slab"] = {"share": share, "low": share - 0.05, "high": share + 0.04}
    display = FrontierDisplay.from_report(SimpleNamespace(fit_report_=report, predictor_=model.predictor_))
    assert [point.name for point in display.points] == ["narrow", "balanced", "one width"]
    for point, goal in zip(display.points, (report["other"], report["chosen"], report["fixed"]), strict=True):
        assert (point.mean_width, point.worst_slab) == (goal["mean_width"], goal["worst_slab"]["share"])
        assert (point.low, point.high) == (goal["worst_slab"]["low"], goal["worst_slab"]["high"])
    line = next(line for line in display.ax_.lines if line.get_label() == "goals")
    assert line.get_xdata().tolist() == [report["other"]["mean_width"], report["chosen"]["mean_width"]]
    assert "narrow" in texts(display)
    assert "the goal balanced covers 88.0% (83.0% to 92.0%)" in display.summary
    # This hold-out is too small: no figure.
    assert model.fit_report_["chosen"]["worst_slab"] is None
    few = FrontierDisplay.from_report(model)
    assert "infinite or not known: narrow, balanced, one width" in texts(few)
    assert "too few" in few.summary
    with pytest.raises(ValueError, match="use from_estimator"):
        FrontierDisplay.from_report(model.predictor_)


def test_the_frontier_of_models_is_their_evaluation(predictor, rows, fresh):
    narrow = Localizer(goal="narrow", n_jobs=N_JOBS).fit(rows.frame(), rows.y, rows.y_pred)
    calibrating = Rows(1500, seed=2)
    other = Predictor(narrow, narrow.calibrate(calibrating.frame(), calibrating.y, calibrating.y_pred))
    display = FrontierDisplay.from_fits([other, predictor], fresh.frame(), fresh.y, y_pred=fresh.y_pred)
    assert [point.name for point in display.points] == ["narrow", "balanced"]
    for point, model in zip(display.points, (other, predictor), strict=True):
        found = model.evaluate(fresh.frame(), fresh.y, fresh.y_pred)["levels"][0]
        assert point.mean_width == found["mean_width"]
        assert point.worst_slab == found["worst_slab"]["coverage"]["share"]
        assert point.low < point.worst_slab < point.high
    named = FrontierDisplay.from_fits({"a": other}, fresh.frame(), fresh.y, y_pred=fresh.y_pred, confidence_level=0.8)
    assert (named.points[0].name, named.confidence_level) == ("a", 0.8)
    with pytest.raises(ValueError, match="pass 1,000 or more"):
        FrontierDisplay.from_fits([other], fresh.frame()[:50], fresh.y[:50], y_pred=fresh.y_pred[:50])
    with pytest.raises(ValueError, match="no models"):
        FrontierDisplay.from_fits([], fresh.frame(), fresh.y)


def test_goals_are_fitted_and_compared():
    pandas = pytest.importorskip("pandas")
    many = Rows(8000, seed=11)
    y = pandas.Series(many.y, name="price")
    display = FrontierDisplay.from_goals(many.frame(), y, many.y_pred, goals=["narrow", 0.5, "even"], n_jobs=N_JOBS)
    found = {point.name: point for point in display.points}
    assert list(found) == ["narrow", "0.5", "even", "one width"]
    assert found["even"].worst_slab > found["one width"].worst_slab
    assert found["narrow"].mean_width < found["one width"].mean_width
    assert all(0.83 < point.coverage < 0.96 for point in display.points)
    assert display.ax_.get_xlabel() == "mean interval width (units of price)"


def test_a_goal_without_a_finite_width_is_named():
    points = [FrontierPoint("narrow", 1.0, 0.9, 0.8), FrontierPoint("even", math.inf, 1.0, 1.0)]
    display = FrontierDisplay(points=points, confidence_level=0.9).plot()
    assert "infinite or not known: even" in texts(display)


def test_widths_without_infinite_intervals_are_named():
    points = [FrontierPoint("narrow", 1.0, 0.9, 0.8, infinite=0.02), FrontierPoint("even", 2.0, 0.9, 0.9)]
    display = FrontierDisplay(points=points, confidence_level=0.9).plot()
    assert "widths without infinite intervals" in texts(display)
    assert "at a mean width of 1 without the 2.0% of infinite intervals, and the goal even" in display.summary


def test_the_frontier_of_a_model_is_its_evaluation_next_to_one_width(model, fresh):
    display = FrontierDisplay.from_estimator(model, fresh.X, fresh.y)
    own, one = display.points
    found = model.evaluate(fresh.X, fresh.y)["levels"][0]
    assert (own.name, own.mean_width, own.worst_slab) == (
        "balanced",
        found["mean_width"],
        found["worst_slab"]["coverage"]["share"],
    )
    widths = WidthDisplay.from_estimator(model, fresh.X, fresh.y)
    assert one.name == "one width" and one.mean_width == pytest.approx(widths.one_width)
    assert one.coverage == own.coverage and one.worst_slab < own.worst_slab
    with pytest.raises(ValueError, match="50 rows are too few to measure the worst slab"):
        FrontierDisplay.from_estimator(model, fresh.X[:50], fresh.y[:50])
