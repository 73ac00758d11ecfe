#include "time_column.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"

namespace widthwise::cli {

SelectedColumn TimeColumn::select(const TableReader& reader, const std::string& name) {
  const auto found = std::ranges::find(reader.columns(), name, &ColumnInfo::name);
  is_text_ = found != reader.columns().end() && found->kind == ColumnKind::kText;
  if (!is_text_) return {.name = name, .times = &read_};
  return {.name = name, .collected = &labels_, .max_labels = std::numeric_limits<std::uint32_t>::max() - 1};
}

void TimeColumn::append(MatrixView numbers, std::size_t column, const CellPlace& place, std::vector<Moment>& times) {
  for (std::size_t label = dates_.size(); label < labels_.size(); ++label) {
    dates_.push_back(moment_of_date(labels_[label]));
  }
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    const double number = numbers(i, column);
    const bool has_label = is_text_ && !std::isnan(number);
    const std::optional<Moment> time = has_label               ? dates_[static_cast<std::size_t>(number)]
                                       : std::isfinite(number) ? std::optional(read_[i])
                                                               : std::nullopt;
    if (!time) {
      const std::string what =
          has_label ? fmt::format("is '{}'", internal::printable(labels_[static_cast<std::size_t>(number)]))
                    : "is missing";
      throw internal::make_error(ErrorCode::kBadData,
                                 "{}: {}: '{}' {}; expected a number, or a date such as 2024-01-31 or "
                                 "2024-01-31 05:00",
                                 place.where, place.row(i), place.column, what);
    }
    times.push_back(*time);
  }
  read_.clear();
}

}  // namespace widthwise::cli
