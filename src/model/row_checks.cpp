#include <widthwise/row_checks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/names.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

using internal::count_of;

std::string rows_have(std::uint64_t rows) { return count_of(rows, "row") + (rows == 1 ? " has" : " have"); }

}  // namespace

std::int64_t GroupRows::counted(std::int64_t group, std::string_view label, std::uint64_t rows) {
  if (group == kNoGroup) unlabelled_ += rows;
  if (group == kUnseenGroup) {
    unseen_ += rows;
    if (unseen_labels_.size() < kMaxLabels && !unseen_labels_.contains(label)) unseen_labels_.emplace(label);
  }
  return group;
}

std::int64_t GroupRows::find(std::string_view label, std::uint64_t rows) {
  return counted(model_.parts().calibration.find_group(label), label, rows);
}

std::int64_t GroupRows::find(std::int64_t label, std::uint64_t rows) {
  // Without texts, the label is the number.
  if (!labelled_ && !is_reserved_group(label) && model_.quantile_group(label) == label) return label;
  return find(label_of(label), rows);
}

void GroupRows::count(std::int64_t group) {
  if (group == kNoGroup) ++unlabelled_;
  if (group == kUnseenGroup) ++unseen_;
}

std::string GroupRows::warning() const {
  constexpr std::size_t kShown = 10;
  std::string text;
  if (unseen_ > 0) {
    std::vector<std::string> shown;
    for (const std::string& label : unseen_labels_) {
      if (shown.size() == kShown) break;
      shown.push_back(label);
    }
    if (unseen_labels_.size() > kShown) shown.emplace_back("others");
    text = rows_have(unseen_) + " a group without calibration rows (" + internal::list(shown) + ")" +
           (model_.parts().pool_groups > 0 ? ", which is predicted like the pooled groups"
                                           : ", so the intervals are infinite");
  }
  if (unlabelled_ == 0) return text;
  return text + (text.empty() ? "" : "; ") + rows_have(unlabelled_) + " no group, so the intervals are infinite";
}

namespace {

/// "'si1' (did you mean 'SI1'?) and 'x'".
std::string examples_of(const UnknownLabels& labels) {
  std::vector<std::string> named;
  for (const UnknownLabel& one : labels.first) {
    named.push_back(fmt::format("'{}'", internal::printable(one.label)));
    if (!one.similar.empty()) named.back() += fmt::format(" (did you mean '{}'?)", internal::printable(one.similar));
  }
  return internal::list(named);
}

}  // namespace

void UnknownLabels::add(std::string_view label, const Labels& known, std::uint64_t rows) {
  values += rows;
  unknown += rows;
  if (std::ranges::find(first, label, &UnknownLabel::label) != first.end()) return;
  if (first.size() == kNamed) {
    more = true;
  } else {
    first.push_back({std::string(label), internal::nearest_name(internal::trimmed(label), known.all())});
  }
}

void UnknownLabels::merge(const UnknownLabels& other) {
  values += other.values;
  unknown += other.unknown;
  more = more || other.more;
  for (const UnknownLabel& one : other.first) {
    if (std::ranges::find(first, one.label, &UnknownLabel::label) != first.end()) continue;
    if (first.size() == kNamed) {
      more = true;
    } else {
      first.push_back(one);
    }
  }
}

std::string UnknownLabels::to_string() const {
  const std::string name = internal::printable(feature);
  if (none_known()) {
    return fmt::format(
        "column '{}': none of {} is a category that the model knows: the labels are {}{}; use the labels of the fit, "
        "or fit again with "
        "rows of these categories",
        name, internal::count_of(values, "value"), examples_of(*this), more ? " and others" : "");
  }
  return fmt::format(
      "column '{}': {} of {} {} that the model does not know, such as {}; the model takes unknown categories as "
      "missing, and "
      "the guarantee holds for such rows only if the calibration rows have them as often; use the labels of the fit, "
      "or fit again with rows of these categories",
      name, internal::count(unknown), internal::count_of(values, "value"),
      unknown == 1 ? "is a category" : "are categories", examples_of(*this));
}

UnknownCategories::UnknownCategories(const Model& model) : model_(model) {
  for (const std::string& name : model.parts().features) features_.push_back({.feature = name});
}

double UnknownCategories::find(std::size_t feature, std::string_view label, std::uint64_t rows) {
  const Labels& known = model_.categories_of(feature);
  const double number = known.number_of(label);
  if (std::isnan(number)) {
    features_[feature].add(label, known, rows);
  } else {
    features_[feature].values += rows;
  }
  return number;
}

std::vector<UnknownLabels> UnknownCategories::found() const {
  std::vector<UnknownLabels> found;
  std::ranges::copy_if(features_, std::back_inserter(found), [](const UnknownLabels& one) { return one.unknown > 0; });
  return found;
}

void UnknownCategories::require_known(const std::string& where) const {
  const auto none = std::ranges::find_if(features_, &UnknownLabels::none_known);
  if (none != features_.end()) throw Error(ErrorCode::kBadData, where + ": " + none->to_string());
}

namespace {

constexpr std::array<internal::Named<Population>, 2> kPopulations = {{
    {Population::kSource, "source"},
    {Population::kTarget, "target"},
}};

}  // namespace

std::string_view name_of(Population population) { return internal::name_in(kPopulations, population); }

Population population_of(std::string_view name) {
  if (const auto found = internal::value_in(kPopulations, name)) return *found;
  throw internal::make_error(ErrorCode::kInvalidArgument, "population is '{}'; expected 'source' or 'target'", name);
}

Model without_weights(const Model& model) {
  ModelParts parts = model.parts();
  parts.columns[Role::kWeight].clear();
  parts.shift = nullptr;
  parts.calibration = Calibration(parts.calibration.options());
  parts.calibration_sketch = RowSketch();
  parts.notes["weights"] = "dropped: calibrated with rows of the population to predict";
  return Model(std::move(parts));
}

Model model_for_rows_of(const Model& model, std::optional<Population> population, bool replace) {
  if (!model.scheme().weighs_new_rows()) {
    if (population != Population::kSource) return model;
    throw Error(ErrorCode::kInvalidArgument,
                "population is 'source', but the model has no weights: its calibration rows must come from the "
                "population to predict. Leave population out, or fit a model with weights");
  }
  if (!population) {
    throw Error(ErrorCode::kInvalidArgument,
                "the model has weights, so the population of these rows must be stated: population 'source', that of "
                "the fitting rows, whose rows count with their weights; or population 'target', that of the rows to "
                "predict, together with replace, whose rows calibrate alone and without weights");
  }
  if (*population == Population::kSource) return model;
  if (!replace && model.parts().calibration.rows_seen() > 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "rows of the population to predict (population 'target') cannot be added to weighted calibration rows: "
                "they would be shifted twice, and intervals may be too narrow. Use replace to calibrate with these "
                "rows only, without weights, or add rows of the population of the fitting rows (population 'source')");
  }
  return without_weights(model);
}

namespace {

/// A share as "1.3%": two significant digits below 10%, else whole percent.
std::string percent(double share) {
  const double percents = 100 * share;
  const double digits = percents >= 10 ? 1 : std::pow(10, 1 - std::floor(std::log10(percents)));
  return fmt::format("{}%", std::round(percents * digits) / digits);
}

}  // namespace

std::string SeenRows::shares() const {
  std::string which;
  if (fitted.found()) which = percent(fitted.share()) + " of these rows were used to fit the model";
  if (calibrated.found()) {
    const std::string share = percent(calibrated.share());
    which += which.empty() ? share + " of these rows were used to calibrate the model"
                           : fmt::format(", {} to calibrate it", share);
  }
  const std::string of_clusters = fmt::format(" of {}", internal::count_of(clusters, "cluster"));
  const auto add = [&](std::uint64_t found, const char* what) {
    if (found == 0) return;
    which += (which.empty() ? "" : "; ") + internal::count(found) + of_clusters + (found == 1 ? " was" : " were") +
             " used to " + what + " the model";
  };
  add(fitted_clusters, "fit");
  add(calibrated_clusters, "calibrate");
  return which;
}

std::string SeenRows::to_string() const {
  if (!any()) return "";
  return any_rows() ? shares() +
                          ". Their coverage does not estimate the coverage of new rows. Evaluate with rows that were "
                          "used for neither"
                    : shares() +
                          ", so these are not new clusters. Their coverage does not estimate the coverage of new "
                          "clusters. Evaluate with clusters that were used for neither";
}

SeenRows seen_rows(const Model& model, const RowSketch& rows, std::span<const std::int64_t> clusters) {
  std::vector<std::int64_t> distinct(clusters.begin(), clusters.end());
  std::ranges::sort(distinct);
  const auto repeated = std::ranges::unique(distinct);
  distinct.erase(repeated.begin(), repeated.end());
  const std::vector<std::int64_t> known = model.parts().calibration.cluster_numbers();
  const auto calibrated =
      std::ranges::count_if(distinct, [&](std::int64_t cluster) { return std::ranges::binary_search(known, cluster); });
  return {.fitted = overlap(model.parts().fit_sketch, rows),
          .calibrated = overlap(model.parts().calibration_sketch, rows),
          .clusters = distinct.size(),
          .fitted_clusters = model.fitted_clusters(distinct),
          .calibrated_clusters = static_cast<std::uint64_t>(calibrated)};
}

void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated,
                      std::string_view replace) {
  if (const RowOverlap fitted = overlap(model.parts().fit_sketch, rows); fitted.found()) {
    throw Error(ErrorCode::kBadData, percent(fitted.share()) +
                                         " of these rows were used to fit the model; its errors on them are smaller "
                                         "than on new rows, so intervals would be too narrow. Drop these rows");
  }
  if (const RowOverlap twice = overlap(calibrated, rows); twice.found()) {
    throw internal::make_error(ErrorCode::kDuplicateRows,
                               "{} of these rows are already in the calibration set, and duplicates make intervals too "
                               "narrow. Drop them, or use {} to calibrate with these rows only",
                               percent(twice.share()), replace);
  }
}

}  // namespace widthwise
