#pragma once

#include <string>

#include <widthwise/model.hpp>

namespace widthwise {

/// The coverage that the calibration scheme of a model guarantees, with its conditions, in words.
struct GuaranteeStatement {
  std::string kind;  ///< "marginal", "training-conditional", "group-conditional", "weighted", "approximate", ...
  std::string text;  ///< what is guaranteed, on average over what, and under which conditions

  /// "marginal: coverage of at least the level, ..."
  [[nodiscard]] std::string to_string() const { return kind + ": " + text; }
};

/// The statement for the intervals of a model. Streams (ModelParts::online) have their own guarantee.
[[nodiscard]] GuaranteeStatement guarantee_statement(const Model& model);

/// The column of times that the fit split its rows by; empty without one.
[[nodiscard]] std::string time_column(const Model& model);

}  // namespace widthwise
