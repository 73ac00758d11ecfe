#include "by_column.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tables.hpp"

namespace widthwise::cli {

ByColumn::ByColumn(std::string name, const Model& model, const TableReader& reader, const std::string& file)
    : name_(std::move(name)) {
  if (name_.empty()) return;
  require_column(reader, file, name_, ErrorCode::kInvalidArgument);
  const std::vector<std::string>& features = model.parts().features;
  const auto found = std::ranges::find(features, name_);
  if (found != features.end()) feature_ = static_cast<std::size_t>(found - features.begin());
  const auto is_text = [&](const ColumnInfo& column) {
    return column.name == name_ && column.kind == ColumnKind::kText;
  };
  are_labels_ = std::ranges::any_of(reader.columns(), is_text) || name_ == model.parts().group ||
                (feature_ && model.categories_of(*feature_).size() > 0);
  booleans_.add("false");  // the labels in the order of the numbers 0 and 1
  booleans_.add("true");
}

std::vector<SelectedColumn> ByColumn::select() {
  if (name_.empty()) return {};
  if (are_labels_) {
    return {{.name = name_, .collected = &labels_, .max_labels = std::numeric_limits<std::uint32_t>::max() - 1}};
  }
  return {{.name = name_}, {.name = name_, .known = &booleans_}};
}

void ByColumn::append(MatrixView numbers, std::size_t place) {
  if (name_.empty()) return;
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    values_.push_back(numbers(i, place));
    if (!are_labels_ && !std::isnan(values_.back()) && std::isnan(numbers(i, place + 1))) are_booleans_ = false;
  }
}

std::optional<EvaluatedColumn> ByColumn::column() const {
  if (name_.empty()) return std::nullopt;
  const Labels* const labels = are_labels_ ? &labels_ : are_booleans_ ? &booleans_ : nullptr;
  return EvaluatedColumn{.name = name_, .values = values_, .labels = labels, .feature = feature_};
}

}  // namespace widthwise::cli
