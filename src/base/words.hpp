#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"

/// Serialisation as 64-bit words with a trailing checksum, used for calibrations, online states and sketches.
namespace widthwise::internal {

inline constexpr std::size_t kWordBytes = 8;

/// Why bytes of a later format are refused. `what` is "format" or names whose format it is.
[[nodiscard]] inline std::string newer_format(std::string_view what, std::uint64_t found, std::uint64_t known) {
  return fmt::format("{} {} is newer than this program ({}); update widthwise", what, found, known);
}

/// Number of words for one bit per row of n rows.
[[nodiscard]] inline std::size_t bit_words(std::size_t n) { return n / 64 + (n % 64 == 0 ? 0 : 1); }

/// Word `index`, low byte first.
[[nodiscard]] inline std::uint64_t load_word(std::span<const std::byte> bytes, std::size_t index) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWordBytes; ++i) {
    word |= std::to_integer<std::uint64_t>(bytes[index * kWordBytes + i]) << (8 * i);
  }
  return word;
}

inline void store_word(std::span<std::byte> bytes, std::size_t index, std::uint64_t word) {
  for (std::size_t i = 0; i < kWordBytes; ++i) bytes[index * kWordBytes + i] = static_cast<std::byte>(word >> (8 * i));
}

/// The checksum of all words but the last, which contains it. It is a chain of bijections, so every change of a single
/// word is detected.
[[nodiscard]] inline std::uint64_t checksum_of_words(std::span<const std::byte> bytes) {
  std::uint64_t checksum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size() / kWordBytes; ++i) checksum = mix_bits(checksum ^ load_word(bytes, i));
  return checksum;
}

/// Write the correct checksum into the last word. Tests use it after they change words.
inline void seal_words(std::span<std::byte> bytes) {
  if (bytes.size() < kWordBytes) return;
  store_word(bytes, bytes.size() / kWordBytes - 1, checksum_of_words(bytes));
}

/// Writes 64-bit words, low byte first, followed by their checksum.
class WordWriter {
 public:
  explicit WordWriter(std::size_t words) : bytes_((words + 1) * kWordBytes) {}

  void put(std::uint64_t word) { store_word(bytes_, position_++, word); }
  void put(double number) { put(std::bit_cast<std::uint64_t>(number)); }

  /// n bits, bit(i) each, in bit_words(n) words.
  template <class Bit>
  void put_bits(std::size_t n, const Bit& bit) {
    for (std::size_t i = 0; i < n; i += 64) {
      std::uint64_t bits = 0;
      for (std::size_t j = i; j < n && j < i + 64; ++j) bits |= std::uint64_t{bit(j)} << (j - i);
      put(bits);
    }
  }

  [[nodiscard]] std::vector<std::byte> finish() && {
    seal_words(bytes_);
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
};

/// Reads the words of a WordWriter with bounds checks. Errors are kBadData and begin with `where`.
class WordReader {
 public:
  WordReader(std::span<const std::byte> bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {
    check(!bytes.empty() && bytes.size() % kWordBytes == 0,
          fmt::format("expected whole 64-bit words, found {} bytes", bytes.size()));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw make_error(ErrorCode::kBadData, "{}: {}", where_, what);
  }
  void check(bool holds, const std::string& what) const {
    if (!holds) refuse(what);
  }

  /// Number of words left before the checksum.
  [[nodiscard]] std::size_t words_left() const { return bytes_.size() / kWordBytes - 1 - next_; }

  std::uint64_t get() {
    if (words_left() == 0) refuse("unexpected end of the bytes");
    return load(next_++);
  }
  double get_number() { return std::bit_cast<double>(get()); }

  /// Pass n bits to set(i, bit); false if a padding bit is not 0.
  template <class Set>
  [[nodiscard]] bool get_bits(std::size_t n, const Set& set) {
    for (std::size_t i = 0; i < n; i += 64) {
      const std::uint64_t bits = get();
      const std::size_t used = n - i < 64 ? n - i : 64;
      for (std::size_t j = 0; j < used; ++j) set(i + j, ((bits >> j) & 1U) != 0);
      if (used < 64 && bits >> used != 0) return false;
    }
    return true;
  }

  /// Check that the first two words are these.
  void expect_header(std::uint64_t magic, std::uint64_t format, const char* thing) {
    if (get() != magic) refuse(std::string("invalid bytes: expected ") + thing);
    const std::uint64_t found = get();
    if (found > format) refuse(newer_format("format", found, format));
    if (found != format) refuse(fmt::format("expected format {}, found {}", format, found));
  }

  void verify_checksum() const {
    const std::size_t last = bytes_.size() / kWordBytes - 1;
    if (checksum_of_words(bytes_) != load(last)) refuse("checksum mismatch: the bytes are damaged or truncated");
  }

 private:
  [[nodiscard]] std::uint64_t load(std::size_t index) const { return load_word(bytes_, index); }

  std::span<const std::byte> bytes_;
  std::string where_;
  std::size_t next_ = 0;
};

}  // namespace widthwise::internal
