#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <widthwise/level.hpp>

namespace widthwise {

/// What a confidence level means for a calibrated model, and so which of n calibration scores bounds an interval
/// (docs/mathematics.md).
/// - Marginal, the default: if new rows are exchangeable with the calibration rows, an interval of level 0.9 contains
///   the outcome with probability at least 0.9, on average over calibration sets and new rows.
/// - Training-conditional (PAC) with a confidence such as 0.95: if calibration rows and new rows are independent draws
///   of one distribution, with probability at least 0.95 over calibration sets this one calibrated model covers at
///   least 0.9 of new rows.
/// With groups, either holds for each group by itself.
class Guarantee {
 public:
  /// The marginal guarantee.
  Guarantee() = default;

  /// The training-conditional guarantee with this confidence.
  explicit Guarantee(const Level& confidence) : confidence_(confidence) {}

  /// Read "marginal", or a confidence such as "0.95". Throws kInvalidArgument.
  [[nodiscard]] static Guarantee parse(std::string_view text);

  [[nodiscard]] bool is_marginal() const { return !confidence_; }

  /// Empty for the marginal guarantee.
  [[nodiscard]] const std::optional<Level>& confidence() const { return confidence_; }

  /// What parse reads: "marginal" or "0.95".
  [[nodiscard]] std::string to_string() const { return confidence_ ? confidence_->to_string() : "marginal"; }

  /// Return the rank of the calibration score that bounds intervals of this level, or n + 1 when n rows are too few:
  /// then no finite interval has the guarantee. Marginal: level.rank(n), exact. Training-conditional: the smallest k
  /// with P(Bin(n, level) < k) >= confidence (Vovk 2012, Proposition 2), never less, and one more where the two sides
  /// agree to within rounding (a relative 1e-8); for n up to 10^10, else throws kInvalidArgument.
  [[nodiscard]] std::uint64_t rank(const Level& level, std::uint64_t n) const;

  /// The smallest n with rank(level, n) <= n.
  [[nodiscard]] std::uint64_t min_rows(const Level& level) const;

  friend bool operator==(const Guarantee& a, const Guarantee& b) = default;

 private:
  std::optional<Level> confidence_;
};

}  // namespace widthwise
