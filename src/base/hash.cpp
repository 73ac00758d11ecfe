#include "base/hash.hpp"

#define XXH_INLINE_ALL  // header-only: no library at run time, no exported symbols
#include <xxhash.h>

namespace widthwise::internal {

std::uint64_t checksum_of(std::initializer_list<std::span<const std::byte>> pieces) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const std::span<const std::byte> piece : pieces) XXH3_64bits_update(&state, piece.data(), piece.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace widthwise::internal
