#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace widthwise {

/// Maximum number of levels of one model or one command; every row has two bounds per level.
inline constexpr std::size_t kMaxLevels = 1000;

/// A confidence level, strictly between 0 and 1, stored exactly as the decimal that was written: 0.9 is 9/10, not the
/// double 0.90000000000000002. Ranks computed from it are exact: for level 0.9 and 9 rows the rank is 9 and never 10.
class Level {
 public:
  /// Use the shortest decimal that reads back as this double: Level(0.9) is 9/10. Throws kInvalidArgument outside
  /// (0, 1), and if that decimal has more than 19 digits after the point.
  Level(double value);  // NOLINT(google-explicit-constructor): a level is written as a number

  /// Parse a decimal such as "0.95", ".5" or "1e-3" with at most 19 digits after the point, not counting trailing
  /// zeros.
  [[nodiscard]] static Level parse(std::string_view text);

  /// "; did you mean 0.9?" for a percentage such as "90" or "90%"; otherwise empty.
  [[nodiscard]] static std::string suggestion(std::string_view text);

  /// 1 - level, computed exactly.
  [[nodiscard]] Level complement() const { return {denominator_ - numerator_, denominator_}; }

  [[nodiscard]] std::uint64_t numerator() const { return numerator_; }      ///< in lowest terms; 9 for 0.9
  [[nodiscard]] std::uint64_t denominator() const { return denominator_; }  ///< in lowest terms; 10 for 0.9

  /// The double nearest to the level: Level(x).value() == x.
  [[nodiscard]] double value() const;

  /// The decimal, in full and without trailing zeros: "0.95".
  [[nodiscard]] std::string to_string() const;

  /// Return ceil((n + 1) level), the rank of the calibration score that bounds the interval. It is n + 1 if n rows are
  /// too few for the level, in which case no finite interval is valid. Exact for every n.
  [[nodiscard]] std::uint64_t rank(std::uint64_t n) const;

  /// The smallest n with (n + new_weight) level <= n: how many rows of weight 1 are enough for a new row of this
  /// weight. With a weight of 1, the smallest n with rank(n) <= n. The largest integer if it needs more than 64 bits.
  [[nodiscard]] std::uint64_t min_rows(std::uint64_t new_weight = 1) const;

  friend bool operator==(const Level& a, const Level& b) = default;         ///< exact
  friend std::strong_ordering operator<=>(const Level& a, const Level& b);  ///< by value, exact

 private:
  Level(std::uint64_t numerator, std::uint64_t denominator);

  // In lowest terms.
  std::uint64_t numerator_;
  std::uint64_t denominator_;
};

}  // namespace widthwise
