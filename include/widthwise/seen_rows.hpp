#pragma once

#include <string>
#include <string_view>

#include <widthwise/model.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// The verdict on intervals, in one word, when they were evaluated on rows that the model has seen.
inline constexpr const char* kSeenVerdict = "not new";

/// How many of some rows a model has seen: rows that fitted it, and rows that calibrated it.
struct SeenRows {
  RowOverlap fitted;
  RowOverlap calibrated;

  /// More rows of either kind than chance explains.
  [[nodiscard]] bool any() const { return fitted.found() || calibrated.found(); }

  /// The shares in words: "74% of these rows fitted the model, 26% of them calibrated it". Empty when there are none.
  [[nodiscard]] std::string shares() const;
  /// The shares, what they mean for an evaluation on these rows, and what to do; empty when there are none.
  [[nodiscard]] std::string to_string() const;
};

/// Compare rows with those of the model's sketches. A model without sketches, from an older file, has seen none.
[[nodiscard]] SeenRows seen_rows(const Model& model, const RowSketch& rows);

/// Throw unless rows may calibrate the model: kBadData when rows that fitted it are among them, kDuplicateRows when
/// rows of `calibrated`, the sketch of the calibration set that they are added to, are. `replace` names the option that
/// discards that set, for the message.
void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated, std::string_view replace);

}  // namespace widthwise
