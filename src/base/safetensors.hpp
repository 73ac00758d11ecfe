#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Safetensors: an 8-byte little-endian length, a JSON header of that length with texts ("__metadata__") and the type,
/// shape and offsets of every array, then the arrays. Many tools read this format, and it contains no executable code.
///
/// A sealed file has the text "checksum": 16 hexadecimal digits, the checksum (hash.hpp) of all bytes of the file,
/// computed with zeros in place of these digits.
namespace widthwise::internal {

/// The number types of model files, a subset of those of the format.
enum class TensorType { kU8, kI32, kU32, kI64, kU64, kF32, kF64 };

template <class T>
consteval TensorType tensor_type_of() {
  if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, std::uint8_t>) return TensorType::kU8;
  if constexpr (std::is_same_v<T, std::int32_t>) return TensorType::kI32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return TensorType::kU32;
  if constexpr (std::is_same_v<T, std::int64_t>) return TensorType::kI64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return TensorType::kU64;
  if constexpr (std::is_same_v<T, float>) return TensorType::kF32;
  if constexpr (std::is_same_v<T, double>) return TensorType::kF64;
}

using TensorShape = std::vector<std::uint64_t>;

/// Collects texts and arrays and serialises them. The same contents give the same bytes in any order of insertion.
/// Arrays are aligned to the size of their numbers.
class SafetensorsWriter {
 public:
  /// Names and texts are UTF-8, and names are unique.
  void put_text(const std::string& name, std::string text);

  template <class T>
  void put(const std::string& name, const std::vector<T>& values) {
    put(name, values, {values.size()});
  }
  template <class T>
  void put(const std::string& name, const std::vector<T>& values, TensorShape shape) {
    put(name, std::span<const T>(values), std::move(shape));
  }
  /// The product of `shape` is the size of `values`.
  template <class T>
  void put(const std::string& name, std::span<const T> values, TensorShape shape) {
    put_bytes(name, tensor_type_of<T>(), std::move(shape), std::as_bytes(values));
  }

  /// Throws kInvalidArgument if a name or text is not UTF-8, or if the header exceeds the limits of readers.
  [[nodiscard]] std::vector<std::byte> finish() const;

  /// The same with a checksum, for SafetensorsReader::sealed.
  [[nodiscard]] std::vector<std::byte> finish_sealed() &&;

 private:
  struct Tensor {
    TensorType type;
    TensorShape shape;
    std::vector<std::byte> bytes;
  };

  void put_bytes(const std::string& name, TensorType type, TensorShape shape, std::span<const std::byte> bytes);

  std::map<std::string, std::string> texts_;
  std::map<std::string, Tensor> tensors_;
};

/// Write the correct checksum into a file in memory that has a checksum field; return whether it has one. Tests use it
/// after they change bytes.
bool seal(std::span<std::byte> file);

/// Maximum numbers of texts and of arrays of a header; kMaxHeaderBytes is that of its bytes.
inline constexpr std::size_t kMaxHeaderEntries = 100'000;

/// Read a file, the header first: a file whose size does not match its header, or whose header exceeds the limits, is
/// rejected before its arrays are read, whatever its size. `kind` is what the file should be, for the message about a
/// file of another kind (require_safetensors); empty without such a message. `advice` ends the message about a damaged
/// file. Throws kFile if the file cannot be read, else kBadData.
[[nodiscard]] std::vector<std::byte> read_safetensors(const std::filesystem::path& file, std::string_view kind,
                                                      const std::string& advice);

/// Reads a file in memory. Header, types, shapes and offsets are validated before use. Entries are removed when they
/// are taken, so that unknown entries can be detected. Errors are kBadData with the problem found.
/// Invariant: all arrays lie within the bytes, which must outlive this object, and fill them without gaps.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(std::span<const std::byte> bytes);

  /// Read a sealed file after verifying its checksum. `advice` ends the message about a damaged file.
  [[nodiscard]] static SafetensorsReader sealed(std::span<const std::byte> bytes, const std::string& advice);

  /// Only the texts, also of a file whose arrays this version does not support.
  [[nodiscard]] static std::map<std::string, std::string> texts_of(std::span<const std::byte> bytes);

  [[nodiscard]] std::optional<std::string> take_text_if_any(const std::string& name);
  [[nodiscard]] std::string take_text(const std::string& name);

  /// The texts whose names have this prefix, with the prefix removed.
  [[nodiscard]] std::map<std::string, std::string> take_texts(std::string_view beginning);

  template <class T>
  struct Taken {
    std::vector<T> values;
    TensorShape shape;
  };

  /// Take an array of this type and number of dimensions.
  template <class T>
  [[nodiscard]] Taken<T> take(const std::string& name, std::size_t dimensions) {
    Tensor tensor = take_bytes(name, tensor_type_of<T>(), dimensions);
    std::vector<T> values(tensor.bytes.size() / sizeof(T));
    // Copy, because the bytes may be unaligned.
    copy_bytes(tensor.bytes, values.data());
    return {std::move(values), std::move(tensor.shape)};
  }
  template <class T>
  [[nodiscard]] std::vector<T> take(const std::string& name) {
    return take<T>(name, 1).values;
  }

  /// Whether a text of this name has not been taken.
  [[nodiscard]] bool has_text(const std::string& name) const { return texts_.contains(name); }

  /// Whether an array of this name has not been taken.
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Throw if any entry has not been taken.
  void expect_nothing_left() const;

 private:
  struct Tensor {
    TensorType type;
    TensorShape shape;
    std::span<const std::byte> bytes;
  };

  [[nodiscard]] Tensor take_bytes(const std::string& name, TensorType type, std::size_t dimensions);
  static void copy_bytes(std::span<const std::byte> bytes, void* to);

  std::map<std::string, std::string> texts_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace widthwise::internal
