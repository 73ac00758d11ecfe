#include "train/fit/steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/transform.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/calibration/checks.hpp"
#include "conformal/outcomes.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {
namespace {

/// Engines compute in single precision.
constexpr double kMaxSize = std::numeric_limits<float>::max();

/// Values of one column, or of several, row by row.
struct NamedValues {
  std::span<const double> values;
  std::vector<std::string> names;
  const Rows& rows;  ///< that have the values

  [[nodiscard]] std::string row(std::size_t i) const { return rows.name_of_row(i / names.size()); }
  [[nodiscard]] const std::string& name(std::size_t i) const { return names[i % names.size()]; }
};

void check_finite(const NamedValues& named) {
  for (std::size_t i = 0; i < named.values.size(); ++i) {
    if (std::isfinite(named.values[i])) continue;
    throw make_error(ErrorCode::kNotFinite, "fit: {} of '{}' is {}; expected a finite number; drop such rows",
                     named.row(i), named.name(i), named.values[i]);
  }
}

void check_sizes(const NamedValues& named) {
  for (std::size_t i = 0; i < named.values.size(); ++i) {
    if (std::abs(named.values[i]) <= kMaxSize) continue;
    throw make_error(ErrorCode::kBadData, "fit: {} of '{}' is {}; expected at most 3.4e38", named.row(i), named.name(i),
                     named.values[i]);
  }
}

/// Throw unless all names are UTF-8, as model files require.
void check_names(const FitTable& table) {
  const auto check = [](const std::string& name) {
    if (is_utf8(name)) return;
    throw make_error(ErrorCode::kBadData,
                     "fit: the column name '{}' is not UTF-8; rename the column, or store the table as UTF-8",
                     printable(name));
  };
  for (const std::string& name : table.features) check(name);
  check(table.target);
  check(table.prediction);
  check(table.upper_prediction);
  for (const RoleEntry& entry : roles()) check(table.columns[entry.role]);
}

/// Likewise.
void check_labels(const FitTable& table) {
  for (std::size_t j = 0; j < table.categories.size(); ++j) {
    for (const std::string& label : table.categories[j].all()) {
      if (is_utf8(label)) continue;
      throw make_error(ErrorCode::kBadData,
                       "fit: the category '{}' of '{}' is not UTF-8; rename it, or store the table as UTF-8",
                       printable(label), printable(table.features[j]));
    }
  }
}

/// Throw unless all features fit in single precision; NaN is a missing value.
void check_features(const FitTable& table) {
  for (std::size_t i = 0; i < table.rows.x.rows(); ++i) {
    for (std::size_t j = 0; j < table.rows.x.columns(); ++j) {
      if (std::isnan(table.rows.x(i, j)) || std::abs(table.rows.x(i, j)) <= kMaxSize) continue;
      throw make_error(ErrorCode::kNotFinite,
                       "fit: {} of '{}' is {}; expected at most 3.4e38, or a missing value (NaN)",
                       table.rows.name_of_row(i), table.features[j], table.rows.x(i, j));
    }
  }
}

void check_shapes(const FitTable& table) {
  const std::size_t n = table.rows.x.rows();
  const std::span<const double> predictions = given_predictions(table);
  if (!table.rows.predictions.empty() && !table.cv_predictions.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: found both predictions and cv_predictions; pass predictions of the deployed model on rows it was "
                "not trained on (for training and calibration), or cross-validated predictions (for training only)");
  }
  const std::size_t columns = prediction_columns(table);
  if (table.y.size() != n || (!predictions.empty() && predictions.size() != n * columns)) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x, {} of y, {} of predictions", count_of(n, "row"),
                     table.y.size(), predictions.size() / columns);
  }
  if (columns == 2 && predictions.empty() && n > 0) {
    throw make_error(ErrorCode::kInvalidArgument, "fit: found a column of upper quantiles, '{}', but no predictions",
                     printable(table.upper_prediction));
  }
  if (!table.row_numbers.empty() && table.row_numbers.size() != n) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {}", count_of(n, "row"),
                     count_of(table.row_numbers.size(), "row number"));
  }
  if (!table.copies.empty() && table.copies.size() != n) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but copies has {}", count_of(n, "row"),
                     table.copies.size());
  }
  if (table.features.size() != table.rows.x.columns()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {}", count_of(table.rows.x.columns(), "column"),
                     count_of(table.features.size(), "name"));
  }
}

/// Throw unless the values of categorical features are numbers of categories.
void check_numbers_of_categories(const FitTable& table) {
  for (std::size_t j = 0; j < table.categories.size(); ++j) {
    const auto count = static_cast<double>(table.categories[j].size());
    if (count == 0) continue;
    for (std::size_t i = 0; i < table.rows.x.rows(); ++i) {
      const double x = table.rows.x(i, j);
      if (std::isnan(x) || (x >= 0 && x < count && x == std::trunc(x))) continue;
      throw make_error(ErrorCode::kBadData, "fit: {} of '{}' is {}; expected the number of one of {}",
                       table.rows.name_of_row(i), printable(table.features[j]), x,
                       count_of(static_cast<std::uint64_t>(count), "category"));
    }
  }
}

void check_categories(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer) {
  if (table.categories.empty()) return;
  if (table.categories.size() != table.features.size()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} but categories of {}",
                     count_of(table.features.size(), "feature"), table.categories.size());
  }
  if (std::ranges::all_of(table.categories, [](const Labels& labels) { return labels.size() == 0; })) return;
  const auto require = [](const auto* trainer, const char* kind) {
    if (trainer == nullptr || trainer->takes_categories()) return;
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: the {} {} does not take categorical features; use trees, or leave these features out", kind,
                     trainer->name());
  };
  require(base, "base model");
  require(localizer, "localizer");
  check_numbers_of_categories(table);
}

/// Throw unless every row has a valid cell in the columns by role.
void check_role_columns(const FitTable& table, const Workers& workers) {
  table.rows.check_shapes("fit");
  for (const RoleEntry& entry : roles()) {
    const bool has_name = table.columns.has(entry.role);
    const bool has_cells = table.rows.has(entry.role);
    check_need(entry.role, has_name && table.rows.x.rows() > 0, has_cells, "fit", table.columns[entry.role]);
    if (has_name || !has_cells || !entry.reads(Step::kCalibrate)) continue;
    throw make_error(ErrorCode::kInvalidArgument, "fit: found {} without the name of their column", entry.plural);
  }
  table.rows.check_cells(table.columns, "fit");
  const std::span<const double> weights = table.rows.sample_weights;
  if (!weights.empty() && workers.alone() && std::ranges::max(weights) == 0) {
    throw Error(ErrorCode::kBadData, "fit: all sample weights are 0; expected some positive ones");
  }
}

/// Throw if columns and choices cannot come together.
void check_combination(const FitTable& table, const BaseTrainer* base, const FitOptions& options,
                       const Workers& workers) {
  combination_of(table, workers)
      .add(options.combination())
      .add(Choice::kUnweightedBase, base != nullptr && !base->takes_weights(),
           base == nullptr ? std::string_view() : base->name())
      .check("fit");
}

void check_shift(const FitTable& table) {
  if (table.shift_to.rows() == 0) return;
  if (table.shift_to.columns() != table.rows.x.columns()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {}, but shift_to has {}",
                     count_of(table.rows.x.columns(), "feature"), count_of(table.shift_to.columns(), "column"));
  }
  FitTable target = table;  // a view
  target.rows = {.x = table.shift_to};
  check_features(target);
  check_numbers_of_categories(target);
}

/// All options and trainers as text.
std::string settings_of(std::string text, const BaseTrainer* base, const LocalizerTrainer* localizer) {
  if (base != nullptr) text.append(", base ").append(base->name()).append(" ").append(base->settings());
  if (localizer != nullptr) {
    text.append(", localizer ").append(localizer->name()).append(" ").append(localizer->settings());
  }
  return text;
}

/// Fewer equal rows, or fewer distinct outcomes, may be equal to a feature by chance.
constexpr std::size_t kMinEqualRows = 20;
constexpr std::size_t kMinDistinctOutcomes = 3;

/// The values of a feature as numbers: those of categories are their labels, NaN if these are not numbers.
class FeatureNumbers {
 public:
  FeatureNumbers(const FitTable& table, std::size_t feature) : x_(table.rows.x), feature_(feature) {
    if (table.categories.empty()) return;
    for (const std::string& label : table.categories[feature].all()) {
      labels_.push_back(read_whole<double>(label).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
  }

  [[nodiscard]] double operator[](std::size_t row) const {
    const double x = x_(row, feature_);
    return labels_.empty() || std::isnan(x) ? x : labels_[static_cast<std::size_t>(x)];
  }

 private:
  MatrixView x_;
  std::size_t feature_;
  std::vector<double> labels_;
};

/// Whether a feature equals the outcome wherever it has a value. Compared in single precision, which a copy may be
/// stored in.
bool is_copy_of_outcomes(const FeatureNumbers& feature, std::span<const double> y) {
  std::size_t equal = 0;
  std::vector<float> distinct;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(feature[i])) continue;
    const auto outcome = static_cast<float>(y[i]);
    if (static_cast<float>(feature[i]) != outcome) return false;
    ++equal;
    const bool is_new =
        distinct.size() < kMinDistinctOutcomes && std::ranges::find(distinct, outcome) == distinct.end();
    if (is_new) distinct.push_back(outcome);
  }
  return equal >= kMinEqualRows && distinct.size() == kMinDistinctOutcomes;
}

/// Throw if a feature is a copy of the outcomes, whatever its name.
void check_copies(const FitTable& table) {
  for (std::size_t j = 0; j < table.features.size(); ++j) {
    if (!is_copy_of_outcomes(FeatureNumbers(table, j), table.y)) continue;
    throw make_error(ErrorCode::kBadData,
                     "fit: the features contain the outcomes: column '{}' equals the outcome in every row; drop it",
                     printable(table.features[j]));
  }
}

/// `trains`: an engine trains on the outcomes or predictions.
void check_values(const FitTable& table, const OutcomeSpace& space, bool trains) {
  space.check("fit");
  check_names(table);
  check_labels(table);
  check_features(table);
  const NamedValues outcomes{table.y, {table.target}, table.rows};
  NamedValues predicted{given_predictions(table), {table.prediction}, table.rows};
  if (!table.upper_prediction.empty()) predicted.names.push_back(table.upper_prediction);
  check_finite(outcomes);
  check_finite(predicted);
  if (trains) {
    check_sizes(outcomes);
    check_sizes(predicted);
  }
  OutcomesOutside outside(space);
  outside.add(table.y, 1, table.rows.ids);
  outside.require_none("fit");
}

/// The columns of a table as text, equal for the tables of all workers.
std::string columns_of(const FitTable& table) {
  std::string columns;
  for (std::size_t j = 0; j < table.features.size(); ++j) {
    columns += table.features[j] + ", ";
    if (table.categories.empty()) continue;
    for (const std::string& label : table.categories[j].all()) columns += "category " + label + ", ";
  }
  columns += "target " + table.target;
  if (!table.prediction.empty()) {
    columns += (table.cv_predictions.empty() ? ", prediction " : ", cross-validated prediction ") + table.prediction;
  }
  if (!table.upper_prediction.empty()) columns += ", upper prediction " + table.upper_prediction;
  for (const RoleEntry& entry : roles()) {
    if (table.columns.has(entry.role)) columns += fmt::format(", {} {}", entry.name, table.columns[entry.role]);
  }
  return columns;
}

void check_rows(double rows, bool trains) {
  const double min_rows = trains ? 20 : 2;
  if (rows >= min_rows) return;
  throw make_error(ErrorCode::kTooFewRows, "fit: found {}; expected at least {}{}",
                   count_of(static_cast<std::uint64_t>(rows), "row"), min_rows,
                   trains ? ", or 2 with the transform identity" : "");
}

}  // namespace

Combination combination_of(const FitTable& table, const Workers& workers) {
  Combination parts;
  parts.add(table.columns);
  for (const RoleEntry& entry : roles()) parts.add(entry.role, table.rows.has(entry.role));
  return parts.add(Choice::kLearntWeights, table.shift_to.rows() > 0)
      .add(Choice::kQuantilePredictions, !table.upper_prediction.empty())
      .add(Choice::kCvPredictions, !table.cv_predictions.empty())
      .add(Choice::kWorkers, !workers.alone());
}

void check_columns(const FitTable& table, const FitOptions& options, const Workers& workers) {
  check_shapes(table);
  check_combination(table, nullptr, options, workers);
  check_role_columns(table, workers);
  check_shift(table);
  check_values(table, options.outcome_space, false);
}

std::string validate(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                     const FitOptions& options, const ResolvedGoal& goal, const Workers& workers) {
  const bool trains_localizer = goal.objective != nullptr;
  std::string settings;
  workers.all_or_none([&] {
    check_shapes(table);
    if (given_predictions(table).empty() && base == nullptr && table.rows.x.rows() > 0) {
      throw Error(ErrorCode::kInvalidArgument, "fit: expected predictions or a base model, found neither");
    }
    settings = FitOptions::table().checked_to_string(options);
    check_combination(table, base, options, workers);
    check_role_columns(table, workers);
    check_shift(table);
    check_values(table, options.outcome_space, base != nullptr || trains_localizer);
    check_categories(table, base, trains_localizer ? localizer : nullptr);
    check_copies(table);
  });
  workers.check_alike(
      table.rows.x.rows(), columns_of(table),
      settings_of(fmt::format("{} guarantee={}", settings, options.guarantee.to_string()), base, localizer));
  const std::string transform(goal.rule.transform().name());
  const bool has_sums = goal.rule.transform().affine_form() != nullptr || goal.rule.transform().has_spline_inverse();
  const bool needs_all_rows = !has_sums || goal.rule.score() != Score::kAbsolute;
  if (!workers.alone() && trains_localizer && needs_all_rows) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: the transform {} needs all rows in one process; fit without workers", transform);
  }
  check_rows(workers.total(static_cast<double>(table.rows.x.rows())), trains_localizer);
  if (trains_localizer && localizer == nullptr) {
    throw make_error(ErrorCode::kInvalidArgument, "fit: the transform {} needs a trainer for its localizer", transform);
  }
  return settings;
}

void check_rounded_to_zero(std::span<const double> residuals, const Workers& workers) {
  const auto errors = std::ranges::count_if(residuals, [](double residual) { return residual != 0; });
  if (workers.total(static_cast<double>(errors)) == 0) return;
  throw Error(ErrorCode::kBadData,
              "fit: the mean error is too small for floating point; multiply the outcomes and predictions by a power "
              "of ten");
}

void refuse_exact_predictions(const FitTable& table) {
  const std::span<const double> y = table.y;
  const bool has_base = given_predictions(table).empty();
  const bool is_constant = std::ranges::all_of(y, [&](double outcome) { return outcome == y.front(); });
  if (is_constant && has_base) {
    throw make_error(ErrorCode::kBadData,
                     "fit: every outcome of '{}' is {}, so there is nothing to predict; check the target column",
                     table.target, y.front());
  }
  throw Error(
      ErrorCode::kBadData,
      has_base
          ? "fit: the base model predicts every outcome exactly, so all errors are 0; check whether a feature contains "
            "the outcome"
          : "fit: every prediction equals the outcome; pass predictions of a model that was not trained on these rows");
}

}  // namespace widthwise::internal
