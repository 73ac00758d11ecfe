#include "by_column.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/labels.hpp>

#include "tables.hpp"

namespace widthwise::cli {

ByColumn::ByColumn(const std::vector<std::string>& names, const Model& model, const TableReader& reader,
                   const std::string& file)
    : names_(parse_columns(reader, file, names)), name_(join_labels(names_)) {
  if (names_.empty()) return;
  const std::vector<std::string>& features = model.parts().features;
  const auto found = std::ranges::find(features, name_);
  if (names_.size() == 1 && found != features.end()) feature_ = static_cast<std::size_t>(found - features.begin());
  const auto is_text = [&](const ColumnInfo& column) {
    return column.name == name_ && column.kind == ColumnKind::kText;
  };
  are_labels_ = names_.size() > 1 || std::ranges::any_of(reader.columns(), is_text) ||
                name_ == model.parts().columns[Role::kGroup] || (feature_ && model.categories_of(*feature_).size() > 0);
  booleans_.add("false");  // the labels in the order of the numbers 0 and 1
  booleans_.add("true");
}

std::vector<SelectedColumn> ByColumn::select() {
  if (names_.empty()) return {};
  if (are_labels_) return joined_.select(names_);
  return {{.name = name_}, {.name = name_, .known = &booleans_}};
}

void ByColumn::append(MatrixView numbers, std::size_t place) {
  if (are_labels_) {
    std::vector<std::int64_t> labels;
    joined_.append(numbers, place + names_.size(), labels);
    for (const std::int64_t label : labels) {
      values_.push_back(label == kNoGroup ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(label));
    }
  }
  for (std::size_t i = 0; i < numbers.rows() && !names_.empty() && !are_labels_; ++i) {
    values_.push_back(numbers(i, place));
    if (!std::isnan(values_.back()) && std::isnan(numbers(i, place + 1))) are_booleans_ = false;
  }
}

std::optional<EvaluatedColumn> ByColumn::column() const {
  if (names_.empty()) return std::nullopt;
  const Labels* const labels = are_labels_ ? &labels_ : are_booleans_ ? &booleans_ : nullptr;
  return EvaluatedColumn{.name = name_, .values = values_, .labels = labels, .feature = feature_};
}

}  // namespace widthwise::cli
