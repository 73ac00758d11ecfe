#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// Compile a function for any x86-64, for AVX2 and for AVX-512, selected when the program starts. Without fused
/// multiply-add all three round identically and give the same bits. Sanitizers cannot instrument the resolver.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDTHWISE_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define WIDTHWISE_VECTORISED
#endif

namespace widthwise::internal {

/// Beyond +-700 the exponential is clipped to e^+-700: positive and finite, so that no quotient or product of two of
/// them with ordinary numbers is NaN. Scores and intervals use the same function, so clipping does not affect validity.
inline constexpr double kExponentBound = 700;

/// Return e^x for |x| <= 700, the value at the bound beyond, NaN for NaN; within 2 units in the last place.
///
/// Written without branches, tables or calls, so that loops over it are vectorised.
[[gnu::always_inline]] inline double bounded_exp(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 21 low bits are zero: k * kLn2High is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  x = x < -kExponentBound ? -kExponentBound : x;
  x = x > kExponentBound ? kExponentBound : x;
  const double shifted = x * kLog2E + kRound;
  const double k = shifted - kRound;
  const double t = (x - k * kLn2High) - k * kLn2Low;  // |t| <= ln(2) / 2
  // s = (e^t - 1 - t) / t^2, interpolated at the Chebyshev points of |t| <= 0.3466, with an error of a sixth of a unit
  // in the last place of e^t. Summed in pairs, because one long chain would wait for each multiplication.
  const double t2 = t * t;
  const double t4 = t2 * t2;
  const double low =
      (0x1.0000000000001p-1 + 0x1.5555555555556p-3 * t) + (0x1.5555555553d64p-5 + 0x1.11111111109b4p-7 * t) * t2;
  const double middle =
      (0x1.6c16c1788b646p-10 + 0x1.a01a01a7c3d59p-13 * t) + (0x1.a019b90eefe8ep-16 + 0x1.71de0daf7a6ccp-19 * t) * t2;
  const double high = 0x1.2891834686c7ep-22 + 0x1.af38a71a18cb9p-26 * t;
  const double s = low + t4 * (middle + t4 * high);
  const double e = 1.0 + (t + t2 * s);
  const auto scale = std::bit_cast<std::uint64_t>(shifted) << 52U;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(e) + scale);
}

/// Inverses are rounded up by this relative amount, which exceeds the rounding error of value().
inline constexpr double kRoundingSlack = 4 * std::numeric_limits<double>::epsilon();

/// Move x up by the slack, for either sign; infinities and NaN are unchanged.
[[gnu::always_inline]] inline double rounded_up(double x) {
  const double high = x * (1 + kRoundingSlack);
  const double low = x * (1 - kRoundingSlack);
  return high > low ? high : low;
}

/// Move x down by the slack, for either sign; infinities and NaN are unchanged.
[[gnu::always_inline]] inline double rounded_down(double x) { return -rounded_up(-x); }

/// Return the a with a / scale + c = b, rounded up twice: for b, which was rounded, and for the result.
[[gnu::always_inline]] inline double affine_inverse(double b, double scale, double c) {
  return rounded_up(scale * (rounded_up(b) - c));
}

/// The same, rounded down twice.
[[gnu::always_inline]] inline double affine_inverse_down(double b, double scale, double c) {
  return rounded_down(scale * (rounded_down(b) - c));
}

/// out = e^x, element by element; x and out may be the same.
void exp_all(std::span<const double> x, std::span<double> out);

/// out = a / e^v + c, row by row.
void affine_values(const double* a, const double* v, const double* c, std::size_t n, double* out);

/// out = affine_inverse(b, e^v, c), row by row.
void affine_inverses(double b, const double* v, const double* c, std::size_t n, double* out);

/// Sums use this many lanes, so that the order of additions does not depend on the vector width of the machine; this
/// also gives smaller rounding errors than one running sum.
inline constexpr std::size_t kLanes = 8;

/// Loops work on blocks that stay in the first-level cache.
inline constexpr std::size_t kBlock = 512;

/// Adds many numbers, in lanes.
class LaneSum {
 public:
  [[gnu::always_inline]] void add(const double* values, std::size_t n) {
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes_[lane] += values[i + lane];
    }
    for (std::size_t lane = 0; i < n; ++i, ++lane) lanes_[lane] += values[i];
  }

  [[nodiscard]] double total() const {
    return ((lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])) + ((lanes_[4] + lanes_[5]) + (lanes_[6] + lanes_[7]));
  }

 private:
  double lanes_[kLanes] = {};
};

/// Outputs of at least this many bytes do not stay in the cache; bypassing it avoids reading them first.
inline constexpr std::size_t kStreamedBytes = std::size_t{1} << 24;

/// Copy n numbers, bypassing the cache if the machine supports it, for outputs of at least kStreamedBytes.
void stream_out(const double* from, std::size_t n, double* to);

/// Make streamed numbers visible to other threads. Call once, after the last copy.
void end_streaming();

}  // namespace widthwise::internal
