#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/model.hpp>

namespace widthwise {

/// The scores of some of the calibration rows of a model, computed on one of several machines.
///
/// Each machine adds its rows to `calibration` with Model::calibrate and unique keys. The shards are then merged into
/// the model. The result is byte-identical for any partition of the rows and any order of the shards.
struct CalibrationShard {
  std::uint64_t scores_of = 0;     ///< score_fingerprint of the model
  Calibration calibration = {};    ///< with keys as row numbers; scores in units of the model
  RowSketch sketch = RowSketch();  ///< of the rows; empty if unknown

  /// An empty shard for the scores of this model, with the options of its calibration.
  [[nodiscard]] static CalibrationShard of(const Model& model);

  /// The current calibration rows of the model, as a shard.
  [[nodiscard]] static CalibrationShard in(const Model& model);
};

/// Merge a shard into another shard of this model. Throws kBadData for scores of another model or a shard with other
/// options. Duplicate keys are detected when the calibration is read, see Calibration. require_new_rows detects rows
/// that fitted the model or are already present with other keys.
void merge_shard(CalibrationShard& into, const CalibrationShard& shard, const Model& model);

/// Serialise a shard as a safetensors file. Equal shards give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise_shard(const CalibrationShard& shard);

/// Read the bytes of a shard, which are validated like a model file. Throws kBadData with the problem found.
[[nodiscard]] CalibrationShard deserialise_shard(std::span<const std::byte> bytes);

/// Write a shard atomically. Throws kFile.
void save_shard(const CalibrationShard& shard, const std::filesystem::path& file);

/// Throws kFile if the file cannot be read, and kBadData if it is not a valid shard; messages begin with the file name.
[[nodiscard]] CalibrationShard load_shard(const std::filesystem::path& file);

}  // namespace widthwise
