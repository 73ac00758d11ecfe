#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/level.hpp>

namespace widthwise {

/// How intervals follow a stream. Numbered for ever: files hold them.
enum class OnlineMethod {
  /// Move the level (Gibbs and Candes 2021): a miss lowers the rate of misses aimed at, alpha_t, a hit raises it,
  /// alpha_{t+1} = alpha_t + step (alpha - err_t), and q is the quantile of that rate in a window of recent scores.
  /// Follows drift for ever.
  kAdaptive = 0,
  /// Move q itself by steps that shrink (Angelopoulos, Barber and Bates 2024): q_{t+1} = q_t + eta_t (err_t - alpha).
  /// Settles when the stream does, and is the slower to follow the longer it has run.
  kDecaying = 1,
};

/// "adaptive", "decaying".
[[nodiscard]] std::string_view name_of(OnlineMethod method);
/// Throws kInvalidArgument for another name.
[[nodiscard]] OnlineMethod online_method_of(std::string_view name);

struct OnlineOptions {
  OnlineMethod method = OnlineMethod::kAdaptive;

  /// How far one miss moves the level, in (0, 10], or default_step of each level.
  std::optional<double> step = std::nullopt;

  /// Recent rows that quantiles are taken of (when adaptive) and that recent coverage counts, from 1 to 1,000,000. A
  /// thousand rows know a level of 0.9 to a point and hold up to level 0.999; older rows say little of a stream that
  /// drifts.
  std::uint64_t window = 1000;
};

/// The step of a level when nobody says. When adaptive, a twentieth of alpha (or of the level, if that is less): 0.005
/// at level 0.9, as the authors have it. The level forgets its past in some 200 rows and does not wander off to where
/// intervals are infinite, as the same step would at level 0.99. When decaying, the factor of (t + 100)^-0.6 in the
/// same unit of probability, 1: the less it is, the longer a change is felt, and more makes q restless without need.
[[nodiscard]] double default_step(OnlineMethod method, const Level& level);

/// How often intervals of one level covered, over all rows observed and over the last `window` of them.
struct OnlineCoverage {
  std::uint64_t rows = 0;
  std::uint64_t covered = 0;
  std::uint64_t covered_fixed = 0;  ///< what the calibration that was started from would have covered, left as it was
  std::uint64_t recent_rows = 0;
  std::uint64_t recent_covered = 0;
};

/// A calibration for rows that come in the order of time and need not be exchangeable: the quantile q for the next row,
/// at some levels, moves with every outcome so that the share of misses tends to 1 - level whatever happens.
///
/// The promise is about the long run and holds for every sequence of scores (docs/mathematics.md): after T rows, with
/// alpha = 1 - level,
///   adaptive:  |misses / T - alpha| <= (max(alpha, 1 - alpha) + step) / (step T)
///   decaying:  |misses / T - alpha| <= (b - a + eta_1) / (eta_T T)   for scores in [a, b]
/// A miss is a score above q; when alpha_t >= 1 the set {B <= q} is empty, q is -infinity and every row is one. What
/// intervals report of that set is the prediction itself, so they may cover more, never less.
///
/// Invariant: the state is a function of the calibration, the options and the scores observed, in order.
/// Thread safety: const methods may run concurrently; observe needs exclusive access.
class OnlineCalibration {
 public:
  /// Begin with a model's calibration: a sample of its scores fills the window, its quantiles are the first.
  /// Throws kInvalidArgument for options or levels that cannot be, and for a calibration with groups or weights;
  /// kTooFewRows when the decaying method has no finite quantile to begin with.
  OnlineCalibration(const Calibration& calibration, std::vector<Level> levels, const OnlineOptions& options = {});

  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }
  [[nodiscard]] OnlineMethod method() const { return method_; }
  [[nodiscard]] double step(std::size_t j) const { return states_[j].step; }
  [[nodiscard]] std::uint64_t window() const { return window_; }

  /// Rows observed.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  /// The q of the next row at level j: +infinity for the whole line, -infinity for the prediction alone.
  [[nodiscard]] double quantile(std::size_t j) const;

  /// The same for all k levels, to out (k).
  void quantiles(std::span<double> out) const;

  /// The rate of misses that level j aims at next, alpha_t: 1 - level when decaying.
  [[nodiscard]] double miss_rate(std::size_t j) const;

  /// Learn the score B of the next row. O(window) at worst, moves of memory. Throws kNotFinite for NaN.
  void observe(double score);

  [[nodiscard]] OnlineCoverage coverage(std::size_t j) const;

  /// The bytes of this state, with a checksum: equal for equal states.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read them back; throws kBadData, saying what is wrong, for anything serialise cannot have written.
  [[nodiscard]] static OnlineCalibration deserialise(std::span<const std::byte> bytes);

  friend bool operator==(const OnlineCalibration& a, const OnlineCalibration& b) {
    return a.serialise() == b.serialise();
  }

 private:
  /// The last values, up to a capacity.
  template <class T>
  struct Ring {
    std::vector<T> values;
    std::size_t oldest = 0;

    /// The i-th oldest.
    [[nodiscard]] const T& operator[](std::size_t i) const { return values[(oldest + i) % values.size()]; }
    /// Add a value; return the one that had to go.
    std::optional<T> push(T value, std::uint64_t capacity);
  };

  struct LevelState {
    double step = 0;
    double fixed = 0;  // the quantile of the calibration that was started from
    double q = 0;      // of the next row; when decaying
    double scale = 0;  // scores for one unit of probability, near the level; when decaying
    std::uint64_t misses = 0;
    std::uint64_t misses_fixed = 0;
    Ring<std::uint8_t> recent;  // 1 for a miss
  };

  OnlineCalibration() = default;

  void check_options() const;
  [[nodiscard]] double excess(std::size_t j) const;

  OnlineMethod method_ = OnlineMethod::kAdaptive;
  std::uint64_t window_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<Level> levels_;
  std::vector<LevelState> states_;  // one a level
  Ring<double> scores_;             // the window; when adaptive
  std::vector<double> sorted_;      // the same, ascending
};

}  // namespace widthwise
