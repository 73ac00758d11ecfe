#pragma once

#include <bit>
#include <cstdint>
#include <iterator>

#include <widthwise/random.hpp>

#include "support/numbers.hpp"

namespace widthwise {

/// Replace a word of a serialised state by one that a hostile file might have: an unusual number, a small integer, the
/// word with a flipped bit, or a neighbour of it.
inline void forge_word(std::uint64_t& word, Random& random) {
  constexpr double kNumbers[] = {0.0, -0.0, 1.0, -1.0, kInfinity, -kInfinity, kNaN, 1e300, 1e-300};
  switch (random.below(4)) {
    case 0:
      word = std::bit_cast<std::uint64_t>(kNumbers[random.below(std::size(kNumbers))]);
      break;
    case 1:
      word = random.below(200);
      break;
    case 2:
      word ^= std::uint64_t{1} << random.below(64);
      break;
    default:
      word += random.below(2) == 0 ? 1 : ~std::uint64_t{0};
  }
}

}  // namespace widthwise
