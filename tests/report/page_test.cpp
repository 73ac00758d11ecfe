#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/report.hpp>

#include "report/page/figures.hpp"
#include "report/page/svg.hpp"

namespace widthwise {
namespace {

using internal::escaped;
using internal::round_numbers;
using internal::shortened;

TEST(Svg, EscapesMarkupAndControlCharacters) {
  EXPECT_EQ(escaped("<b a=\"1\" c='2'>&"), "&lt;b a=&quot;1&quot; c=&#x27;2&#x27;&gt;&amp;");
  EXPECT_EQ(escaped("a\x1b[0m\n"), "a?[0m?");
  EXPECT_EQ(escaped("\xff"), "?");
}

TEST(Svg, ShortensBetweenCharacters) {
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
  EXPECT_EQ(shortened("", 3), "");
  EXPECT_EQ(internal::narrowed("narrow", 100), "narrow");
  EXPECT_EQ(internal::narrowed("WWWWWWWWWWWW", 100), "WWWWWWW…");
  EXPECT_EQ(internal::narrowed("ü", 0), "ü");
}

TEST(Svg, TicksAreRoundAndWithinTheAxis) {
  EXPECT_EQ(round_numbers(0, 1), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  for (const double scale : {1e-300, 1e-9, 0.7, 3.0, 1e9, 1e300}) {
    const std::vector<double> numbers = round_numbers(-0.31 * scale, 2.9 * scale);
    EXPECT_GE(numbers.size(), 3U) << scale;
    EXPECT_LE(numbers.size(), 7U) << scale;
    EXPECT_TRUE(std::ranges::is_sorted(numbers));
    EXPECT_GE(numbers.front(), -0.311 * scale);
    EXPECT_LE(numbers.back(), 2.901 * scale);
  }
  EXPECT_EQ(round_numbers(5, 5), std::vector<double>{5});
}

/// The tick labels of an axis of x from 0 to 1.
std::vector<std::string> x_labels(internal::Axis x) {
  const std::string text = internal::Picture(std::move(x), {}, {}, {}).to_string("picture1");
  std::vector<std::string> labels;
  for (std::size_t at = text.find("<text"); at != std::string::npos; at = text.find("<text", at + 1)) {
    const std::size_t begin = text.find('>', at) + 1;
    labels.push_back(text.substr(begin, text.find('<', begin) - begin));
  }
  return labels;
}

TEST(Svg, DropsTicksThatCollideAndKeepsTheLast) {
  const auto shares = [](double low) { return internal::percent_ticks(low, 1); };
  EXPECT_EQ(x_labels({.low = 0.9, .ticks = shares(0.9)}),
            (std::vector<std::string>{"90%", "92%", "94%", "96%", "98%", "100%"}));
  EXPECT_EQ(x_labels({.ticks = shares(0.9)}), (std::vector<std::string>{"100%"}));
  EXPECT_EQ(x_labels({.low = 0.3, .ticks = shares(0.9)}), (std::vector<std::string>{"92%", "100%"}));
  EXPECT_EQ(x_labels({.ticks = {{0, "0"}, {0.5, "1"}, {0.9, "2"}}, .missing_at = 0.98}),
            (std::vector<std::string>{"0", "1", "missing"}));
}

/// The caption of intervals over values, of which the widths are given.
std::string caption_over(const std::vector<double>& values, const std::vector<double>& widths) {
  const std::vector<double> zeros(values.size(), 0);
  const internal::FeatureColumn feature{.name = "size", .rows = {}, .values = values};
  return internal::feature_figure({zeros, widths, zeros}, feature, std::nullopt, "y").caption;
}

TEST(Figures, WidthsAtTheEndsAreThoseOfAllRowsWithTheseValues) {
  std::vector<double> values(100, 0);
  std::vector<double> widths(100, 1);
  for (std::size_t i = 50; i < 100; ++i) {
    values[i] = 1;
    widths[i] = i < 75 ? 2 : 4;
  }
  EXPECT_TRUE(caption_over(values, widths)
                  .ends_with(" below. Widths grow with size: 1 on average in its lowest tenth, 3 in its highest."));
  EXPECT_TRUE(caption_over(std::vector<double>(100, 7), widths).ends_with(" below."));
  widths[99] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(caption_over(values, widths).ends_with(" below. 1 of 100 intervals is infinite."));
}

TEST(Figures, ACaptionIsAboutAllBinsAndTheFigureShowsTheLowest) {
  std::vector<Bin> bins;
  for (std::size_t i = 0; i < 20; ++i) {
    bins.push_back({.coverage = proportion(80 + i, 100), .label = std::string(1, static_cast<char>('a' + i))});
  }
  const internal::BinsFigure figure = internal::bins_figure(bins, 0.9, "shop", "shop");
  EXPECT_EQ(figure.heading, "Coverage by shop, the lowest first (15 of 20 bins)");
  EXPECT_EQ(figure.shown.size(), 15U);
  EXPECT_TRUE(figure.caption.starts_with("Coverage ranges from 80.0% (a) to 99.0% (t); no bin lies"));
}

TEST(Page, LevelsAreDistinctAndAscending) {
  const std::vector<Level> asked = {0.9, 0.123};
  const std::vector<Level> levels = page_levels(asked);
  EXPECT_EQ(levels.size(), 41U);
  EXPECT_TRUE(std::ranges::is_sorted(levels, {}, [](const Level& level) { return level.value(); }));
  EXPECT_EQ(std::ranges::count(levels, Level(0.9)), 1);
}

TEST(Page, IsWrittenToHtmlFilesOnly) {
  for (const char* name : {"r.html", "a.b/r.HTM", "r.pdf.html"}) EXPECT_NO_THROW(require_html_name(name)) << name;
  for (const char* name : {"r.pdf", "r", "", "r.html.gz", "html", ".html"}) {
    EXPECT_THROW(require_html_name(name), Error) << name;
  }
}

TEST(Page, NeedsAModel) { EXPECT_THROW((void)headline(EvaluationReport{}), Error); }

}  // namespace
}  // namespace widthwise
