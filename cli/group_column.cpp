#include "group_column.hpp"

#include <cmath>
#include <limits>

#include <widthwise/labels.hpp>

namespace widthwise::cli {

std::vector<SelectedColumn> GroupColumn::select(std::span<const std::string> names) {
  std::vector<SelectedColumn> selected;
  for (const std::string& name : names) {
    selected.push_back({.name = name,
                        .collected = &labels_.emplace_back(),
                        .max_labels = std::numeric_limits<std::uint32_t>::max() - 1});
  }
  places_.resize(labels_.empty() ? 0 : labels_.size() - 1);
  return selected;
}

std::int64_t GroupColumn::number_of(std::span<const std::uint32_t> row) {
  constexpr unsigned kLabelBits = 32;
  std::size_t place = row.front();
  for (std::size_t k = 1; k < row.size(); ++k) {
    auto& places = places_[k - 1];
    place = places.try_emplace((std::uint64_t{place} << kLabelBits) | row[k], places.size()).first->second;
  }
  if (place >= numbers_.size()) numbers_.resize(place + 1);
  std::optional<std::int64_t>& number = numbers_[place];
  if (!number) {
    std::vector<std::string> labels;
    for (std::size_t k = 0; k < row.size(); ++k) labels.push_back(labels_[k][row[k]]);
    number = number_of_(join_labels(labels));
  }
  return *number;
}

std::size_t GroupColumn::append(MatrixView numbers, std::size_t end, std::vector<std::int64_t>& groups) {
  const std::size_t first = end - labels_.size();
  std::vector<std::uint32_t> row(labels_.size());
  groups.reserve(groups.size() + numbers.rows());
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    bool is_missing = false;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double label = numbers(i, first + k);
      is_missing = is_missing || std::isnan(label);
      row[k] = std::isnan(label) ? 0 : static_cast<std::uint32_t>(label);
    }
    groups.push_back(is_missing ? kNoGroup : number_of(row));
  }
  return first;
}

}  // namespace widthwise::cli
