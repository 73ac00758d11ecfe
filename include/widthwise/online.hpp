#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
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

  /// How far one miss moves the level, in (0, 10], or default_step of each level. Divided by delay / 20 when outcomes
  /// come more than 20 rows late, so that no batch moves the level further than 20 rows would.
  std::optional<double> step = std::nullopt;

  /// Recent rows that quantiles are taken of (when adaptive) and that recent coverage counts, from 1 to 1,000,000. A
  /// thousand rows know a level of 0.9 to a point and hold up to level 0.999; older rows say little of a stream that
  /// drifts. Quantiles are taken of 10 delays when that is more: one batch may not be like the next.
  std::uint64_t window_rows = 1000;
};

/// The step of a level when nobody says. When adaptive, a twentieth of alpha (or of the level, if that is less): 0.005
/// at level 0.9, as the authors have it. The level forgets its past in some 200 rows and does not wander off to where
/// intervals are infinite, as the same step would at level 0.99. When decaying, the factor of (t + 100)^-0.6 in the
/// same unit of probability, 1: the less it is, the longer a change is felt, and more makes q restless without need.
[[nodiscard]] double default_step(OnlineMethod method, const Level& level);

/// How often intervals of one level covered, over all rows observed and over the last `window_rows` of them.
struct OnlineCoverage {
  std::uint64_t rows = 0;
  std::uint64_t covered = 0;        ///< rows whose outcome lies in the interval that was issued
  std::uint64_t covered_fixed = 0;  ///< what the calibration that was started from would have covered, left as it was
  std::uint64_t recent_rows = 0;
  std::uint64_t recent_covered = 0;
};

/// A batch of rows that intervals were issued for and whose outcomes are still to come.
struct PendingBatch {
  std::uint64_t number = 0;
  std::uint64_t rows = 0;
};

/// A calibration for rows that come in the order of time and need not be exchangeable: the quantiles q of the next
/// rows, at some levels, move with every outcome so that the share of misses tends to 1 - level whatever happens.
///
/// Rows are issued in batches, of one row or many; all rows of a batch get the quantiles in force. Outcomes are
/// observed later, by the number of the batch, in any order and in as many calls as there are; each is scored against
/// the quantiles that its batch was issued with. Rows that are never observed count for nothing.
///
/// The delay of a row is the number of rows issued from the first of its batch until its outcome is observed: 1 row by
/// row, b in batches of b rows observed before the next is issued. The guarantee is about the long run and holds for
/// every sequence of scores and every order of outcomes (docs/mathematics.md): after T rows observed with delays of at
/// most d, with alpha = 1 - level and s = step min(1, 20 / d),
///   adaptive:  alpha T - (1 - alpha) / s - alpha d <= misses <= alpha T + alpha / s + (1 - alpha) d
///   decaying:  |misses - alpha T| <= (b - a + eta_1 d) / eta_T   for scores in [a, b]
/// A miss is a score above q; when alpha_t >= 1 the set {B <= q} is empty, q is -infinity and every row is one. What
/// intervals report of that set is the prediction itself, so they may cover more, never less.
///
/// Invariant: the state is a function of the calibration, the options and the calls of issue, observe and drop, in
/// order; splitting a call of observe into several of the same batch changes nothing.
/// Thread safety: const methods may run concurrently; the others need exclusive access.
class OnlineCalibration {
 public:
  /// Batches that may be pending; the oldest is dropped when there are more.
  static constexpr std::size_t kMaxPendingBatches = 100'000;

  /// Begin with a model's calibration: a sample of its scores fills the window, its quantiles are the first.
  /// Throws kInvalidArgument for options or levels that cannot be, and for a calibration with groups or weights;
  /// kTooFewRows when the decaying method has no finite quantile to begin with.
  OnlineCalibration(const Calibration& calibration, std::vector<Level> levels, const OnlineOptions& options = {});

  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }
  [[nodiscard]] OnlineMethod method() const { return method_; }
  [[nodiscard]] double step(std::size_t j) const { return states_[j].step; }
  [[nodiscard]] std::uint64_t window_rows() const { return window_rows_; }

  /// Rows observed.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  /// Rows issued, and the number that the next batch will have.
  [[nodiscard]] std::uint64_t rows_issued() const { return issued_; }

  /// Rows issued whose outcomes are still to come.
  [[nodiscard]] std::uint64_t rows_pending() const;

  /// The mean delay of recent rows, weighted by age over `window_rows` rows; 0 before the first outcome.
  [[nodiscard]] double delay() const { return delay_; }

  /// The greatest delay so far: the d of the guarantee.
  [[nodiscard]] std::uint64_t longest_delay() const { return longest_delay_; }

  /// The q of the next row at level j: +infinity for the whole line, -infinity for the prediction alone.
  [[nodiscard]] double quantile(std::size_t j) const;

  /// The same for all k levels, to out (k).
  void quantiles(std::span<double> out) const;

  /// The rate of misses that level j aims at next, alpha_t: 1 - level when decaying.
  [[nodiscard]] double miss_rate(std::size_t j) const;

  /// Record that `rows` rows, at least 1, are given intervals at the quantiles in force. Returns the batch's number:
  /// rows issued before it.
  std::uint64_t issue(std::uint64_t rows);

  /// Batches with outcomes still to come, oldest first.
  [[nodiscard]] std::vector<PendingBatch> pending() const;

  /// Write the k quantiles that a pending batch was issued with to out (k). Throws kInvalidArgument when it is not
  /// pending.
  void issued_quantiles(std::uint64_t batch, std::span<double> out) const;

  /// Learn the scores B of n rows of a batch, all or some of those pending. `covered` (n x k) says whether each outcome
  /// lies in the interval issued at each level, 1 or 0; without it, whether the score is not above the quantile.
  /// Throws kInvalidArgument when the batch has fewer rows pending, kNotFinite for NaN; then nothing is learnt.
  void observe(std::uint64_t batch, std::span<const double> scores, std::span<const std::uint8_t> covered = {});

  /// Issue one row and observe it at once. O(window) at worst, moves of memory. Throws kNotFinite for NaN.
  void observe(double score);

  /// Give up the outcomes that are pending of a batch. Throws kInvalidArgument when it is not pending.
  void drop(std::uint64_t batch);

  [[nodiscard]] OnlineCoverage coverage(std::size_t j) const;

  /// The bytes of this state, with a checksum: equal for equal states.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read them back; throws kBadData, saying what is wrong, for anything serialise cannot have written.
  [[nodiscard]] static OnlineCalibration deserialise(std::span<const std::byte> bytes);

  friend bool operator==(const OnlineCalibration& a, const OnlineCalibration& b) {
    return a.serialise() == b.serialise();
  }

 private:
  struct LevelState {
    double step = 0;
    double fixed = 0;  // the quantile of the calibration that was started from
    double q = 0;      // of the next row; when decaying
    double scale = 0;  // scores for one unit of probability, near the level; when decaying
    std::uint64_t misses = 0;
    std::uint64_t misses_fixed = 0;
    std::uint64_t covered = 0;        // rows inside their intervals as issued
    std::deque<std::uint8_t> recent;  // 1 for a row outside
    std::uint64_t recent_outside = 0;

    void note(bool is_covered, std::uint64_t window_rows);
  };

  /// A set {B <= q}, or none at all.
  struct IssuedLevel {
    double q = 0;
    bool empty = false;
  };

  struct Issued {
    std::uint64_t rows = 0;  // pending
    std::vector<IssuedLevel> levels = {};
  };

  struct Reader;

  OnlineCalibration() = default;

  void check_options() const;
  [[nodiscard]] double excess(std::size_t j) const;
  [[nodiscard]] double pace() const;
  [[nodiscard]] std::uint64_t window_capacity() const;
  [[nodiscard]] const Issued& pending_batch(std::uint64_t batch) const;
  [[nodiscard]] bool is_row_by_row() const;
  void check_places(std::size_t places) const;
  void note_delay(std::uint64_t delay);
  void learn(std::size_t j, bool missed, bool covered);
  void keep(double score, bool sorted);

  OnlineMethod method_ = OnlineMethod::kAdaptive;
  std::uint64_t window_rows_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t issued_ = 0;
  double delay_ = 0;
  double slowest_ = 0;  // the greatest delay_ so far
  std::uint64_t longest_delay_ = 0;
  std::vector<Level> levels_;
  std::vector<LevelState> states_;           // one a level
  std::deque<double> scores_;                // the window, oldest first; when adaptive
  std::vector<double> sorted_;               // the same, ascending
  std::map<std::uint64_t, Issued> pending_;  // by number
};

}  // namespace widthwise
