#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/plan.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct EvaluateArguments {
  std::string model;
  std::string table;
  std::vector<std::string> levels;
  std::string by;
  bool json = false;
};

constexpr std::size_t kSlabRows = 50'000;    // the search sorts them a thousand times
constexpr std::size_t kGroupsAtMost = 20;    // integers of more values are numbers, not groups
constexpr double kVerdictConfidence = 0.99;  // one honest model in a hundred is called dishonest

/// What a whole table gave.
struct Evaluated {
  std::vector<double> outcomes;
  std::vector<std::vector<double>> lower;  // for each level
  std::vector<std::vector<double>> upper;
  std::vector<double> by;
  // A sample of the rows for the search for the worst slab, and their features.
  std::vector<std::size_t> sampled;
  std::vector<double> sampled_features;
};

Evaluated evaluate_rows(const Model& model, const std::vector<Level>& levels, ModelTable& table,
                        const std::string& by) {
  const std::string& target = model.parts().target;
  const std::size_t features = model.parts().features.size();
  const std::size_t k = levels.size();
  Evaluated all;
  all.lower.resize(k);
  all.upper.resize(k);
  RowSample sample(kSlabRows, 0);
  std::vector<double> predictions;
  std::vector<double> lower;
  std::vector<double> upper;
  ProgressBar bar("rows");
  while (table.next(bar, "evaluating")) {
    const ModelRows rows = table.rows();
    const std::size_t n = rows.x.rows();
    const auto outcomes = table.column(target);
    require_finite(outcomes, table.file(), target, table.batch().first_row(), kRemoveRows);
    predictions.resize(n);
    lower.resize(n * k);
    upper.resize(n * k);
    model.intervals(rows, levels, predictions, {lower.data(), n, k}, {upper.data(), n, k});
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        all.lower[j].push_back(lower[i * k + j]);
        all.upper[j].push_back(upper[i * k + j]);
      }
      const std::size_t place = sample.place_of_next();
      if (place == RowSample::kNowhere) continue;
      all.sampled.resize(sample.size());
      all.sampled_features.resize(sample.size() * features);
      all.sampled[place] = all.outcomes.size() + i;
      std::copy_n(rows.x.row(i).begin(), features, all.sampled_features.data() + place * features);
    }
    all.outcomes.insert(all.outcomes.end(), outcomes.begin(), outcomes.end());
    if (!by.empty()) all.by.insert(all.by.end(), table.column(by).begin(), table.column(by).end());
  }
  return all;
}

/// Give every column mean 0 and variance 1, so that slabs treat features alike; missing values stay missing.
void standardise(std::vector<double>& values, std::size_t columns) {
  for (std::size_t j = 0; j < columns; ++j) {
    double n = 0;
    double mean = 0;
    double squares = 0;
    for (std::size_t at = j; at < values.size(); at += columns) {
      if (!std::isfinite(values[at])) continue;
      ++n;
      const double step = values[at] - mean;
      mean += step / n;
      squares += step * (values[at] - mean);
    }
    const double deviation = std::sqrt(squares / n);
    for (std::size_t at = j; at < values.size(); at += columns) {
      const double scaled = deviation > 0 ? (values[at] - mean) / deviation : 0;
      values[at] = std::isfinite(scaled) ? scaled : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

std::optional<WorstSlab> find_worst_slab(const Evaluated& all, std::size_t level, MatrixView features) {
  constexpr std::size_t kLeastRows = 100;  // fewer say nothing
  if (features.columns() == 0 || all.sampled.size() < kLeastRows) return std::nullopt;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> outcomes;
  for (const std::size_t row : all.sampled) {
    lower.push_back(all.lower[level][row]);
    upper.push_back(all.upper[level][row]);
    outcomes.push_back(all.outcomes[row]);
  }
  return worst_slab({lower, upper, outcomes}, features);
}

/// Parts by the values of a column: one for each when it holds a few integers, else ten of equal size.
std::vector<Part> coverage_by(const IntervalRows& rows, std::span<const double> values) {
  std::set<double> distinct;
  for (const double value : values) {
    // 2^53: integers up to here are exact.
    const bool integer = std::trunc(value) == value && std::abs(value) <= 0x1p53;
    if (integer) distinct.insert(value);
    if (!integer || distinct.size() > kGroupsAtMost) return coverage_by_feature(rows, values);
  }
  std::vector<std::int64_t> groups;
  groups.reserve(values.size());
  for (const double value : values) groups.push_back(static_cast<std::int64_t>(value));
  return coverage_by_group(rows, groups);
}

/// Whether coverage is what the calibration promises, by more than the luck of its rows and of the test's.
struct Verdict {
  const char* word;
  std::string text;
  CoverageSpread expected;
};

Verdict verdict(const Level& level, const Calibration& calibration, const Proportion& coverage) {
  const std::uint64_t rows = calibration.rows_kept();
  const CoverageSpread expected = measured_coverage_spread(level, rows, coverage.trials, kVerdictConfidence);
  if (rows < level.least_rows()) {
    return {"infinite",
            "Nothing to judge: intervals are infinite until there are " +
                count_of(level.least_rows(), "calibration row") + "; the model has " + count(rows) + ".",
            expected};
  }
  const std::string measured = "Coverage of " + percent(coverage.share);
  const std::string promise = "what " + count_of(rows, "calibration row") + " promise for a test of " +
                              count_of(coverage.trials, "row") + " (" + percent_range(expected.low, expected.high) +
                              ", in " + percent(kVerdictConfidence, 0) + " of cases)";
  if (coverage.share < expected.low) {
    return {"too low",
            "Not valid here. " + measured + " is below " + promise +
                ". These rows are harder than those of the calibration: calibrate again with rows like them.",
            expected};
  }
  if (coverage.share > expected.high) {
    return {"too high",
            "Valid, but wider than need be. " + measured + " is above " + promise +
                ". These rows are easier than those of the calibration.",
            expected};
  }
  return {"valid", "Valid. " + measured + " is " + promise + ".", expected};
}

Json to_json(const std::vector<Part>& parts) {
  Json array = Json::array();
  for (const Part& part : parts) {
    array.push_back({{"low", part.low},
                     {"high", part.high},
                     {"coverage", cli::to_json(part.coverage)},
                     {"mean_width", part.mean_width}});
  }
  return array;
}

std::string to_text(const std::string& title, const std::vector<Part>& parts) {
  TextTable table;
  table.add({title, "rows", "mean width", "coverage", "95 % confidence"});
  for (const Part& part : parts) {
    const std::string name = std::isnan(part.low)    ? "missing"
                             : part.low == part.high ? significant(part.low)
                                                     : significant(part.low) + " to " + significant(part.high);
    table.add({name, count(part.coverage.trials), significant(part.mean_width), percent(part.coverage.share),
               percent_range(part.coverage.low, part.coverage.high)});
  }
  return table.text();
}

std::string with_confidence(const Proportion& share) {
  return percent(share.share) + "  (" + percent_range(share.low, share.high) + " at 95 % confidence)";
}

/// Everything about one level, as text and as JSON.
class LevelReport {
 public:
  LevelReport(const Model& model, const Level& level, const Evaluated& all, std::size_t j, MatrixView features,
              const std::string& by)
      : features_(model.parts().features), level_(level), by_(by) {
    const IntervalRows rows{all.lower[j], all.upper[j], all.outcomes};
    summary_ = summarise(rows, level);
    verdict_ = verdict(level, model.parts().calibration, summary_.coverage);
    slab_ = find_worst_slab(all, j, features);
    by_width_ = coverage_by_width(rows);
    if (!by.empty()) by_column_ = coverage_by(rows, all.by);
  }

  [[nodiscard]] std::string text() const {
    std::string text = "\nLevel " + level_.text() + "\n";
    text += "  coverage        " + with_confidence(summary_.coverage) + "\n";
    if (slab_ && slab_->coverage.trials > 0) {
      text += "  worst slab      " + with_confidence(slab_->coverage) + "\n";
    }
    text += "  mean width      " + significant(summary_.mean_width) + "\n";
    text += "  median width    " + significant(summary_.median_width) + "\n";
    text += "  interval score  " + significant(summary_.interval_score) + "\n";
    if (summary_.infinite > 0) text += "  infinite        " + count_of(summary_.infinite, "interval") + "\n";
    text += "\n  " + wrapped(verdict_.text, 100, 2) + "\n\n";
    text += to_text("by width", by_width_);
    if (!by_.empty()) text += "\n" + to_text("by " + by_, by_column_);
    return text;
  }

  [[nodiscard]] Json json() const {
    Json json = {{"level", level_.value()},
                 {"coverage", cli::to_json(summary_.coverage)},
                 {"mean_width", summary_.mean_width},
                 {"median_width", summary_.median_width},
                 {"interval_score", summary_.interval_score},
                 {"infinite", summary_.infinite},
                 {"verdict",
                  {{"word", verdict_.word},
                   {"text", verdict_.text},
                   {"confidence", kVerdictConfidence},
                   {"expected_low", verdict_.expected.low},
                   {"expected_high", verdict_.expected.high}}},
                 {"worst_slab", nullptr},
                 {"by_width", to_json(by_width_)}};
    if (slab_) {
      Json direction = Json::object();
      for (std::size_t f = 0; f < features_.size(); ++f) direction[features_[f]] = slab_->direction[f];
      json["worst_slab"] = {{"coverage", cli::to_json(slab_->coverage)},
                            {"low", slab_->low},
                            {"high", slab_->high},
                            {"direction", direction}};
    }
    if (!by_.empty()) json["by"] = {{"column", by_}, {"parts", to_json(by_column_)}};
    return json;
  }

 private:
  const std::vector<std::string>& features_;
  Level level_;
  std::string by_;
  IntervalSummary summary_;
  Verdict verdict_ = {};
  std::optional<WorstSlab> slab_;
  std::vector<Part> by_width_;
  std::vector<Part> by_column_;
};

void run(const EvaluateArguments& arguments) {
  const Model model = load(arguments.model);
  const std::string& target = target_of(model);
  const std::vector<Level> levels = arguments.levels.empty() ? model.parts().levels : parse_levels(arguments.levels);
  auto reader = TableReader::open(arguments.table);
  require_column(*reader, arguments.table, target, ErrorCode::kBadData, ", the outcomes to compare with");
  std::vector<std::string> wanted = {target};
  if (!arguments.by.empty()) {
    require_column(*reader, arguments.table, arguments.by, ErrorCode::kInvalidArgument);
    wanted.push_back(arguments.by);
  }
  ModelTable table(model, arguments.table, std::move(reader), wanted);
  Evaluated all = evaluate_rows(model, levels, table, arguments.by);
  if (all.outcomes.empty()) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");

  const std::size_t columns = model.parts().features.size();
  standardise(all.sampled_features, columns);
  const MatrixView features(all.sampled_features.data(), all.sampled.size(), columns);
  std::string text = arguments.table + ": " + count_of(all.outcomes.size(), "row") + "\n";
  Json json = {{"table", arguments.table}, {"rows", all.outcomes.size()}, {"levels", Json::array()}};
  for (std::size_t j = 0; j < levels.size(); ++j) {
    const LevelReport report(model, levels[j], all, j, features, arguments.by);
    text += report.text();
    json["levels"].push_back(report.json());
  }
  if (arguments.json) {
    print_json(json);
  } else {
    print(text);
  }
  if (fitted_on(model, table.reader())) {
    warn(
        "the model was fitted on this very file, so coverage here is not what new rows will see; evaluate with others");
  }
}

}  // namespace

Command add_evaluate(CLI::App& program) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App& command =
      add_command(program, "evaluate", "Say whether intervals keep their promise, and where they do not.",
                  "widthwise evaluate homes.safetensors april.csv --by rooms");
  command.add_option("MODEL", arguments->model, "model file")->required()->type_name("FILE");
  command.add_option("TABLE", arguments->table, "CSV or Parquet file of rows the model has not seen, with outcomes")
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments->levels, "those the model was fitted for");
  command
      .add_option("--by", arguments->by,
                  "also show coverage by the values of this column of numbers: one part a value when they are few "
                  "integers, else ten parts")
      ->type_name("COL");
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
