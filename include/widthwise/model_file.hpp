#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace widthwise
