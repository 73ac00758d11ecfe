#include "group_column.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>
#include <widthwise/group_labels.hpp>

#include "message.hpp"

namespace widthwise::cli {

SelectedColumn GroupColumn::select(const std::string& name) {
  return {.name = name, .collected = &labels_, .max_labels = std::numeric_limits<std::uint32_t>::max() - 1};
}

void GroupColumn::append(MatrixView numbers, std::size_t place, std::vector<std::int64_t>& groups) {
  for (std::size_t label = numbers_.size(); label < labels_.size(); ++label) {
    numbers_.push_back(number_of_(labels_[label]));
  }
  groups.reserve(groups.size() + numbers.rows());
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    const double label = numbers(i, place);
    groups.push_back(std::isnan(label) ? kNoGroup : numbers_[static_cast<std::size_t>(label)]);
  }
}

void require_groups(std::span<const std::int64_t> groups, const std::string& file, const std::string& column,
                    std::uint64_t first_row) {
  const auto missing = std::find(groups.begin(), groups.end(), kNoGroup);
  if (missing == groups.end()) return;
  throw internal::make_error(ErrorCode::kBadData,
                             "{}: row {}: '{}' is missing; remove the rows without a label, or give them one", file,
                             first_row + static_cast<std::uint64_t>(missing - groups.begin()) + 1, column);
}

}  // namespace widthwise::cli
