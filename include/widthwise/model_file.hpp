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

/// The format that save writes. load reads it and all before it.
inline constexpr int kModelFormat = 4;

/// The first format with a checksum over the whole file.
inline constexpr int kChecksumFormat = 4;

/// The bytes of a model: a safetensors file, which any safetensors reader opens. Equal models give equal bytes.
[[nodiscard]] std::vector<std::byte> serialise(const Model& model);

/// Read them back. Nothing in the bytes is trusted: every index, shape, number and size is checked before it is used,
/// memory stays within a small multiple of the bytes given, and nothing is ever executed. From format 4 on, the
/// checksum of all bytes is verified first. Throws kBadData, saying what is wrong.
[[nodiscard]] Model deserialise(std::span<const std::byte> bytes);

/// Write a model so that `file` is at every moment the old one or the new one, whole: a temporary file beside it,
/// flushed to the disk, then renamed. Throws kFile.
void save(const Model& model, const std::filesystem::path& file);

/// Holds a model file for an update, from load to save. Another process or thread that wants to update it (the commands
/// calibrate, merge and track --save do so, and Python's `save` of a model that was loaded from the file) waits until
/// this is destroyed or its process ends, and then finds the updated file: no update is lost. Neither load nor save
/// takes the lock. It is an flock on the file, which leaves nothing behind; on NFS it needs write permission and a
/// server with locks.
class ModelFileLock {
 public:
  /// `waiting` is called now and then while another holds the file, and may throw. Throws kFile when there is no file
  /// or it cannot be locked.
  explicit ModelFileLock(const std::filesystem::path& file, const std::function<void()>& waiting = {});
  ModelFileLock(ModelFileLock&& other) noexcept;
  ModelFileLock& operator=(ModelFileLock&& other) noexcept;
  ~ModelFileLock();

 private:
  std::unique_ptr<internal::FileLock> lock_;
};

/// Throws kFile when the file cannot be read, kBadData when it is not a model; both begin with the file's name.
[[nodiscard]] Model load(const std::filesystem::path& file);

/// The format of a model file; throws as load does, but reads the header only. Files before kChecksumFormat have no
/// checksum: damage that leaves a well-formed model is not detected. Loading and saving them adds one.
[[nodiscard]] int model_file_format(const std::filesystem::path& file);

/// A number that tells apart models that give rows different scores: of the rule, the unit, the base model, the
/// localizer and the names of their columns, and of nothing else. Calibrating a model does not change it.
[[nodiscard]] std::uint64_t score_fingerprint(const Model& model);

}  // namespace widthwise
