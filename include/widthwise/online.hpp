#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/exchangeability.hpp>
#include <widthwise/level.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

namespace internal {
class WordWriter;
}  // namespace internal

/// How the quantile is updated. The numbers are stored in files and never change.
enum class OnlineMethod {
  /// Adapt the level (Gibbs and Candes 2021): a miss lowers the target miss rate alpha_t, and a hit raises it,
  /// alpha_{t+1} = alpha_t + step (alpha - err_t). q is the quantile of that rate in a window of recent scores.
  /// Tracks drift indefinitely.
  kAdaptive = 0,
  /// Move q itself with decreasing steps (Angelopoulos, Barber and Bates 2024): q_{t+1} = q_t + eta_t (err_t - alpha).
  /// Converges on a stable stream, and reacts more slowly the longer it has run.
  kDecaying = 1,
};

/// "adaptive", "decaying".
[[nodiscard]] std::string_view name_of(OnlineMethod method);
/// Throws kInvalidArgument for another name.
[[nodiscard]] OnlineMethod online_method_of(std::string_view name);

/// Options of OnlineCalibration.
struct OnlineOptions {
  OnlineMethod method = OnlineMethod::kAdaptive;  ///< cannot change within a stream

  /// Step of the level per miss, in (0, 10]; empty: default_step of each level. Divided by delay / 20 if outcomes are
  /// more than 20 rows late, so that a batch moves the level no further than 20 rows would.
  std::optional<double> step = std::nullopt;

  /// Number of recent rows for the quantiles (adaptive method) and for the recent coverage, from 1 to 1,000,000. A
  /// thousand rows estimate a level of 0.9 to a percentage point and support levels up to 0.999; older rows are of
  /// little use for a drifting stream. Quantiles use 10 mean delays if that is more, because one batch may differ from
  /// the next.
  std::uint64_t window_rows = 1000;

  /// Maximum probability of an alarm if the stream is exchangeable with the calibration rows, in (0, 1); 0: no alarm.
  double false_alarm_rate = ExchangeabilityOptions{}.false_alarm_rate;
};

/// The default step of a level. Adaptive: a twentieth of alpha (or of the level, if that is smaller), which is 0.005 at
/// level 0.9 as in the paper. The level then has a memory of about 200 rows. A constant step of 0.005 would often make
/// intervals infinite at level 0.99. Decaying: 1, the factor of (t + 100)^-0.6 in units of probability; smaller values
/// react more slowly to a change, larger ones make q fluctuate.
[[nodiscard]] double default_step(OnlineMethod method, const Level& level);

/// Coverage of the intervals of one level, over all observed rows and over the last `window_rows` of them.
struct OnlineCoverage {
  std::uint64_t rows = 0;            ///< observed rows, which all counts refer to
  std::uint64_t covered = 0;         ///< rows whose outcome lies in the issued interval
  std::uint64_t covered_fixed = 0;   ///< rows that the initial calibration would have covered
  std::uint64_t recent_rows = 0;     ///< observed rows among the last `window_rows`; fewer at the start
  std::uint64_t recent_covered = 0;  ///< those of them in their issued interval
};

/// A batch of rows with issued intervals whose outcomes are not yet observed.
struct PendingBatch {
  std::uint64_t number = 0;  ///< that issue returned, for observe and drop
  std::uint64_t rows = 0;    ///< rows whose outcomes are still missing
};

/// A calibration for rows in time order, which need not be exchangeable: the quantiles q of the next rows are updated
/// after every outcome, so that the share of misses tends to 1 - level for every sequence of outcomes.
///
/// Rows are issued in batches of one or more rows; all rows of a batch use the current quantiles. Outcomes are observed
/// later, by batch number, in any order and in any number of calls. Each outcome is scored against the quantiles with
/// which its batch was issued. Rows that are never observed do not count.
///
/// The delay of a row is the number of rows issued from the first row of its batch until its outcome is observed: 1 row
/// by row, b in batches of b rows that are observed before the next batch. The long-run guarantee holds for every
/// sequence of scores and every order of outcomes (docs/mathematics.md): after T observed rows with delays of at most
/// d, with alpha = 1 - level and s = step min(1, 20 / d),
///   adaptive:  alpha T - (1 - alpha) / s - alpha d <= misses <= alpha T + alpha / s + (1 - alpha) d
///   decaying:  |misses - alpha T| <= (b - a + eta_1 d) / eta_T   for scores in [a, b]
/// A miss is a score above q. If alpha_t >= 1, the set {B <= q} is empty, q is -infinity and every row is a miss. The
/// interval of an empty set is the prediction itself, so intervals may cover more than the bound counts, never less.
///
/// Next to the quantiles, an ExchangeabilityMonitor tests whether the rows are still exchangeable with the calibration
/// rows, in the order in which outcomes are observed. It never changes a quantile. Its false-alarm rate holds if that
/// order does not depend on the outcomes.
///
/// Content hashes identify rows, so that an outcome is never scored against the interval of another row. A batch issued
/// with the hashes of its rows accepts only these rows, each once. The rows observed so far are kept as a sketch, which
/// detects tables that are observed twice. Model::issue, Model::observe and Tracker compute the hashes.
///
/// Invariant: the state depends only on the calibration, the options and the sequence of calls of issue, observe and
/// drop; splitting a call of observe into several calls for the same batch changes nothing.
/// Thread safety: const methods may run concurrently; the others need exclusive access.
class OnlineCalibration {
 public:
  /// Maximum number of pending batches; the oldest is dropped if there are more.
  static constexpr std::size_t kMaxPendingBatches = 100'000;

  /// Capacity of the sketches of batches: up to this many distinct rows of a batch are checked when they are observed.
  static constexpr std::size_t kBatchCapacity = std::size_t{1} << 14U;

  /// Start from the calibration of a model: a sample of its scores fills the window, and its quantiles are the initial
  /// ones. Throws kInvalidArgument for invalid options or levels and for a calibration with groups or weights, and
  /// kTooFewRows if the decaying method has no finite initial quantile.
  OnlineCalibration(const Calibration& calibration, std::vector<Level> levels, const OnlineOptions& options = {});

  [[nodiscard]] const std::vector<Level>& levels() const { return levels_; }  ///< in the order of `j` below
  [[nodiscard]] OnlineMethod method() const { return method_; }               ///< that updates the quantiles
  /// Step of level j, before it is divided for late outcomes.
  [[nodiscard]] double step(std::size_t j) const { return states_[j].step; }
  [[nodiscard]] std::uint64_t window_rows() const { return window_rows_; }  ///< as in the options

  /// Number of observed rows.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  /// Number of issued rows, which is also the number of the next batch.
  [[nodiscard]] std::uint64_t rows_issued() const { return issued_; }

  /// Number of issued rows whose outcomes are not yet observed.
  [[nodiscard]] std::uint64_t rows_pending() const;

  /// The mean delay of recent rows, weighted by age over `window_rows` rows; 0 before the first outcome.
  [[nodiscard]] double delay() const { return delay_; }

  /// The test that the stream is exchangeable with the calibration rows; empty if it was switched off, and in states
  /// that were saved before there was such a test.
  [[nodiscard]] const std::optional<ExchangeabilityMonitor>& exchangeability() const { return exchangeability_; }

  /// The largest delay so far: d in the guarantee.
  [[nodiscard]] std::uint64_t longest_delay() const { return longest_delay_; }

  /// The q of the next row at level j: +infinity for the whole real line, -infinity for the prediction itself.
  [[nodiscard]] double quantile(std::size_t j) const;

  /// Write the q of the next row at all k levels to out (k).
  void quantiles(std::span<double> out) const;

  /// The target miss rate alpha_t of the next row at level j; 1 - level for the decaying method.
  [[nodiscard]] double miss_rate(std::size_t j) const;

  /// Record that `rows` rows, at least 1, get intervals at the current quantiles. Returns the number of the batch,
  /// which is the number of rows issued before it.
  std::uint64_t issue(std::uint64_t rows);

  /// The same for the rows of a sketch with a capacity of kBatchCapacity. Only these rows can be observed.
  std::uint64_t issue(const RowSketch& rows);

  /// Batches with outcomes not yet observed, oldest first.
  [[nodiscard]] std::vector<PendingBatch> pending() const;

  /// Write the k quantiles with which a pending batch was issued to out (k). Throws kInvalidArgument if the batch is
  /// not pending.
  void issued_quantiles(std::uint64_t batch, std::span<double> out) const;

  /// Record the scores B of n rows of a batch, all or some of its pending rows. `covered` (n x k) is 1 if the outcome
  /// lies in the interval issued at each level, else 0; by default, whether the score is at most the quantile. `hashes`
  /// (n) are those of the rows when they were issued; without them, rows are not checked. `contents` are the hashes of
  /// the rows with their outcomes, recorded as by add_observed. Throws kInvalidArgument if the batch has fewer pending
  /// rows or a row is not one of them, and kNotFinite for NaN. All rows are recorded or none: the state is unchanged
  /// after an exception, also if memory runs out.
  void observe(std::uint64_t batch, std::span<const double> scores, std::span<const std::uint8_t> covered = {},
               std::span<const std::uint64_t> hashes = {}, std::span<const std::uint64_t> contents = {});

  /// The rows observed so far, with their outcomes, as recorded with add_observed.
  [[nodiscard]] const RowSketch& observed_rows() const { return observed_; }

  /// Throw kDuplicateRows if more of these rows with outcomes than by chance were observed before.
  void require_unobserved(const RowSketch& rows) const;

  /// Record rows with outcomes for require_unobserved.
  void add_observed(const RowSketch& rows) { observed_.merge(rows); }
  void add_observed(std::span<const std::uint64_t> hashes) { observed_.add(hashes); }  ///< the same by their hashes

  /// Issue one row and observe it immediately, or change nothing. O(window_rows) memory moves at worst. Throws
  /// kNotFinite for NaN.
  void observe(double score);

  /// Drop the pending rows of a batch. Throws kInvalidArgument if it is not pending.
  void drop(std::uint64_t batch);

  [[nodiscard]] OnlineCoverage coverage(std::size_t j) const;  ///< of the intervals at level j, from 0

  /// Serialise the state, with a checksum; equal states give equal bytes.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read the bytes of serialise. Throws kBadData with the problem found if they are invalid.
  [[nodiscard]] static OnlineCalibration deserialise(std::span<const std::byte> bytes);

  /// Whether both have the same options and state.
  friend bool operator==(const OnlineCalibration& a, const OnlineCalibration& b) {
    return a.serialise() == b.serialise();
  }

 private:
  // A table is recognised if it has at least about 1 / 100 of the rows of the stream, and all of them in short streams.
  static constexpr std::size_t kObservedCapacity = std::size_t{1} << 12U;

  /// A queue that allocates only in make_room, so that rows are recorded without failing.
  template <class Value>
  class Queue {
   public:
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const Value& operator[](std::size_t i) const { return values_[place(i)]; }  // 0 for the oldest
    [[nodiscard]] const Value& front() const { return values_[first_]; }
    /// Allocate memory for this many values. If it runs out, nothing is changed.
    void make_room(std::size_t values) {
      if (values <= values_.size()) return;
      std::vector<Value> larger(values + size_ / 2);  // so that the cost per value is constant
      for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
      values_.swap(larger);
      first_ = 0;
    }
    void push_back(Value value) { values_[place(size_++)] = value; }
    void pop_front() {
      first_ = place(1);
      --size_;
    }

   private:
    [[nodiscard]] std::size_t place(std::size_t i) const {
      const std::size_t sum = first_ + i;
      return sum < values_.size() ? sum : sum - values_.size();
    }

    std::vector<Value> values_;  // a ring
    std::size_t first_ = 0;
    std::size_t size_ = 0;
  };

  struct LevelState {
    double step = 0;
    double fixed = 0;  // quantile of the initial calibration
    double q = 0;      // quantile of the next row; decaying method
    double scale = 0;  // change of the score per unit of probability near the level; decaying method
    std::uint64_t misses = 0;
    std::uint64_t misses_fixed = 0;
    std::uint64_t covered = 0;   // rows inside their issued intervals
    Queue<std::uint8_t> recent;  // 1 for a miss
    std::uint64_t recent_outside = 0;

    void note(bool is_covered, std::uint64_t window_rows);
  };

  /// A set {B <= q}, possibly empty.
  struct IssuedLevel {
    double q = 0;
    bool empty = false;
  };

  /// The rows of a batch that are still to be observed, by hash; 0 rows of those that were all observed.
  struct Contents {
    std::uint64_t limit = 0;  // larger hashes are not checked
    std::vector<RowSketch::Entry> left = {};
  };

  struct Issued {
    std::uint64_t rows = 0;  // pending
    std::vector<IssuedLevel> levels = {};
    std::shared_ptr<const Contents> contents = {};  // null if the rows are not checked; shared by copies of the state
  };

  struct Reader;

  OnlineCalibration() = default;

  void check_options() const;
  [[nodiscard]] double excess(std::size_t j) const;
  [[nodiscard]] double pace() const;
  [[nodiscard]] std::uint64_t window_capacity(double delay) const;
  [[nodiscard]] Issued next_batch(std::uint64_t rows) const;
  [[nodiscard]] const Issued& pending_batch(std::uint64_t batch) const;
  [[nodiscard]] std::shared_ptr<const Contents> without(std::uint64_t batch,
                                                        std::span<const std::uint64_t> hashes) const;
  void check_places(std::size_t places) const;
  void put_batches(internal::WordWriter& writer) const;
  void put_hashes(internal::WordWriter& writer) const;
  void make_room(std::size_t rows, std::uint64_t delay);
  void record(const Issued& issued, std::uint64_t delay, std::span<const double> scores,
              std::span<const std::uint8_t> covered);
  void note_delay(std::uint64_t delay);
  void learn(std::size_t j, bool missed, bool covered);
  void keep(double score, bool sorted);
  void sort_window();

  OnlineMethod method_ = OnlineMethod::kAdaptive;
  std::uint64_t window_rows_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t issued_ = 0;
  double delay_ = 0;
  double slowest_ = 0;  // the largest delay_ so far
  std::uint64_t longest_delay_ = 0;
  std::vector<Level> levels_;
  std::vector<LevelState> states_;           // one per level
  Queue<double> scores_;                     // the window, oldest first; adaptive method
  std::vector<double> sorted_;               // the same, ascending
  std::map<std::uint64_t, Issued> pending_;  // by number
  std::optional<ExchangeabilityMonitor> exchangeability_;
  RowSketch observed_{kObservedCapacity};
};

}  // namespace widthwise
