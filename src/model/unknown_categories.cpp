#include <widthwise/unknown_categories.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <widthwise/error.hpp>

#include "base/layout.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise {
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

}  // namespace widthwise
