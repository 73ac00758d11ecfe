#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Safetensors: an 8-byte little-endian length, a JSON header of that length with texts ("__metadata__") and the type,
/// shape and place of every array, then the arrays. Read by many tools, and nothing in it can be executed.
///
/// A sealed file has the text "checksum": 16 hexadecimal digits, the checksum (checksum.hpp) of all bytes of the file
/// with these digits taken as zeros.
namespace widthwise::internal {

/// The types of numbers that model files hold; there are more in the wild.
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

/// Collects texts and arrays, and makes a file of them. The same contents give the same bytes, whatever the order they
/// came in. Arrays stand at multiples of the size of their numbers.
class SafetensorsWriter {
 public:
  /// Names and texts are UTF-8, each name once.
  void put_text(const std::string& name, std::string text);

  template <class T>
  void put(const std::string& name, const std::vector<T>& values) {
    put(name, values, {values.size()});
  }
  template <class T>
  void put(const std::string& name, const std::vector<T>& values, TensorShape shape) {
    put(name, std::span<const T>(values), std::move(shape));
  }
  /// `shape` multiplies to the size of `values`.
  template <class T>
  void put(const std::string& name, std::span<const T> values, TensorShape shape) {
    put_bytes(name, tensor_type_of<T>(), std::move(shape), std::as_bytes(values));
  }

  /// Throws kInvalidArgument when a name or text is not UTF-8.
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

/// Write the right checksum into a file in memory that has a place for one; return whether it has. A file is sealed
/// when it is written, and again by tests that change its bytes and want them to be read.
bool seal(std::span<std::byte> file);

/// Reads a file in memory, trusting nothing: header, types, shapes and places are checked before anything is used.
/// What is taken is gone, so that what nobody took can be found. Errors are kBadData and say what is wrong.
/// Invariant: every array lies within the bytes, which must outlive this; together they fill them without a gap.
class SafetensorsReader {
 public:
  explicit SafetensorsReader(std::span<const std::byte> bytes);

  /// The same of a sealed file, after its checksum is verified. `advice` ends the message about a damaged one.
  [[nodiscard]] static SafetensorsReader sealed(std::span<const std::byte> bytes, const std::string& advice);

  /// The texts alone, also of a file whose arrays this version would refuse.
  [[nodiscard]] static std::map<std::string, std::string> texts_of(std::span<const std::byte> bytes);

  [[nodiscard]] std::optional<std::string> take_text_if_any(const std::string& name);
  [[nodiscard]] std::string take_text(const std::string& name);

  /// The texts whose names begin so, without that beginning.
  [[nodiscard]] std::map<std::string, std::string> take_texts(std::string_view beginning);

  template <class T>
  struct Taken {
    std::vector<T> values;
    TensorShape shape;
  };

  /// An array of this type and number of dimensions.
  template <class T>
  [[nodiscard]] Taken<T> take(const std::string& name, std::size_t dimensions) {
    Tensor tensor = take_bytes(name, tensor_type_of<T>(), dimensions);
    std::vector<T> values(tensor.bytes.size() / sizeof(T));
    // Not a cast: the bytes may stand anywhere.
    copy_bytes(tensor.bytes, values.data());
    return {std::move(values), std::move(tensor.shape)};
  }
  template <class T>
  [[nodiscard]] std::vector<T> take(const std::string& name) {
    return take<T>(name, 1).values;
  }

  /// Whether there is an array of this name that nobody took.
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }

  /// Throw when anything is left that nobody took.
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
