#include "rows.hpp"

#include <algorithm>
#include <string_view>

#include <widthwise/labels.hpp>

namespace widthwise::python {
namespace {

/// Read a column if it has this name.
template <class Column>
bool read_into(Column& column, std::string_view wanted, std::string_view name, nb::handle value) {
  if (name != wanted) return false;
  column = nb::cast<typename Column::value_type>(value);
  return true;
}

bool read_labels(const GroupLabels*& labels, std::string_view name, nb::handle value) {
  if (name != "labels") return false;
  labels = nb::cast<const GroupLabels*>(value);
  return true;
}

}  // namespace

Columns::Columns(const nb::kwargs& given) : owner(given) {
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string_view>(key);
    const bool known =
        value.is_none() || read_into(groups, "groups", name, value) || read_labels(labels, name, value) ||
        read_into(weights, "weights", name, value) || read_into(clusters, "clusters", name, value) ||
        read_into(cluster_sizes, "cluster_sizes", name, value) || read_into(times, "times", name, value) ||
        read_into(sample_weights, "sample_weights", name, value) || read_into(keys, "keys", name, value) ||
        read_into(first_row, "first_row", name, value);
    if (!known) throw nb::type_error(("rows have no column of the role " + std::string(name)).c_str());
  }
}

std::span<const double> GivenRows::y() const {
  const auto values = span_of(outcomes);
  if (values.size() == table.rows()) return values;
  throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, y has {}", table.rows(), values.size());
}

RowNumbers GivenRows::numbers() const { return numbers_of(columns.first_row.value_or(0), columns.keys); }

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
