#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/model.hpp>

namespace widthwise {

namespace internal {
class FileLock;
}  // namespace internal

/// The format of model files (docs/model-file.md). load reports an error for a later one.
inline constexpr int kModelFormat = 1;

/// Serialise a model as a safetensors file. Equal models give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise(const Model& model);

/// Read the bytes of a model file. They are not trusted: every index, shape, number and size is validated before use,
/// memory stays within a small multiple of the input, and nothing is executed. The checksum of all bytes is verified
/// first. Throws kBadData with the problem found.
[[nodiscard]] Model deserialise(std::span<const std::byte> bytes);

/// Write a model atomically: a temporary file next to `file` is written, flushed to disk and renamed. Throws kFile.
void save(const Model& model, const std::filesystem::path& file);

/// Locks a model file for an update, from load to save. Other updates (the commands calibrate, merge and track --save,
/// and `save` in Python of a model loaded from the file) wait until the lock is destroyed or its process ends, and then
/// read the updated file, so no update is lost. load and save themselves do not lock. The lock is an flock on the file
/// and needs no lock file; on NFS it needs write permission and a server with locks.
class ModelFileLock {
 public:
  /// `waiting` is called repeatedly while another process holds the lock, and may throw. Throws kFile if the file does
  /// not exist or cannot be locked, or if other processes hold the lock for 5 minutes.
  explicit ModelFileLock(const std::filesystem::path& file, const std::function<void()>& waiting = {});
  ModelFileLock(ModelFileLock&& other) noexcept;             ///< the other no longer holds a lock
  ModelFileLock& operator=(ModelFileLock&& other) noexcept;  ///< releases the own lock first
  ~ModelFileLock();

 private:
  std::unique_ptr<internal::FileLock> lock_;
};

/// Throws kFile if the file cannot be read, and kBadData if it is not a valid model; messages begin with the file name.
[[nodiscard]] Model load(const std::filesystem::path& file);

/// A fingerprint of the scores of a model. It depends only on the rule, the unit, the base model or else the fitted
/// residuals of the given predictions, the localizer, the learnt weights and the column names. Calibrating a model does
/// not change it.
[[nodiscard]] std::uint64_t score_fingerprint(const Model& model);

/// The scores of some of the calibration rows of a model, computed on one of several machines.
///
/// Each machine adds its rows with unique keys. The shards are then merged into the model. The result is byte-identical
/// for any partition of the rows and any order of the shards.
struct CalibrationShard {
  /// Number of rows whose residuals are kept.
  static constexpr std::uint64_t kResiduals = 10'000;

  std::uint64_t scores_of = 0;     ///< score_fingerprint of the model; 0 for scores that no model gave
  Calibration calibration = {};    ///< with keys as row numbers; scores in units of the model
  RowSketch sketch = RowSketch();  ///< of the rows; empty if unknown
  /// |y - f(x)| of a sample of the rows that were added, as check_in_sample compares them; empty if unknown.
  Calibration residuals = no_residuals();

  /// Score rows with a model, which nothing was fitted on, and add them: all of them or, if it throws, none. Throws
  /// like Model::calibrate.
  void add(const Model& model, const Rows& rows, std::span<const double> outcomes, RowNumbers numbers);

  /// An empty sample of residuals.
  [[nodiscard]] static Calibration no_residuals();

  /// An empty shard for the scores of this model, with the options of its calibration.
  [[nodiscard]] static CalibrationShard of(const Model& model);

  /// The current calibration rows of the model, as a shard.
  [[nodiscard]] static CalibrationShard in(const Model& model);
};

/// Throw kBadData if the shard holds scores of another model than that of this score_fingerprint.
void require_scores_of(const CalibrationShard& shard, std::uint64_t scores_of);

/// Merge a shard into another one of the same model, or one with scores that no model gave. If the shard is rejected,
/// nothing changes. Throws kBadData for scores of another model or a shard with other options, and DuplicateRowError
/// for keys that are already present. require_new_rows detects rows that are already present with other keys.
void merge_shard(CalibrationShard& into, CalibrationShard shard);

/// The calibration set of a model, to which the rows of shards are added.
/// Thread safety: none.
class CalibrationUpdate {
 public:
  /// Begin with the calibration set of the model, which is borrowed, or with an empty set that replaces it. `option` is
  /// the name of the option that does so, for messages.
  CalibrationUpdate(const Model& model, bool replaces, std::string option);

  /// Add all rows of a shard or, if it is rejected, none. Throws kBadData for scores of another model, other options,
  /// clusters that fitted the model, or a shard that its scheme refuses; otherwise as require_new_rows, and
  /// DuplicateRowError for keys that are already present.
  void add(CalibrationShard shard);

  /// The calibration set with the rows added.
  [[nodiscard]] const CalibrationShard& rows() const { return rows_; }

  /// The model with this calibration set. Throws as require_new_rows: known rows may be too few to detect in each shard
  /// but enough in all shards together.
  [[nodiscard]] Model finish() &&;

 private:
  const Model* model_;
  std::string option_;
  CalibrationShard rows_;
  RowSketch before_;
  RowSketch added_;
  std::size_t shards_ = 0;
};

/// Serialise a shard as a safetensors file. Equal shards give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise_shard(const CalibrationShard& shard);

/// Read the bytes of a shard, which are validated like a model file. Throws kBadData with the problem found, such as
/// scores that no model gave.
[[nodiscard]] CalibrationShard deserialise_shard(std::span<const std::byte> bytes);

/// Write a shard atomically. Throws kFile.
void save_shard(const CalibrationShard& shard, const std::filesystem::path& file);

/// Throws kFile if the file cannot be read, and kBadData if it is not a valid shard; messages begin with the file name.
[[nodiscard]] CalibrationShard load_shard(const std::filesystem::path& file);

}  // namespace widthwise
