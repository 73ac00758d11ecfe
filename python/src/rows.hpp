#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>

#include "base/message.hpp"
#include "bindings.hpp"
#include "table.hpp"

namespace widthwise::python {

/// A table with the columns of a matrix, which must outlive it.
[[nodiscard]] Table borrow_matrix(const AnyMatrix& matrix, std::vector<std::string> names);

/// The same, which keeps the matrix alive.
[[nodiscard]] Table from_matrix(const AnyMatrix& matrix, std::vector<std::string> names);

/// Columns of rows by their roles, each of which may be missing.
struct Columns {
  /// Of keyword arguments; None is a missing column.
  explicit Columns(const nb::kwargs& given);

  std::optional<Integers> groups = {};
  const GroupLabels* labels = nullptr;  ///< of the groups; null if all are integers
  std::optional<Doubles> weights = {};
  std::optional<Integers> clusters = {};
  std::optional<Doubles> cluster_sizes = {};
  std::optional<Doubles> times = {};
  std::optional<Doubles> sample_weights = {};
  std::optional<Keys> keys = {};
  std::optional<std::uint64_t> first_row = {};  ///< number of the first row, without keys
  nb::object owner;                             ///< of the labels
};

/// Rows as Python hands them over: a table, which must outlive them, outcomes, predictions and columns by role.
struct GivenRows {
  const Table& table;
  std::optional<Doubles> outcomes;
  std::optional<Doubles> predictions;
  Columns columns;

  /// Throws kShapeMismatch unless there is an outcome per row.
  [[nodiscard]] std::span<const double> y() const;
  [[nodiscard]] RowNumbers numbers() const;
};

/// A table with the predictions, groups, weights, clusters and sizes of clusters of its rows; each may be empty.
struct Rows {
  const Table& table;
  std::span<const double> predictions;
  std::span<const std::int64_t> groups = {};
  std::span<const double> weights = {};
  std::span<const std::int64_t> clusters = {};
  std::span<const double> cluster_sizes = {};

  void check() const {
    const auto fits = [&](std::size_t size, const char* what) {
      if (size == 0 || size == table.rows()) return;
      throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, {} has {}", table.rows(), what, size);
    };
    // A cross-calibrated model may take a prediction per fold; the model checks their number.
    const bool whole_rows = table.rows() > 0 && predictions.size() % table.rows() == 0;
    fits(whole_rows ? table.rows() : predictions.size(), "y_pred");
    fits(groups.size(), "groups");
    fits(weights.size(), "weights");
    fits(clusters.size(), "clusters");
    fits(cluster_sizes.size(), "cluster_sizes");
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
    table.for_each_part([&](MatrixView x, std::size_t first) {
      const auto part = [&](auto values) {
        const std::size_t columns = values.empty() ? 0 : values.size() / table.rows();
        return values.subspan(first * columns, x.rows() * columns);
      };
      use(widthwise::Rows{.x = x,
                          .predictions = part(predictions),
                          .groups = part(groups),
                          .weights = part(weights),
                          .clusters = part(clusters),
                          .cluster_sizes = part(cluster_sizes)},
          first);
    });
  }
};

[[nodiscard]] inline Rows rows_of(const GivenRows& given) {
  const Columns& columns = given.columns;
  return {given.table,
          span_of(given.predictions),
          span_of(columns.groups),
          span_of(columns.weights),
          span_of(columns.clusters),
          span_of(columns.cluster_sizes)};
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
