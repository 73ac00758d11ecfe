#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/model.hpp>

namespace widthwise {

/// Scores of some rows on their way to the model that gave them: what one of many machines makes of its rows.
///
/// Each machine adds its rows to `calibration`, by Model::calibrate and under keys that no other row has; whoever has
/// the model merges the parts. The result is the same to the byte however the rows were dealt out, and in whatever
/// order the parts come.
struct CalibrationPart {
  std::uint64_t scores_of = 0;  ///< score_fingerprint of the model
  Calibration calibration = {};
  RowSketch sketch = RowSketch();  ///< of the rows; empty when they are not known

  /// A part without rows, of this model's scores and with the options of its calibration.
  [[nodiscard]] static CalibrationPart of(const Model& model);

  /// The rows that calibrate the model already, as a part.
  [[nodiscard]] static CalibrationPart in(const Model& model);
};

/// Merge a part into another one of this model. Throws kBadData for scores of another model, or a part that was made
/// with other options. Rows that come twice under one key are found when the calibration is read, see Calibration; rows
/// that fitted the model or are already there under other keys, by require_new_rows.
void merge_part(CalibrationPart& into, const CalibrationPart& part, const Model& model);

/// The bytes of a part: a safetensors file. Equal parts give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise_part(const CalibrationPart& part);

/// Read them back; nothing in the bytes is trusted, as for a model file. Throws kBadData, saying what is wrong.
[[nodiscard]] CalibrationPart deserialise_part(std::span<const std::byte> bytes);

/// Write a part so that `file` is at every moment the old one or the new one, whole. Throws kFile.
void save_part(const CalibrationPart& part, const std::filesystem::path& file);

/// Throws kFile when the file cannot be read, kBadData when it is not a part; both begin with the file's name.
[[nodiscard]] CalibrationPart load_part(const std::filesystem::path& file);

}  // namespace widthwise
