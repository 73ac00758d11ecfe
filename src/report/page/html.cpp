#include <widthwise/report.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/version.hpp>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "report/page/pictures.hpp"
#include "report/page/style.hpp"
#include "report/page/svg.hpp"
#include "report/verdict.hpp"

namespace widthwise {
namespace {

using internal::count;
using internal::count_of;
using internal::escaped;
using internal::FigureText;
using internal::LevelName;
using internal::LevelSentences;
using internal::Mean;
using internal::OverallVerdict;
using internal::percent;
using internal::significant;
using internal::written;

/// Escaped text, with the parts in backquotes as code.
std::string with_code(std::string_view sentence) {
  std::string result;
  bool in_code = false;
  std::size_t begin = 0;
  for (std::size_t tick = sentence.find('`'); tick != std::string_view::npos; tick = sentence.find('`', begin)) {
    result += internal::escaped_content(sentence.substr(begin, tick - begin));
    result += in_code ? "</code>" : "<code>";
    in_code = !in_code;
    begin = tick + 1;
  }
  result += internal::escaped_content(sentence.substr(begin));
  return in_code ? result + "</code>" : result;
}

std::string bullets(const std::vector<std::string>& sentences) {
  std::string text = "<ul>";
  for (const std::string& sentence : sentences) text += "<li>" + with_code(sentence) + "</li>";
  return text + "</ul>";
}

std::string section(const std::string& heading, const std::string& content, const std::string& note = "") {
  const std::string soft = note.empty() ? "" : "<p class=\"soft\">" + escaped(note) + "</p>\n";
  return "<section>\n<h2>" + escaped(heading) + "</h2>\n" + soft + content + "\n</section>\n";
}

/// "88.1 to 91.8%".
std::string range(double low, double high) {
  std::string first = percent(low);
  first.resize(first.size() - 1);
  return first + " to " + percent(high);
}

std::string measured(const Proportion& share) {
  return percent(share.share) + "<small>(" + range(share.low, share.high) + ")</small>";
}

// ---- the verdict

OverallVerdict verdict_of(const EvaluationReport& report, const std::vector<LevelSentences>& sentences) {
  std::optional<OverallVerdict> verdict = internal::overall_verdict(report, sentences);
  if (!verdict) throw Error(ErrorCode::kInvalidArgument, "to_html: the report has no model");
  return std::move(*verdict);
}

std::string with_command(const internal::Advice& advice) {
  if (advice.kind == "calibrate") return advice.text + " On the command line: `widthwise calibrate --replace`.";
  if (advice.kind == "even") return advice.text + " On the command line: `widthwise fit --goal even`.";
  if (advice.kind == "groups") return advice.text + " On the command line: `widthwise fit --group`.";
  return advice.text;
}

std::string head(const std::string& title, const EvaluationReport& report, const OverallVerdict& verdict,
                 std::vector<std::string> advice) {
  const std::string sign = verdict.mood == "valid" ? "✓" : verdict.mood == "weak" ? "!" : "✗";
  if (advice.empty()) {
    for (const internal::Advice& one : verdict.advice) advice.push_back(with_command(one));
  }
  std::string notes;
  for (const std::string& remark : internal::remarks(report)) notes += "<p>" + escaped(remark) + "</p>\n";
  return "<header>\n<p class=\"soft\">" + escaped(title) + "</p>\n" + notes + "<div class=\"verdict " + verdict.mood +
         "\">\n<p class=\"word\"><span aria-hidden=\"true\">" + sign + "</span> " + escaped(verdict.word) +
         "</p>\n<h1>" + escaped(verdict.headline) + "</h1>\n<p>" + escaped(verdict.evidence) +
         "</p>\n<h2>What to do</h2>\n" + bullets(advice) + "</div>\n</header>\n";
}

// ---- numbers

struct Tile {
  std::string name;
  std::string value;
  std::string note;
};

std::string with_error(const Estimate& estimate) {
  return percent(estimate.value) + "<small>standard error " + percent(estimate.standard_error) + "</small>";
}

std::string tiles(const EvaluationReport& report, const LevelEvaluation& level, std::uint64_t calibration_rows) {
  const IntervalSummary& summary = level.intervals;
  std::vector<Tile> found = {
      {"Coverage at " + written(LevelName{level.level.value()}), percent(summary.coverage.share),
       "of " + count_of(summary.coverage.trials, "row")},
      {"Expected", range(level.expected.low, level.expected.high),
       "in " + significant(100 * level.confidence) + "% of cases"},
      {"Mean width", significant(Mean{summary.mean_width, summary.finite_mean_width}.value()),
       (summary.infinite > 0 ? "of the finite intervals; median " : "median ") + significant(summary.median_width)}};
  if (level.slab) {
    const Proportion& slab = level.slab->coverage;
    found.push_back({"Worst slab", percent(slab.share), range(slab.low, slab.high)});
  }
  if (level.ert) {
    const Estimate& ert = level.ert->l1.total;
    found.push_back({"ERT", percent(ert.value), "standard error " + percent(ert.standard_error)});
  }
  if (level.uneven) {
    const CoverageGap& gap = level.gaps[*level.uneven];
    found.push_back(
        {"Coverage gap", percent(gap.mean), percent(gap.by_chance) + " by chance, " + internal::p_text(gap.p_value)});
  }
  if (report.crps) {
    const CrpsSummary& crps = *report.crps;
    found.push_back({"CRPS", significant(Mean{crps.mean, crps.finite_mean}.value()),
                     crps.infinite > 0 ? "without " + count_of(crps.infinite, "row") + " with infinite quantiles"
                                       : "over all levels; lower is better"});
  }
  const auto add = [&](const std::string& name, std::uint64_t number) {
    if (number == 0) return;
    const double share = static_cast<double>(number) / static_cast<double>(summary.coverage.trials);
    found.push_back({name, percent(share), count(number)});
  };
  add("Infinite intervals", summary.infinite);
  add("Empty intervals", summary.empty);
  found.push_back({"Calibration rows", count(calibration_rows), "behind the guarantee"});
  std::string text = "<dl class=\"tiles\">\n";
  for (const Tile& tile : found) {
    text += "<div><dt>" + escaped(tile.name) + "</dt><dd>" + escaped(tile.value) + "<small>" + escaped(tile.note) +
            "</small></dd></div>\n";
  }
  text += "</dl>\n";
  if (level.slab) {
    text +=
        "<p class=\"soft\">Worst slab: the tenth or more of the rows where coverage is lowest, cut out by any mixture "
        "of "
        "the features that are numbers.</p>\n";
  }
  return text;
}

std::string weak_cell(const LevelEvaluation& level, const LevelSentences& sentences) {
  const std::string tested = count(level.places_tested);
  if (level.places_tested == 0) return "-<small>too few rows to tell</small>";
  if (level.weak_places.empty()) return "none<small>of " + tested + " tested</small>";
  const WeakPlace& place = level.weak_places.front();
  const std::size_t found = level.weak_places.size();
  const std::string others =
      found > 1 ? "; " + count(found) + " of " + tested + " tested are weak" : "; " + tested + " tested";
  return percent(place.coverage.share) + " where " + escaped(sentences.weak_places.front()) + "<small>(" +
         range(place.coverage.low, place.coverage.high) + ")" + others + "</small>";
}

/// Columns that only some reports have.
struct OptionalColumns {
  bool ert;
  bool infinite;
  bool empty;

  explicit OptionalColumns(const EvaluationReport& report) {
    const auto any = [&](const auto& has) { return std::ranges::any_of(report.levels, has); };
    ert = any([](const LevelEvaluation& level) { return level.ert.has_value(); });
    infinite = any([](const LevelEvaluation& level) { return level.intervals.infinite > 0; });
    empty = any([](const LevelEvaluation& level) { return level.intervals.empty > 0; });
  }
};

/// A table whose rows become blocks of named cells on narrow screens.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : heads_(std::move(heads)) {
    for (const std::string& head : heads_) text_ += "<th scope=\"col\"" + class_of(head) + ">" + head + "</th>";
    text_ += "</tr></thead><tbody>\n";
  }

  void add(const std::vector<std::string>& cells) {
    text_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text_ += "<td data-head=\"" + heads_[i] + "\"" + class_of(heads_[i]) + "><span>" + cells[i] + "</span></td>";
    }
    text_ += "</tr>\n";
  }

  [[nodiscard]] std::string to_string() const {
    return "<div class=\"scroll\"><table><thead><tr>" + text_ + "</tbody></table></div>";
  }

 private:
  static std::string class_of(const std::string& head) {
    return head == "Verdict" || head == "Weak places" || head == "Id" ? " class=\"text\"" : "";
  }

  std::vector<std::string> heads_;
  std::string text_;
};

std::vector<std::string> level_cells(const EvaluationReport& report, const LevelEvaluation& level,
                                     const LevelSentences& sentences, const OptionalColumns& columns) {
  const IntervalSummary& summary = level.intervals;
  const auto counted = [&](std::uint64_t number) {
    const double share = static_cast<double>(number) / static_cast<double>(summary.coverage.trials);
    return count(number) + "<small>" + percent(share) + "</small>";
  };
  std::vector<std::string> cells = {
      written(LevelName{level.level.value()}),
      sentences.word + (level.uneven && !report.seen.any() ? "<small>uneven</small>" : ""),
      measured(summary.coverage),
      range(level.expected.low, level.expected.high),
      level.slab ? measured(level.slab->coverage) : "-",
      significant(Mean{summary.mean_width, summary.finite_mean_width}.value()) + "<small>" +
          (summary.infinite > 0 ? "of the finite; " : "") + "median " + significant(summary.median_width) + "</small>",
      significant(Mean{summary.interval_score, summary.finite_interval_score}.value())};
  if (columns.ert) cells.push_back(level.ert ? with_error(level.ert->l1.total) : "-");
  if (columns.infinite) cells.push_back(counted(summary.infinite));
  if (columns.empty) cells.push_back(counted(summary.empty));
  cells.push_back(weak_cell(level, sentences));
  return cells;
}

std::string test_text() {
  return "where coverage is the same everywhere, the chance that this report calls any place weak, or coverage uneven, "
         "is at most " +
         percent(kWeakPlaceError, 0) + ".";
}

std::string numbers(const EvaluationReport& report, const std::vector<LevelSentences>& sentences) {
  const OptionalColumns columns(report);
  std::vector<std::string> heads = {"Level",      "Verdict",    "Coverage",      "Expected",
                                    "Worst slab", "Mean width", "Interval score"};
  if (columns.ert) heads.emplace_back("ERT");
  if (columns.infinite) heads.emplace_back("Infinite");
  if (columns.empty) heads.emplace_back("Empty");
  heads.emplace_back("Weak places");
  Table table(std::move(heads));
  for (std::size_t j = 0; j < report.levels.size(); ++j) {
    table.add(level_cells(report, report.levels[j], sentences[j], columns));
  }
  std::string note = count_of(report.rows, "row") + (report.seen.any() ? "" : " that the model had not seen") +
                     ". In brackets: 95% confidence intervals. Expected: the range of coverage that exchangeable rows "
                     "would show. The worst slab is reported if at least " +
                     count(kMinSlabRows) + " rows measure it. Weak places: " + test_text() +
                     " Interval score: mean width, plus a penalty for each outcome outside; lower is better.";
  if (columns.ert) {
    note +=
        " ERT: how far coverage given the features is from the level on average, estimated from below by a "
        "classifier; 0 if coverage is the level everywhere, slightly negative by chance.";
  }
  if (columns.infinite) note += " Mean width and interval score are those of the finite intervals.";
  if (columns.empty) note += " Empty: no value conforms, and the prediction alone is returned.";
  return section("Coverage and width by level", table.to_string(), note);
}

/// The coverage gaps of each level, and between which rows coverage differs.
std::string evenness(const EvaluationReport& report, const std::vector<LevelSentences>& sentences) {
  std::vector<std::string> points;
  for (std::size_t j = 0; j < report.levels.size(); ++j) {
    const LevelSentences& level = sentences[j];
    if (level.gaps.empty()) continue;
    points.push_back(fmt::format("{}: coverage gap {}. {}", LevelName{report.levels[j].level.value()}, level.gaps,
                                 level.uneven.empty() ? "Coverage is not found to be uneven." : level.uneven));
  }
  if (points.empty()) return "";
  return section("Evenness of coverage", bullets(points),
                 "Coverage gap: mean difference between the level and the coverage of tenths of the rows or of labels, "
                 "and what chance alone gives. P-values are corrected for all places: " +
                     test_text());
}

std::string rows_table(const std::string& heading, const std::vector<ListedRow>& rows) {
  if (rows.empty()) return "";
  Table table({"Id", "Row", "Lower bound", "Upper bound", "Outcome"});
  for (const ListedRow& row : rows) {
    table.add({row.id.empty() ? "-" : escaped(row.id), count(row.row), significant(row.lower), significant(row.upper),
               significant(row.outcome)});
  }
  return "<h3>" + heading + "</h3>" + table.to_string();
}

/// The rows with the widest intervals and the largest misses at the first level, if rows have ids.
std::string listed_rows(const EvaluationReport& report) {
  const LevelEvaluation& level = report.levels.front();
  const std::string tables = rows_table("Widest intervals", level.listed.widest) +
                             rows_table("Outcomes farthest outside their interval", level.listed.missed);
  return tables.empty() ? "" : section("Rows to look at, level " + written(LevelName{level.level.value()}), tables, "");
}

// ---- pictures

/// Figures as elements of the report, with unique names.
class Gallery {
 public:
  void add(const FigureText& figure, const internal::Picture& picture) {
    const std::string name = "picture" + std::to_string(++drawn_);
    text_.append("<figure><h3 id=\"").append(name).append("-heading\">").append(escaped(figure.heading));
    text_.append("</h3>").append(picture.to_string(name)).append("<figcaption id=\"").append(name);
    text_.append("-caption\">").append(escaped(figure.caption)).append("</figcaption></figure>\n");
  }

  template <class Figure>
  void add(const Figure& figure) {
    add(figure, picture_of(figure));
  }

  void add_bins(const std::vector<Bin>& bins, const Level& level, const std::string& called, const std::string& name,
                bool with_widths = true) {
    const internal::BinsFigure figure = internal::bins_figure(bins, level, called, name);
    add(figure, picture_of(figure, bins, level, with_widths));
  }

  /// A section of the figures that were added since the last one; empty without any.
  [[nodiscard]] std::string take(const std::string& heading, const std::string& note) {
    const std::string figures = std::exchange(text_, "");
    return figures.empty() ? "" : section(heading, "<div class=\"pictures\">\n" + figures + "</div>", note);
  }

 private:
  int drawn_ = 0;
  std::string text_;
};

bool has_finite_level(const EvaluationPage& page) {
  return std::ranges::any_of(page.expected, [](const CoverageSpread& expected) { return expected.mean < 1; });
}

/// The first of the features kept that is a number, or the prediction; empty if there is none.
std::optional<internal::FeatureColumn> shown_feature(const EvaluationPage& page, const LevelEvaluation& level) {
  const std::vector<std::string>& features = page.report.features;
  for (const FeatureBins& bins : level.by_feature) {
    if (bins.feature < features.size() && page.model.categories_of(bins.feature).size() > 0) continue;
    internal::FeatureColumn column{
        .name = internal::prediction_name(page.model.parts().target), .rows = page.search.rows, .values = {}};
    if (bins.feature < features.size()) column.name = features[bins.feature];
    for (std::size_t i = 0; i < page.search.rows.size(); ++i) {
      column.values.push_back(bins.feature < features.size() ? page.search.features(i, bins.feature)
                                                             : page.predictions[page.search.rows[i]]);
    }
    return column;
  }
  return std::nullopt;
}

void add_overview(Gallery& gallery, const EvaluationPage& page, std::size_t j) {
  const LevelEvaluation& level = page.report.levels[j];
  const IntervalRows& rows = page.rows[j];
  const std::string& target = page.model.parts().target;
  const bool finite = level.verdict != Verdict::kInfinite;
  if (finite) {
    gallery.add(internal::intervals_figure(rows, page.predictions, level.level, target));
    if (const auto feature = shown_feature(page, level); feature && !feature->values.empty()) {
      gallery.add(internal::feature_figure(rows, *feature, level.level, target));
    }
  }
  if (has_finite_level(page)) gallery.add(internal::coverage_figure(internal::measured_coverage(page)));
  if (finite && std::isfinite(level.intervals.median_width)) {
    gallery.add(internal::widths_figure(rows.lower, rows.upper, rows.outcomes, page.predictions, target));
  }
  if (finite && level.places_tested > 0) {
    gallery.add_bins(level.by_width, level.level, "width", internal::width_name(target), false);
  }
}

void add_bins(Gallery& gallery, const EvaluationPage& page, const LevelEvaluation& level) {
  if (level.verdict == Verdict::kInfinite || level.places_tested == 0) return;
  const auto add = [&](const std::vector<Bin>& bins, const std::string& called, const std::string& name) {
    gallery.add_bins(bins, level.level, called, name);
  };
  if (level.by) add(level.by->bins, level.by->name, level.by->name);
  if (!level.by_group.empty()) add(level.by_group, "group", "group");
  const std::vector<std::string>& features = page.report.features;
  for (const FeatureBins& feature : level.by_feature) {
    if (feature.feature == features.size()) {
      add(feature.bins, "the prediction", internal::prediction_name(page.model.parts().target));
    } else if (const std::string& name = features[feature.feature]; !level.by || level.by->name != name) {
      add(feature.bins, name, name);
    }
  }
}

// ---- the model

/// "size, shop (3 categories)".
std::string features_text(const Model& model) {
  const std::vector<std::string>& names = model.parts().features;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t labels = model.categories_of(i).size();
    found.push_back(names[i] + (labels == 0 ? "" : " (" + count_of(labels, "category") + ")"));
  }
  return count(found.size()) + ": " + internal::joined(found, ", ");
}

std::string predictions_text(const EvaluationPage& page) {
  if (!page.estimator.empty()) return "of " + page.estimator;
  return page.model.needs_predictions() ? "given as " + page.model.parts().prediction : "made by the model itself";
}

std::string fitted(const EvaluationPage& page) {
  const Model& model = page.model;
  const ModelParts& parts = model.parts();
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Outcome", parts.target},
      {"Predictions", predictions_text(page)},
      {"Goal", goal_summary(model)},
      {"Transform", std::string(parts.rule.transform().name()) +
                        (parts.rule.sides() == Sides::kTwo ? ", separate lower and upper sides" : "")},
      {"Rows fitted", parts.fit_rows > 0 ? count(parts.fit_rows) : "not known"},
      {"Calibration rows",
       count(model.scheme().rows(parts.calibration)) + model.scheme().describe(parts.calibration).parts},
      {"Guarantee", model.guarantee_statement().kind},
      {"Features", features_text(model)}};
  if (parts.columns.has(Role::kGroup)) facts.emplace_back("Groups", "by " + parts.columns[Role::kGroup]);
  if (const std::string outcomes = parts.outcome_space.to_string(); !outcomes.empty()) {
    facts.emplace_back("Outcomes", outcomes);
  }
  if (page.fit) facts.emplace_back("Mean error " + internal::kind_of_errors(parts), significant(page.fit->base_error));
  std::string text = "<dl class=\"facts\">";
  for (const auto& [name, value] : facts) text += "<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>";
  text += "</dl>";
  if (page.fit) text += "<p>On rows held out when it was fitted: " + escaped(page.fit->summary) + "</p>";
  return section("Fitted model", text);
}

/// The goals on the hold-out, if it was large enough to compare them.
std::string goals_section(const EvaluationPage& page) {
  if (!page.fit || page.fit->goals.size() < 2 || !page.fit->goals.front().worst_slab) return "";
  Table table({"Goal", "Mean width", "Coverage", "Worst slab"});
  for (const GoalReport& goal : page.fit->goals) {
    const bool chosen = &goal == &page.fit->goals.front();
    table.add({escaped(internal::goal_name(goal)) + (chosen ? "<small>this model</small>" : ""),
               significant(Mean{goal.mean_width, goal.finite_mean_width}.value()), percent(goal.coverage),
               goal.worst_slab ? measured(*goal.worst_slab) : "-"});
  }
  return section("Trade-off of the goals", table.to_string(),
                 "Measured on rows held out when the model was fitted, at the level " +
                     written(LevelName{page.model.parts().levels.front().value()}) +
                     ". A narrow goal has a smaller mean width, an even one covers more in the worst slab.");
}

std::string guarantee_section(const EvaluationPage& page, const LevelEvaluation& level) {
  const ModelParts& parts = page.model.parts();
  const std::string name = written(LevelName{level.level.value()});
  std::vector<std::string> points;
  if (level.verdict != Verdict::kInfinite && page.model.scheme().spread_is_exact()) {
    const std::uint64_t rows = page.model.calibration_rows();
    const CoverageSpread spread = coverage_spread(level.level, rows, kSpreadConfidence, parts.guarantee);
    points.push_back("One calibration set is not the average: with " + count_of(rows, "row") +
                     ", coverage lies between " + percent(spread.low) + " and " + percent(spread.high) +
                     " in 95% of cases. More calibration rows bring it closer to " + name + ".");
  }
  points.emplace_back(
      "Rows that are later, from elsewhere, or chosen by their prediction may not be exchangeable with the calibration "
      "rows. Calibrate with rows like them, and test again.");
  points.emplace_back(
      "Rows that fitted the model are not exchangeable with new ones: neither the calibration nor this test may "
      "contain them.");
  const GuaranteeStatement statement = page.model.guarantee_statement();
  const std::string scheme = "Guarantee of this model, " + statement.to_string() + ".";
  const std::string general =
      "If new rows are exchangeable with the calibration rows, a " + name + " interval contains the outcome with " +
      "probability at least " + name + ", on average over calibration sets and new rows (marginal coverage). This " +
      "holds for any model and any data distribution, at any sample size. It does not say that coverage is " + name +
      " for every kind of row; `evaluate` and the report measure that.";
  return section("Guarantee and its conditions",
                 "<p>" + escaped(scheme) + "</p>" +
                     (statement.is_marginal_for_rows ? "<p>" + with_code(general) + "</p>" : "") + bullets(points));
}

}  // namespace

std::vector<Level> page_levels(std::span<const Level> evaluated) {
  std::vector<Level> levels(evaluated.begin(), evaluated.end());
  const auto add = [&](double level) {
    if (std::ranges::find(levels, Level(level)) == levels.end()) levels.emplace_back(level);
  };
  for (int i = 0; i <= 36; ++i) add((50 + 25 * i) / 1000.0);
  for (const double level : {0.97, 0.98, 0.99}) add(level);
  std::ranges::sort(levels, {}, [](const Level& level) { return level.value(); });
  return levels;
}

std::string goal_summary(const Model& model) {
  if (model.parts().rule.parameter_count() == 0) return "none: one width for all rows";
  const auto found = model.parts().notes.find("goal");
  if (found == model.parts().notes.end()) return "not known";
  const std::string& goal = found->second;
  if (goal == "even") return "even: the same coverage everywhere";
  if (goal == "narrow") return "narrow: the smallest mean width";
  if (goal == "balanced") return "balanced (default): the smallest interval score, with nearly even coverage";
  return goal + ", where 0 is narrow and 1 is even";
}

void require_html_name(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (internal::is_word(extension, ".html") || internal::is_word(extension, ".htm")) return;
  std::error_code ignored;
  const auto type = std::filesystem::status(file, ignored).type();
  if (type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "{}: the report is an HTML file; expected a file name that ends in .html or .htm",
                             file.string());
}

std::string headline(const EvaluationReport& report) {
  return verdict_of(report, internal::level_sentences(report)).headline;
}

std::string to_html(const EvaluationPage& page) {
  const std::vector<LevelSentences> sentences = internal::level_sentences(page.report);
  const OverallVerdict verdict = verdict_of(page.report, sentences);
  const LevelEvaluation& level = page.report.levels[verdict.level];
  const std::string title = page.title.empty() ? "Prediction intervals of " + page.model.parts().target : page.title;
  std::string by_note = "Marked bins lie below the level by the test of this report: " + test_text() +
                        " Bars are 95% confidence intervals of each bin alone, so some lie below the level by chance.";
  if (level.by_feature.size() < page.report.features.size()) {
    by_note += " Of " + count_of(page.report.features.size(), "feature") +
               ", these have the bins whose coverage differs most clearly from the level.";
  }
  Gallery gallery;
  std::string main = head(title, page.report, verdict, page.advice) +
                     tiles(page.report, level, page.model.parts().calibration.rows_kept());
  main += numbers(page.report, sentences);
  add_overview(gallery, page, verdict.level);
  main += gallery.take("Figures", "Intervals of " + written(LevelName{level.level.value()}) + ".");
  add_bins(gallery, page, level);
  main += gallery.take("Coverage by bins of the rows", by_note);
  main += evenness(page.report, sentences) + listed_rows(page.report);
  main += goals_section(page) + fitted(page) + guarantee_section(page, level);
  // The report loads no other resources.
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n<style>\n" + internal::kPageStyle + "</style>\n</head>\n<body>\n<main>\n" + main +
         "<footer>widthwise " + kVersion + "</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace widthwise
