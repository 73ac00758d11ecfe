#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace widthwise {

/// Mix 64 bits so that similar inputs give unrelated outputs (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
/// This is a bijection: different inputs always give different outputs.
[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// Portable generator: the same seed gives the same numbers on every platform and compiler, which the distributions of
/// the standard library do not guarantee.
class Random {
 public:
  /// Equal seeds give equal numbers. Similar seeds give unrelated ones.
  explicit constexpr Random(std::uint64_t seed) : state_(mix_bits(seed + 0x9e3779b97f4a7c15U)) {}

  /// The next 64 bits, each 0 or 1 with the same probability.
  constexpr std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    return mix_bits(state_);
  }

  /// A multiple of 2^-53 in [0, 1).
  constexpr double uniform() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

  /// An integer in [0, bound), each equally likely; bound must be positive.
  constexpr std::uint64_t below(std::uint64_t bound) {
    // Reject numbers below `reject`, which would make small remainders more likely.
    const std::uint64_t reject = (0 - bound) % bound;
    std::uint64_t draw = bits();
    while (draw < reject) draw = bits();
    return draw % bound;
  }

  /// A standard normal number, computed with the polar method.
  double normal() {
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * std::sqrt(-2 * std::log(square) / square);
  }

  /// Shuffle in place; every order is equally likely.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace widthwise
