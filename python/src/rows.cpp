#include "rows.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include <widthwise/labels.hpp>

namespace widthwise::python {

Columns::Columns(const nb::kwargs& given) {
  for (const auto& [key, value] : given) {
    if (value.is_none()) continue;
    const auto name = nb::cast<std::string_view>(key);
    const auto role = std::ranges::find(roles(), name, &RoleEntry::plural);
    if (role != roles().end()) {
      read(*role, value);
    } else if (name == "labels") {
      labels_ = nb::borrow(value);
      rows_.labels = nb::cast<const GroupLabels*>(value);
    } else if (name == "keys") {
      keys_ = nb::cast<Keys>(value);
    } else if (name == "first_row") {
      first_row_ = nb::cast<std::uint64_t>(value);
    } else {
      throw nb::type_error(("rows have no column of the role " + std::string(name)).c_str());
    }
  }
}

void Columns::read(const RoleEntry& entry, nb::handle value) {
  for_each_column(rows_, [&](Role role, auto& values) {
    if (role != entry.role) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::span<const double>>) {
      values = span_of(numbers_.emplace_back(nb::cast<Doubles>(value)));
    } else if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::span<const std::int64_t>>) {
      values = span_of(integers_.emplace_back(nb::cast<Integers>(value)));
    } else {
      values = texts_.emplace_back(nb::cast<std::vector<std::string>>(value));
    }
  });
}

std::span<const double> GivenRows::y() const {
  const auto values = span_of(outcomes);
  if (values.size() == table.rows()) return values;
  throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, y has {}", table.rows(), values.size());
}

void bind_rows(nb::module_& module) {
  nb::class_<GivenRows>(module, "Rows", "A table with outcomes, predictions and columns by role.")
      .def(
          "__init__",
          [](GivenRows* self, const Table& table, std::optional<Doubles> outcomes, std::optional<Doubles> predictions,
             const nb::kwargs& columns) {
            new (self) GivenRows{table, std::move(outcomes), std::move(predictions), Columns(columns)};
          },
          nb::arg("table"), nb::arg("y") = nb::none(), nb::arg("y_pred") = nb::none(), nb::arg("columns"),
          nb::keep_alive<1, 2>());
}

}  // namespace widthwise::python
