#pragma once

#include <utility>
#include <vector>

#include "base/words.hpp"
#include "support/sealing.hpp"
#include "target.hpp"

namespace widthwise::fuzz {

/// The same 64-bit words with a correct checksum, so that the code after the checksum test is reached as well.
inline std::vector<std::byte> sealed_words(std::span<const std::byte> bytes) {
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  internal::seal_words(sealed);
  return sealed;
}

/// The bytes of a safetensors file, as given and with correct checksums.
inline std::vector<std::vector<std::byte>> as_given_and_sealed(std::span<const std::uint8_t> data) {
  const auto bytes = std::as_bytes(data);
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  examples::seal_file(sealed);
  return {{bytes.begin(), bytes.end()}, std::move(sealed)};
}

/// Read the bytes as given, and again with the correct checksum. Bytes that are accepted must be written unchanged.
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
