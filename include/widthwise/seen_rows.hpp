#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <widthwise/model.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// The verdict on intervals that were evaluated on rows seen by the model, in one word.
inline constexpr const char* kSeenVerdict = "not new";

/// The share of rows that a model has seen: rows that fitted it, and rows that calibrated it; and of their clusters, if
/// the model has clusters.
struct SeenRows {
  RowOverlap fitted;                      ///< rows in common with ModelParts::fit_sketch
  RowOverlap calibrated;                  ///< rows in common with ModelParts::calibration_sketch
  std::uint64_t clusters = 0;             ///< clusters of the rows
  std::uint64_t fitted_clusters = 0;      ///< of these, clusters that fitted the model
  std::uint64_t calibrated_clusters = 0;  ///< and clusters that calibrated it

  /// Whether there are more rows of either kind than by chance.
  [[nodiscard]] bool any_rows() const { return fitted.found() || calibrated.found(); }
  /// Whether there are such rows, or clusters that the model has seen. A cluster is known by its label, so that one is
  /// enough.
  [[nodiscard]] bool any() const { return any_rows() || fitted_clusters > 0 || calibrated_clusters > 0; }

  /// The shares as text: "74% of these rows fitted the model, 26% of them calibrated it". Empty if there are none.
  [[nodiscard]] std::string shares() const;
  /// The shares, their consequence for an evaluation on these rows, and advice; empty if there are none.
  [[nodiscard]] std::string to_string() const;
};

/// Compare rows, and their clusters if the model has clusters (one per row), with what the model has seen. A model
/// without sketches, from an older file, was fitted on no rows.
[[nodiscard]] SeenRows seen_rows(const Model& model, const RowSketch& rows,
                                 std::span<const std::int64_t> clusters = {});

/// Throw unless the rows may calibrate the model: kBadData if some of them fitted it, kDuplicateRows if some of them
/// are in `calibrated`, the sketch of the calibration set to which they are added. `replace` is the name of the option
/// that discards that set, for the message.
void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated, std::string_view replace);

}  // namespace widthwise
