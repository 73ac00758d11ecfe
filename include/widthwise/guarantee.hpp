#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <widthwise/level.hpp>

namespace widthwise {

/// The meaning of a confidence level for a calibrated model. It determines which of the n calibration scores bounds an
/// interval (docs/mathematics.md).
/// - Marginal, the default: if new rows are exchangeable with the calibration rows, an interval of level 0.9 contains
///   the outcome with probability at least 0.9, on average over calibration sets and new rows.
/// - Training-conditional (PAC) with a confidence such as 0.95: if calibration rows and new rows are independent draws
///   of one distribution, then with probability at least 0.95 over calibration sets this one calibrated model covers at
///   least 0.9 of new rows.
/// With groups, the guarantee holds for each group separately.
class Guarantee {
 public:
  /// The marginal guarantee.
  Guarantee() = default;

  /// The training-conditional guarantee with this confidence.
  explicit Guarantee(const Level& confidence) : confidence_(confidence) {}

  /// Parse "marginal", or a confidence such as "0.95". Throws kInvalidArgument.
  [[nodiscard]] static Guarantee parse(std::string_view text);

  [[nodiscard]] bool is_marginal() const { return !confidence_; }  ///< if not, training-conditional

  /// Empty for the marginal guarantee.
  [[nodiscard]] const std::optional<Level>& confidence() const { return confidence_; }

  /// The text that parse reads: "marginal" or "0.95".
  [[nodiscard]] std::string to_string() const { return confidence_ ? confidence_->to_string() : "marginal"; }

  /// Return the rank of the calibration score that bounds intervals of this level, or n + 1 if n rows are too few for a
  /// finite interval. Marginal: level.rank(n), exact. Training-conditional: the smallest k with
  /// P(Bin(n, level) < k) >= confidence (Vovk 2012, Proposition 2), or the next k if both sides agree to within
  /// rounding (a relative 1e-8). Throws kInvalidArgument for n above 10^10.
  [[nodiscard]] std::uint64_t rank(const Level& level, std::uint64_t n) const;

  /// The smallest n with rank(level, n) <= n.
  [[nodiscard]] std::uint64_t min_rows(const Level& level) const;

  /// The highest level that `rows` calibration rows make finite: n / (n + 1), or with a confidence c the level of which
  /// level^n = 1 - c.
  [[nodiscard]] double max_level(std::uint64_t rows) const;

  friend bool operator==(const Guarantee& a, const Guarantee& b) = default;  ///< same kind and confidence

 private:
  std::optional<Level> confidence_;
};

}  // namespace widthwise
