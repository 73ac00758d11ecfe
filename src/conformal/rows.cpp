#include <widthwise/rows.hpp>

#include <type_traits>

#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise {
namespace {

/// The one of these columns that holds values like those of a column of rows.
template <class Values>
auto& column_for(const Values& /*values*/, Role role, auto& numbers, auto& labels, auto& texts) {
  const auto place = static_cast<std::size_t>(role);
  if constexpr (std::is_same_v<typename Values::value_type, double>) {
    return numbers[place];
  } else if constexpr (std::is_same_v<typename Values::value_type, std::int64_t>) {
    return labels[place];
  } else {
    return texts[place];
  }
}

}  // namespace

Rows Rows::slice(std::size_t first, std::size_t count) const {
  const auto part = [&](auto values) {
    const std::size_t columns = values.empty() ? 0 : values.size() / x.rows();
    return values.subspan(first * columns, count * columns);
  };
  Rows rows = *this;
  rows.x = x.slice(first, count);
  rows.predictions = part(predictions);
  rows.first_row += first;
  for_each_column(rows, [&](Role, auto& values) { values = part(values); });
  return rows;
}

bool Rows::has(Role role) const {
  bool found = false;
  for_each_column(*this, [&](Role each, const auto& values) { found = found || (each == role && !values.empty()); });
  return found;
}

void Rows::check_shapes(std::string_view where) const {
  for_each_column(*this, [&](Role role, const auto& values) {
    if (values.empty() || values.size() == x.rows()) return;
    throw internal::make_error(ErrorCode::kShapeMismatch, "{}: {} rows of x but {} {}", where, x.rows(), values.size(),
                               entry_of(role).plural);
  });
}

void Rows::check_cells(const RoleNames& names, std::string_view where) const {
  for_each_column(*this, [&](Role role, const auto& values) {
    widthwise::check_cells(role, values, {.where = where, .column = names[role], .first_row = first_row, .ids = ids});
  });
}

RoleColumns::RoleColumns(const Rows& rows, std::span<const std::size_t> selected) {
  for_each_column(rows, [&](Role role, const auto& values) {
    if (values.empty() || entry_of(role).kind == RoleKind::kText) return;
    auto& own = column_for(values, role, numbers_, labels_, texts_);
    own.reserve(selected.size());
    for (const std::size_t row : selected) own.push_back(values[row]);
  });
}

void RoleColumns::set(Rows& rows) const {
  for_each_column(rows, [&](Role role, auto& values) { values = column_for(values, role, numbers_, labels_, texts_); });
}

}  // namespace widthwise
