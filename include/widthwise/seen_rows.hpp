#pragma once

#include <string>
#include <string_view>

#include <widthwise/model.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// The verdict on intervals that were evaluated on rows seen by the model, in one word.
inline constexpr const char* kSeenVerdict = "not new";

/// The share of rows that a model has seen: rows that fitted it, and rows that calibrated it.
struct SeenRows {
  RowOverlap fitted;      ///< rows in common with ModelParts::fit_sketch
  RowOverlap calibrated;  ///< rows in common with ModelParts::calibration_sketch

  /// Whether there are more rows of either kind than by chance.
  [[nodiscard]] bool any() const { return fitted.found() || calibrated.found(); }

  /// The shares as text: "74% of these rows fitted the model, 26% of them calibrated it". Empty if there are none.
  [[nodiscard]] std::string shares() const;
  /// The shares, their consequence for an evaluation on these rows, and advice; empty if there are none.
  [[nodiscard]] std::string to_string() const;
};

/// Compare rows with the sketches of the model. A model without sketches, from an older file, has seen no rows.
[[nodiscard]] SeenRows seen_rows(const Model& model, const RowSketch& rows);

/// Throw unless the rows may calibrate the model: kBadData if some of them fitted it, kDuplicateRows if some of them
/// are in `calibrated`, the sketch of the calibration set to which they are added. `replace` is the name of the option
/// that discards that set, for the message.
void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated, std::string_view replace);

}  // namespace widthwise
