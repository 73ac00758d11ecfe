#pragma once

#include <cstring>
#include <vector>

#include "target.hpp"
#include "words.hpp"

namespace widthwise::fuzz {

/// The same 64-bit words with the checksum that they should have, so that what lies behind its check is tested as well.
inline std::vector<std::byte> sealed_words(std::span<const std::byte> bytes) {
  const std::size_t words = bytes.size() / internal::kWordBytes;
  if (words == 0) return {};
  internal::WordWriter writer(words - 1);
  for (std::size_t i = 0; i + 1 < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * internal::kWordBytes, internal::kWordBytes);
    writer.put(word);
  }
  return std::move(writer).finish();
}

/// The bytes of a safetensors file, and the same with the right checksum.
inline std::vector<std::vector<std::byte>> as_given_and_sealed(std::span<const std::uint8_t> data) {
  const auto bytes = std::as_bytes(data);
  return {{bytes.begin(), bytes.end()}};
}

/// Read the bytes as they are, and again with the right checksum. What is read must be written as it was, or refused.
template <class Thing, class Use>
void read_words(const std::uint8_t* data, std::size_t size, const Use& use) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  (void)accepted([&] { (void)Thing::deserialise(bytes); });
  (void)accepted([&] {
    const Thing thing = Thing::deserialise(sealed_words(bytes));
    const std::vector<std::byte> written = thing.serialise();
    require(Thing::deserialise(written).serialise() == written, "what is written reads back");
    use(thing);
  });
}

}  // namespace widthwise::fuzz
