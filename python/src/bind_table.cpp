
#include <bit>
#include <map>

#include <widthwise/moment.hpp>
#include <widthwise/random.hpp>

#include "arrow_checks.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "bindings.hpp"
#include "rows.hpp"
#include "table.hpp"

namespace widthwise::python {
namespace {

using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

CellKind kind_of(nb::dlpack::dtype type) {
  const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
  switch (code) {
    case nb::dlpack::dtype_code::Float:
      if (type.bits == 64) return CellKind::kDouble;
      if (type.bits == 32) return CellKind::kFloat;
      break;
    case nb::dlpack::dtype_code::Int:
      if (type.bits == 8) return CellKind::kInt8;
      if (type.bits == 16) return CellKind::kInt16;
      if (type.bits == 32) return CellKind::kInt32;
      if (type.bits == 64) return CellKind::kInt64;
      break;
    case nb::dlpack::dtype_code::Bool:
      if (type.bits == 8) return CellKind::kBool;
      break;
    case nb::dlpack::dtype_code::UInt:
      if (type.bits == 8) return CellKind::kUInt8;
      if (type.bits == 16) return CellKind::kUInt16;
      if (type.bits == 32) return CellKind::kUInt32;
      if (type.bits == 64) return CellKind::kUInt64;
      break;
    default:
      break;
  }
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "table: unsupported number type of {} bits; convert the column to float64", type.bits);
}

/// Shared ownership of a Python object. Only Python frees tables, and it holds its lock (GIL) then.
std::shared_ptr<void> owner_of(nb::object object) { return std::make_shared<nb::object>(std::move(object)); }

Column column_of(const void* data, std::int64_t stride, nb::dlpack::dtype type) {
  return {.kind = kind_of(type),
          .data = static_cast<const std::byte*>(data),
          .stride = static_cast<std::ptrdiff_t>(stride * (type.bits / 8))};
}

/// The labels of texts; a missing value is None.
std::shared_ptr<const Dictionary> dictionary_of(const std::vector<std::optional<std::string>>& texts) {
  auto dictionary = std::make_shared<Dictionary>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::optional<std::string>& text = texts[i];
    if (!text) continue;
    if (const auto label = label_of_text(*text)) (*dictionary)[i] = std::string(*label);
  }
  return dictionary;
}

using Texts = std::vector<std::optional<std::string>>;

/// `places` are the indices of the columns among the names. Columns in `dictionaries` are indices into texts. Of the
/// names without a column, those in `times` are dates.
Table from_columns(const std::vector<AnyVector>& columns, std::vector<std::string> names,
                   const std::vector<std::size_t>& places, std::size_t rows,
                   const std::map<std::size_t, Texts>& dictionaries, const std::vector<std::size_t>& times) {
  if (places.size() != columns.size()) throw Error(ErrorCode::kShapeMismatch, "table: expected one pointer per column");
  Table::Chunk chunk{rows, std::vector<Column>(names.size())};
  std::vector<std::shared_ptr<void>> owners;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const AnyVector& column = columns[i];
    if (column.shape(0) != rows) throw Error(ErrorCode::kShapeMismatch, "table: columns of different lengths");
    chunk.columns.at(places[i]) = column_of(column.data(), column.stride(0), column.dtype());
    owners.push_back(owner_of(nb::cast(column)));
  }
  for (const auto& [place, texts] : dictionaries) {
    Column& column = chunk.columns.at(place);
    column.dictionary = dictionary_of(texts);
    check_indices(internal::printable(fmt::format("column '{}'", names[place])),
                  {.kind = column.kind, .rows = static_cast<std::int64_t>(rows), .data = column.data}, texts.size(),
                  true);
  }
  for (const std::size_t place : times) chunk.columns.at(place).kind = CellKind::kTime;
  return {std::move(names), {std::move(chunk)}, std::move(owners)};
}

Table from_stream(const nb::object& capsule) {
  void* stream = PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream");
  if (stream == nullptr) throw nb::python_error();
  return Table::from_stream(*static_cast<ArrowArrayStream*>(stream));
}

/// The distinct labels in ascending order.
std::vector<std::string> sorted_labels(const Table& table, std::size_t column, std::size_t maximum) {
  const Labels labels = [&] {
    const nb::gil_scoped_release release;
    return table.labels(column, maximum).sorted();
  }();
  return {labels.all().begin(), labels.all().end()};
}

/// `labels` has an entry per column, empty for numbers, or is empty.
Table select_columns(const Table& table, const std::vector<std::size_t>& columns,
                     const std::vector<std::vector<std::string>>& labels) {
  if (!labels.empty() && labels.size() != columns.size()) {
    throw Error(ErrorCode::kShapeMismatch, "table: expected labels for each column");
  }
  const nb::gil_scoped_release release;
  std::vector<Labels> dictionaries;
  for (const std::vector<std::string>& of_column : labels) dictionaries.emplace_back(of_column);
  return table.select(columns, dictionaries);
}

Matrix to_matrix(const Table& table) {
  auto numbers = room_for(table.rows() * table.columns());
  {
    const nb::gil_scoped_release release;
    table.copy(0, {numbers.get(), table.rows(), table.columns()});
  }
  return give<Matrix>(std::move(numbers), {table.rows(), table.columns()});
}

Matrix take(const Table& table, const Integers& rows) {
  auto numbers = room_for(rows.size() * table.columns());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows.data()[i]);
    if (row >= table.rows())
      throw internal::make_error(ErrorCode::kInvalidArgument, "table: row {} is out of range", row + 1);
    table.copy(row, {numbers.get() + i * table.columns(), 1, table.columns()});
  }
  return give<Matrix>(std::move(numbers), {rows.size(), table.columns()});
}

/// A 64-bit hash of the contents of a table.
std::uint64_t fingerprint(const Table& table) {
  const nb::gil_scoped_release release;
  std::uint64_t hash = mix_bits(table.rows() + 1);
  table.for_each_part([&](MatrixView x, std::size_t) {
    for (std::size_t i = 0; i < x.rows(); ++i) {
      for (const double number : x.row(i)) hash = mix_bits(hash ^ std::bit_cast<std::uint64_t>(number));
    }
  });
  return hash;
}

/// The contents of UnknownLabels, to send to another process.
using UnknownState =
    std::tuple<std::string, std::uint64_t, std::uint64_t, std::vector<std::pair<std::string, std::string>>, bool>;

UnknownState state_of(const UnknownLabels& labels) {
  std::vector<std::pair<std::string, std::string>> first;
  for (const UnknownLabel& one : labels.first) first.emplace_back(one.label, one.similar);
  return {labels.feature, labels.values, labels.unknown, std::move(first), labels.more};
}

UnknownLabels unknown_labels_of(const UnknownState& state) {
  const auto& [feature, values, unknown, first, more] = state;
  UnknownLabels labels{.feature = feature, .values = values, .unknown = unknown, .more = more};
  for (const auto& [label, similar] : first) labels.first.push_back({label, similar});
  return labels;
}

void bind_unknown_labels(nb::module_& module) {
  nb::class_<UnknownLabels>(module, "UnknownLabels", "Labels of a categorical feature that a model does not know.")
      .def_static("of", &unknown_labels_of, nb::arg("state"))
      .def_prop_ro("state", &state_of)
      .def_ro("feature", &UnknownLabels::feature)
      .def_ro("unknown", &UnknownLabels::unknown)
      .def_prop_ro("none_known", &UnknownLabels::none_known)
      .def("merge", &UnknownLabels::merge, nb::arg("other"))
      .def("to_string", &UnknownLabels::to_string);
}

}  // namespace

Table borrow_matrix(const AnyMatrix& matrix, std::vector<std::string> names) {
  Table::Chunk chunk{matrix.shape(0), {}};
  for (std::size_t j = 0; j < matrix.shape(1); ++j) {
    const auto* first = static_cast<const std::byte*>(matrix.data()) +
                        static_cast<std::ptrdiff_t>(j) * matrix.stride(1) * (matrix.dtype().bits / 8);
    chunk.columns.push_back(column_of(first, matrix.stride(0), matrix.dtype()));
  }
  return {std::move(names), {std::move(chunk)}, {}};
}

Table from_matrix(const AnyMatrix& matrix, std::vector<std::string> names) {
  Table table = borrow_matrix(matrix, std::move(names));
  table.keep(owner_of(nb::cast(matrix)));
  return table;
}

void bind_table(nb::module_& module) {
  module.attr("MAX_CATEGORIES") = kMaxCategories;
  module.attr("DERIVE_FROM_DATES") = kDeriveFromDates;
  module.def(
      "why_no_categories", [](const std::vector<std::string>& labels) { return why_no_categories(Labels(labels)); },
      nb::arg("labels"));
  module.def(
      "date_parts",
      [](const std::string& text) -> std::optional<std::pair<double, std::int64_t>> {
        const std::optional<Moment> moment = moment_of_date(text);
        if (!moment) return std::nullopt;
        return std::pair(moment->number, moment->atto);
      },
      nb::arg("text"), "Seconds since 1970 and attoseconds of an ISO 8601 date; None for other text.");
  bind_unknown_labels(module);
  nb::class_<Table>(module, "Table", "Numeric columns, borrowed from their owner.")
      .def_static("from_matrix", &from_matrix, nb::arg("matrix"), nb::arg("names"))
      .def_static("from_columns", &from_columns, nb::arg("columns"), nb::arg("names"), nb::arg("places"),
                  nb::arg("rows"), nb::arg("dictionaries") = nb::dict(), nb::arg("times") = nb::list())
      .def_static("from_stream", &from_stream, nb::arg("capsule"))
      .def_prop_ro("names", &Table::names)
      .def_prop_ro("rows", &Table::rows)
      .def("kind", &Table::kind, nb::arg("column"))
      .def("labels", &sorted_labels, nb::arg("column"), nb::arg("maximum"))
      .def("select", &select_columns, nb::arg("columns"), nb::arg("labels") = nb::list())
      .def_prop_ro("unknown_labels", &Table::unknown_labels)
      .def("fingerprint", &fingerprint)
      .def("to_matrix", &to_matrix)
      .def("take", &take, nb::arg("rows"));
}

}  // namespace widthwise::python
