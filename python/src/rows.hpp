#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>
#include <widthwise/rows.hpp>

#include "base/message.hpp"
#include "bindings.hpp"
#include "table.hpp"

namespace widthwise::python {

/// A table with the columns of a matrix, which must outlive it.
[[nodiscard]] Table borrow_matrix(const AnyMatrix& matrix, std::vector<std::string> names);

/// The same, which keeps the matrix alive.
[[nodiscard]] Table from_matrix(const AnyMatrix& matrix, std::vector<std::string> names);

/// Columns of rows by their roles, each of which may be missing. Not copyable: `rows` refers to the columns.
class Columns {
 public:
  /// Of keyword arguments named as the roles in the plural; None is a missing column. Others are "labels" of the
  /// groups, "keys", and "first_row", the number of the first row without keys.
  explicit Columns(const nb::kwargs& given);
  Columns(Columns&&) = default;

  /// Rows with these columns, and without features and predictions; valid as long as this object.
  [[nodiscard]] const widthwise::Rows& rows() const { return rows_; }
  [[nodiscard]] bool has_keys() const { return keys_.has_value(); }
  /// The number of the first row, or this one if there is none.
  [[nodiscard]] std::uint64_t first_row(std::uint64_t otherwise = 0) const { return first_row_.value_or(otherwise); }
  /// The keys of the rows, or consecutive numbers; `otherwise` as above.
  [[nodiscard]] RowNumbers numbers(std::uint64_t otherwise = 0) const {
    return numbers_of(first_row(otherwise), keys_);
  }

 private:
  void read(const RoleEntry& entry, nb::handle value);

  nb::object labels_;  // of the groups
  std::vector<Doubles> numbers_;
  std::vector<Integers> integers_;
  std::vector<std::vector<std::string>> texts_;
  std::optional<Keys> keys_;
  std::optional<std::uint64_t> first_row_;
  widthwise::Rows rows_;
};

/// Rows as Python hands them over: a table, which must outlive them, outcomes, predictions and columns by role.
struct GivenRows {
  const Table& table;
  std::optional<Doubles> outcomes;
  std::optional<Doubles> predictions;
  Columns columns;

  /// Throws kShapeMismatch unless there is an outcome per row.
  [[nodiscard]] std::span<const double> y() const;
};

/// A table with predictions and columns by role, each of which may be empty.
struct Rows {
  const Table& table;
  std::span<const double> predictions;
  widthwise::Rows columns = {};

  void check() const {
    const auto fits = [&](std::size_t size, const char* what) {
      if (size == 0 || size == table.rows()) return;
      throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, {} has {}", table.rows(), what, size);
    };
    // A cross-calibrated model may take a prediction per fold; the model checks their number.
    const bool whole_rows = table.rows() > 0 && predictions.size() % table.rows() == 0;
    fits(whole_rows ? table.rows() : predictions.size(), "y_pred");
    for_each_column(columns, [&](Role role, const auto& values) { fits(values.size(), entry_of(role).plural); });
  }

  /// Release Python's lock and call use(rows, index of the first) for consecutive parts of the rows.
  template <class Use>
  void for_each_part(const Use& use) const {
    const nb::gil_scoped_release release;
    for_each_part_when_released(use);
  }

  /// Like for_each_part, for callers that have already released Python's lock, as inside `locked`.
  template <class Use>
  void for_each_part_when_released(const Use& use) const {
    check();
    widthwise::Rows all = columns;
    all.x = {nullptr, table.rows(), 0};  // the features arrive in parts
    all.predictions = predictions;
    table.for_each_part([&](MatrixView x, std::size_t first) {
      widthwise::Rows part = all.slice(first, x.rows());
      part.x = x;
      use(part, first);
    });
  }
};

[[nodiscard]] inline Rows rows_of(const GivenRows& given) {
  return {given.table, span_of(given.predictions), given.columns.rows()};
}

/// The sketch of rows with outcomes.
[[nodiscard]] inline RowSketch sketch_of(const Model& model, const Table& table, std::span<const double> outcomes) {
  RowSketch rows;
  const RowHasher hasher(model.parts().features);
  table.for_each_part([&](MatrixView x, std::size_t first) { rows.add(hasher, x, outcomes.subspan(first, x.rows())); });
  return rows;
}

inline void check_outcomes(const Table& table, const Doubles& outcomes) {
  if (outcomes.size() == table.rows()) return;
  throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, y has {}", table.rows(), outcomes.size());
}

}  // namespace widthwise::python
