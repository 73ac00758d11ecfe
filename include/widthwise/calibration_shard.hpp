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
/// the model merges the shards. The result is the same to the byte however the rows were split, and in whatever
/// order the shards come.
struct CalibrationShard {
  std::uint64_t scores_of = 0;  ///< score_fingerprint of the model
  Calibration calibration = {};
  RowSketch sketch = RowSketch();  ///< of the rows; empty when they are not known

  /// A shard without rows, of this model's scores and with the options of its calibration.
  [[nodiscard]] static CalibrationShard of(const Model& model);

  /// The rows that calibrate the model already, as a shard.
  [[nodiscard]] static CalibrationShard in(const Model& model);
};

/// Merge a shard into another one of this model. Throws kBadData for scores of another model, or a shard that was made
/// with other options. Rows that come twice under one key are found when the calibration is read, see Calibration; rows
/// that fitted the model or are already there under other keys, by require_new_rows.
void merge_shard(CalibrationShard& into, const CalibrationShard& shard, const Model& model);

/// The bytes of a shard: a safetensors file. Equal shards give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise_shard(const CalibrationShard& shard);

/// Read them back; nothing in the bytes is trusted, as for a model file. Throws kBadData, saying what is wrong.
[[nodiscard]] CalibrationShard deserialise_shard(std::span<const std::byte> bytes);

/// Write a shard so that `file` is at every moment the old one or the new one, whole. Throws kFile.
void save_shard(const CalibrationShard& shard, const std::filesystem::path& file);

/// Throws kFile when the file cannot be read, kBadData when it is not a shard; both begin with the file's name.
[[nodiscard]] CalibrationShard load_shard(const std::filesystem::path& file);

}  // namespace widthwise
