#include "train/fit/checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/transform.hpp>

#include "calibration/checks.hpp"
#include "message.hpp"
#include "outcomes_outside.hpp"
#include "printable.hpp"
#include "text.hpp"
#include "train/fit/splits.hpp"

namespace widthwise::internal {
namespace {

/// Engines compute in single precision.
constexpr double kMaxSize = std::numeric_limits<float>::max();

/// Values of one column, or of several, row by row.
struct NamedValues {
  std::span<const double> values;
  std::vector<std::string> names;

  /// From 1, as in all messages.
  [[nodiscard]] std::size_t row(std::size_t i) const { return i / names.size() + 1; }
  [[nodiscard]] const std::string& name(std::size_t i) const { return names[i % names.size()]; }
};

void check_finite(const NamedValues& named) {
  for (std::size_t i = 0; i < named.values.size(); ++i) {
    if (std::isfinite(named.values[i])) continue;
    throw make_error(ErrorCode::kNotFinite, "fit: row {} of '{}' is {}; expected a finite number; drop such rows",
                     named.row(i), named.name(i), named.values[i]);
  }
}

void check_sizes(const NamedValues& named) {
  for (std::size_t i = 0; i < named.values.size(); ++i) {
    if (std::abs(named.values[i]) <= kMaxSize) continue;
    throw make_error(ErrorCode::kBadData, "fit: row {} of '{}' is {}; expected at most 3.4e38", named.row(i),
                     named.name(i), named.values[i]);
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
  check(table.group);
  check(table.weight);
  check(table.cluster);
  check(table.time);
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
  for (std::size_t i = 0; i < table.x.rows(); ++i) {
    for (std::size_t j = 0; j < table.x.columns(); ++j) {
      if (std::isnan(table.x(i, j)) || std::abs(table.x(i, j)) <= kMaxSize) continue;
      throw make_error(ErrorCode::kNotFinite,
                       "fit: row {} of '{}' is {}; expected at most 3.4e38, or a missing value (NaN)", i + 1,
                       table.features[j], table.x(i, j));
    }
  }
}

void check_shapes(const FitTable& table) {
  const std::size_t n = table.x.rows();
  const std::span<const double> predictions = given_predictions(table);
  if (!table.predictions.empty() && !table.cv_predictions.empty()) {
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
  if (table.features.size() != table.x.columns()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {}", count_of(table.x.columns(), "column"),
                     count_of(table.features.size(), "name"));
  }
}

/// Throw unless the values of categorical features are numbers of categories.
void check_numbers_of_categories(const FitTable& table) {
  for (std::size_t j = 0; j < table.categories.size(); ++j) {
    const auto count = static_cast<double>(table.categories[j].size());
    if (count == 0) continue;
    for (std::size_t i = 0; i < table.x.rows(); ++i) {
      const double x = table.x(i, j);
      if (std::isnan(x) || (x >= 0 && x < count && x == std::trunc(x))) continue;
      throw make_error(ErrorCode::kBadData, "fit: row {} of '{}' is {}; expected the number of one of {}", i + 1,
                       printable(table.features[j]), x, count_of(static_cast<std::uint64_t>(count), "category"));
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

void check_groups(const FitTable& table, const FitOptions& options) {
  const std::size_t n = table.x.rows();
  const bool grouped = !table.groups.empty() || !table.group.empty();
  if (grouped && (table.groups.size() != n || table.group.empty())) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {} in the column '{}'", count_of(n, "row"),
                     count_of(table.groups.size(), "group"), printable(table.group));
  }
  const auto missing = std::ranges::find_if(table.groups, is_reserved_group);
  if (missing != table.groups.end()) {
    throw make_error(ErrorCode::kBadData, "fit: row {} of '{}' has no label; drop such rows, or give them a label",
                     missing - table.groups.begin() + 1, printable(table.group));
  }
  if (options.pool_groups != 0 && !options.guarantee.is_marginal()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: guarantee {} is not available for pooled groups; use the guarantee 'marginal', or do not "
                     "pool groups",
                     options.guarantee.to_string());
  }
}

/// Weighted calibration has a marginal guarantee, and each group its own rows.
void refuse_with_weights(const FitOptions& options) {
  if (!options.guarantee.is_marginal()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: guarantee {} is not available for weighted calibration; use the guarantee 'marginal', or "
                     "fit without weights",
                     options.guarantee.to_string());
  }
  if (options.pool_groups != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: weighted calibration cannot pool groups; fit without weights, or do not pool groups");
  }
}

void check_weights(const FitTable& table, const FitOptions& options) {
  if (table.weights.empty() && table.weight.empty()) return;
  const std::size_t n = table.x.rows();
  if (table.weights.size() != n || table.weight.empty()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {} in the column '{}'", count_of(n, "row"),
                     count_of(table.weights.size(), "weight"), printable(table.weight));
  }
  const auto bad = std::ranges::find_if_not(table.weights, valid_weight);
  if (bad != table.weights.end()) {
    throw make_error(ErrorCode::kBadData,
                     "fit: row {} of '{}' is {}; expected a positive, finite likelihood ratio; drop rows of ratio 0, "
                     "which do not occur in the population to predict",
                     bad - table.weights.begin() + 1, printable(table.weight), *bad);
  }
  refuse_with_weights(options);
}

void check_clusters(const FitTable& table, const FitOptions& options) {
  const std::size_t n = table.x.rows();
  if (options.max_cluster_size && options.cluster_coverage == ClusterForm::kClusters) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: max_cluster_size has no effect if each cluster counts once; leave it out, or use "
                "cluster_coverage 'rows'");
  }
  if (table.clusters.empty() && table.cluster.empty()) {
    const FitOptions standard;
    if (options.cluster_coverage == standard.cluster_coverage && !options.max_cluster_size) return;
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: {} is for clusters, but the rows have none; pass their clusters",
                     options.max_cluster_size ? "max_cluster_size" : "cluster_coverage");
  }
  if (table.clusters.size() != n || table.cluster.empty()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {} in the column '{}'", count_of(n, "row"),
                     count_of(table.clusters.size(), "cluster"), printable(table.cluster));
  }
  const auto missing = std::ranges::find_if(table.clusters, is_reserved_group);
  if (missing != table.clusters.end()) {
    throw make_error(ErrorCode::kBadData, "fit: row {} of '{}' has no label; drop such rows, or give them a label",
                     missing - table.clusters.begin() + 1, printable(table.cluster));
  }
  if (!table.group.empty()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: found clusters in '{}' and groups in '{}', which cannot be combined; use one of them",
                     printable(table.cluster), printable(table.group));
  }
  if (!table.weight.empty()) {
    throw make_error(
        ErrorCode::kInvalidArgument,
        "fit: found clusters in '{}' and weights in '{}'; calibration by clusters has weights of its own, so "
        "use one of them",
        printable(table.cluster), printable(table.weight));
  }
  if (!options.guarantee.is_marginal()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: guarantee {} is not available for calibration by clusters; use the guarantee 'marginal'",
                     options.guarantee.to_string());
  }
}

void check_times(const FitTable& table, const FitOptions& options, const Workers& workers) {
  const std::size_t n = table.x.rows();
  if (table.times.empty() && table.time.empty()) return;
  if (table.times.size() != n || table.time.empty()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {} in the column '{}'", count_of(n, "row"),
                     count_of(table.times.size(), "time"), printable(table.time));
  }
  check_finite({table.times, {table.time}});
  if (!table.cluster.empty()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: found clusters in '{}' and times in '{}'; expected one of them, because a split by time "
                     "separates the rows of a cluster",
                     printable(table.cluster), printable(table.time));
  }
  if (!options.guarantee.is_marginal()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: guarantee {} is not available with the time in '{}': a training-conditional guarantee needs "
                     "independent rows, and rows that are ordered in time are rarely independent; use the guarantee "
                     "'marginal', or fit without times if the rows are independent",
                     options.guarantee.to_string(), printable(table.time));
  }
  if (!workers.alone()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: splits by the time in '{}' need all rows in one process; fit without workers",
                     printable(table.time));
  }
}

void check_shift(const FitTable& table, const FitOptions& options) {
  if (table.shift_to.rows() == 0) return;
  if (table.shift_to.columns() != table.x.columns()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {}, but shift_to has {}", count_of(table.x.columns(), "feature"),
                     count_of(table.shift_to.columns(), "column"));
  }
  if (!table.weights.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "fit: found both weights and shift_to; pass one of them");
  }
  if (!table.clusters.empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "fit: found clusters and shift_to; calibration by clusters has weights of its own, so pass one of them");
  }
  refuse_with_weights(options);
  FitTable target = table;  // a view
  target.x = table.shift_to;
  check_features(target);
  check_numbers_of_categories(target);
}

/// Throw unless sample weights are finite and not negative, and some are positive.
void check_sample_weights(const FitTable& table, const BaseTrainer* base, const Workers& workers) {
  const std::span<const double> weights = table.sample_weights;
  if (!weights.empty() && weights.size() != table.x.rows()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {}", count_of(table.x.rows(), "row"),
                     count_of(weights.size(), "sample weight"));
  }
  const auto bad = std::ranges::find_if(weights, [](double weight) { return !(weight >= 0 && weight <= kMaxSize); });
  if (bad != weights.end()) {
    throw make_error(ErrorCode::kBadData, "fit: sample weight {} is {}; expected a finite number of at least 0",
                     bad - weights.begin(), *bad);
  }
  if (!weights.empty() && workers.alone() && std::ranges::max(weights) == 0) {
    throw Error(ErrorCode::kBadData, "fit: all sample weights are 0; expected some positive ones");
  }
  if (!weights.empty() && base != nullptr && !base->takes_weights()) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: the base model {} does not take sample weights; use trees, or fit without sample weights",
                     base->name());
  }
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
  FeatureNumbers(const FitTable& table, std::size_t feature) : x_(table.x), feature_(feature) {
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
  const NamedValues outcomes{table.y, {table.target}};
  NamedValues predicted{given_predictions(table), {table.prediction}};
  if (!table.upper_prediction.empty()) predicted.names.push_back(table.upper_prediction);
  check_finite(outcomes);
  check_finite(predicted);
  if (trains) {
    check_sizes(outcomes);
    check_sizes(predicted);
  }
  OutcomesOutside outside(space);
  outside.add(table.y, 1);
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
  if (!table.group.empty()) columns += ", group " + table.group;
  if (!table.weight.empty()) columns += ", weight " + table.weight;
  if (!table.time.empty()) columns += ", time " + table.time;
  if (!table.cluster.empty()) columns += ", cluster " + table.cluster;
  return columns;
}

void check_rows(double rows, bool trains) {
  const double min_rows = trains ? 20 : 2;
  if (rows >= min_rows) return;
  throw make_error(ErrorCode::kTooFewRows, "fit: found {}; expected at least {}{}",
                   count_of(static_cast<std::uint64_t>(rows), "row"), min_rows,
                   trains ? ", or 2 with the transform identity" : "");
}

void check_roles(const FitTable& table, const FitOptions& options, const Workers& workers) {
  check_groups(table, options);
  check_weights(table, options);
  check_clusters(table, options);
  check_times(table, options, workers);
  check_shift(table, options);
}

}  // namespace

void check_columns(const FitTable& table, const FitOptions& options, const Workers& workers) {
  check_shapes(table);
  check_roles(table, options, workers);
  check_values(table, options.outcome_space, false);
}

std::string validate(const FitTable& table, const BaseTrainer* base, const LocalizerTrainer* localizer,
                     const FitOptions& options, const ResolvedGoal& goal, const Workers& workers) {
  const bool trains_localizer = goal.objective != nullptr;
  std::string settings;
  workers.all_or_none([&] {
    check_shapes(table);
    if (given_predictions(table).empty() && base == nullptr && table.x.rows() > 0) {
      throw Error(ErrorCode::kInvalidArgument, "fit: expected predictions or a base model, found neither");
    }
    settings = FitOptions::table().checked_to_string(options);
    check_roles(table, options, workers);
    check_sample_weights(table, base, workers);
    check_values(table, options.outcome_space, base != nullptr || trains_localizer);
    check_categories(table, base, trains_localizer ? localizer : nullptr);
    check_copies(table);
  });
  workers.check_alike(
      table.x.rows(), columns_of(table),
      settings_of(fmt::format("{} guarantee={}", settings, options.guarantee.to_string()), base, localizer));
  const std::string transform(goal.rule.transform().name());
  const bool has_sums = goal.rule.transform().affine_form() != nullptr || goal.rule.transform().has_spline_inverse();
  const bool needs_all_rows = !has_sums || goal.rule.score() != Score::kAbsolute;
  if (!workers.alone() && trains_localizer && needs_all_rows) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "fit: the transform {} needs all rows in one process; fit without workers", transform);
  }
  check_rows(workers.total(static_cast<double>(table.x.rows())), trains_localizer);
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
