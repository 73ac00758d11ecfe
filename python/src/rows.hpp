#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/model.hpp>

#include "bindings.hpp"
#include "message.hpp"
#include "table.hpp"

namespace widthwise::python {

/// A table beside what a model also wants to know of its rows.
struct Rows {
  const Table& table;
  std::span<const double> predictions;
  std::span<const std::int64_t> groups;

  void check() const {
    const auto fits = [&](std::size_t size, const char* what) {
      if (size == 0 || size == table.rows()) return;
      throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, {} has {}", table.rows(), what, size);
    };
    fits(predictions.size(), "y_pred");
    fits(groups.size(), "groups");
  }

  /// Call use(rows, number of the first) part by part, in order, without Python's lock.
  template <class Use>
  void for_each_part(const Use& use) const {
    const nb::gil_scoped_release release;
    for_each_part_when_released(use);
  }

  /// The same where Python's lock is released already, as inside `locked`.
  template <class Use>
  void for_each_part_when_released(const Use& use) const {
    check();
    table.for_each_part([&](MatrixView x, std::size_t first) {
      const auto part = [&](auto values) { return values.empty() ? values : values.subspan(first, x.rows()); };
      use(ModelRows{x, part(predictions), part(groups)}, first);
    });
  }
};

inline void check_outcomes(const Table& table, const Doubles& outcomes) {
  if (outcomes.size() == table.rows()) return;
  throw internal::make_error(ErrorCode::kShapeMismatch, "X has {} rows, y has {}", table.rows(), outcomes.size());
}

}  // namespace widthwise::python
