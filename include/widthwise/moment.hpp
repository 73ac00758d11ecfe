#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace widthwise {

/// A number or a date, in an order without rounding: every two dates that differ by an attosecond or more, and every
/// two integers of 64 bits, are distinct. A double alone rounds integers above 2^53 and, in seconds, dates to about 100
/// ns.
struct Moment {
  double number = 0;      ///< the number, or the seconds since 1970, rounded to a double
  std::int64_t rest = 0;  ///< of an integer, or of the seconds: what the double leaves out
  std::int64_t atto = 0;  ///< of a date: attoseconds after the second

  /// An integer, or seconds since 1970 with attoseconds (1e-18 s).
  [[nodiscard]] static Moment of(std::int64_t seconds, std::int64_t atto = 0);
  /// An integer of 64 bits without a sign.
  [[nodiscard]] static Moment of(std::uint64_t integer);

  friend auto operator<=>(const Moment& a, const Moment& b) = default;  ///< earlier moments are less; not of NaN
};

/// The moment of an ISO 8601 date, such as 2013-01, 2013-01-31, 2013-01-31T05, 2013-01-31 05:00 or
/// 2013-01-31T05:00:30.5+01:00; empty for other text. A time without an offset is taken as UTC. Digits after the
/// attoseconds are ignored.
[[nodiscard]] std::optional<Moment> moment_of_date(std::string_view text);

/// The ranks of moments among the distinct ones, from 0: numbers in the same order, for FitTable::times.
[[nodiscard]] std::vector<double> ranks_of(std::span<const Moment> moments);

}  // namespace widthwise
