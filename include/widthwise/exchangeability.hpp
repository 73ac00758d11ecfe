#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>

namespace widthwise {

/// Options of ExchangeabilityMonitor.
struct ExchangeabilityOptions {
  double false_alarm_rate = 0.01;  ///< maximum probability of ever raising an alarm if rows are exchangeable; in (0, 1)
  std::uint64_t seed = 0;          ///< of the random numbers that break ties
};

/// Where the evidence against exchangeability was sufficient, and how the errors changed.
struct ExchangeabilityAlarm {
  std::uint64_t row = 0;  ///< 1 for the first row of the stream
  bool larger = false;    ///< whether errors became larger than those of the calibration rows, else smaller
};

/// A test that the rows of a stream are exchangeable with the calibration rows, valid at every row: a conformal test
/// martingale (Vovk, Nouretdinov and Gammerman 2003). If calibration rows and stream are exchangeable, the probability
/// that an alarm is ever raised is at most the false-alarm rate, however long the stream is.
///
/// Each score gets a p-value against the calibration rows and all earlier rows of the stream. Such p-values are
/// independent and uniform. p-values against the calibration rows alone are not independent: if the calibration scores
/// are small by chance, all of them are small. With groups, the p-value of a row is that within its group.
///
/// A mixture of bets multiplies a capital of 1, which has no tendency to grow as long as the p-values are uniform. The
/// alarm is raised when the capital reaches 1 / false_alarm_rate (Ville's inequality). The capital is invested
/// gradually over the whole stream, so the detection delay grows only with the logarithm of the rows before a change
/// (docs/mathematics.md).
///
/// Memory is bounded: up to kMaxMarks rows per group are kept as marks, and of all others only the number between two
/// marks. A score between two marks gets a uniform p-value of that gap, so the p-values remain exact. Time per row:
/// O(log kMaxMarks), and O(kMaxMarks) memory moves while rows still become marks.
///
/// Invariant: the state depends only on the calibration, the options and the sequence of rows.
/// Thread safety: const methods may run concurrently; the others need exclusive access.
class ExchangeabilityMonitor {
 public:
  /// Number of rows per group kept as marks. A gap between marks has a probability of about 1 / 4096, far below what
  /// the bets resolve.
  static constexpr std::size_t kMaxMarks = 4096;

  /// Throws kInvalidArgument for a false-alarm rate outside (0, 1) and for a calibration with weights or clusters,
  /// whose rows are not exchangeable with the stream.
  explicit ExchangeabilityMonitor(const Calibration& calibration, const ExchangeabilityOptions& options = {});

  /// Allocate memory for this many rows of a group, which are then observed without failing. If memory runs out,
  /// nothing is changed.
  void make_room(std::size_t rows, std::int64_t group = 0);

  /// Record the score of the next row. Returns its p-value, small for a large score; NaN for a row of a group without
  /// calibration rows, which counts as a row and changes nothing else. Throws kNotFinite for NaN.
  double observe(double score, std::int64_t group = 0);

  [[nodiscard]] double false_alarm_rate() const { return options_.false_alarm_rate; }  ///< as in the options
  /// False-alarm rate and seed, also after deserialise.
  [[nodiscard]] const ExchangeabilityOptions& options() const { return options_; }

  /// Whether rows are ranked within groups.
  [[nodiscard]] bool ranks_by_group() const { return ranks_.size() != 1 || ranks_.begin()->first != 0; }

  /// Number of rows of the stream.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  /// The first alarm; empty if there was none. An alarm is never withdrawn.
  [[nodiscard]] const std::optional<ExchangeabilityAlarm>& alarm() const { return alarm_; }

  /// The natural logarithm of the martingale, which is 0 before the first row, and its highest value so far.
  [[nodiscard]] double log_martingale() const;
  [[nodiscard]] double highest_log_martingale() const { return highest_; }  ///< at least 0

  /// One sentence: "Alarm at row 2,103: ..." or "No alarm: ...".
  [[nodiscard]] std::string summary() const;

  /// Serialise the state, with a checksum; equal states give equal bytes.
  [[nodiscard]] std::vector<std::byte> serialise() const;

  /// Read the bytes of serialise. Throws kBadData with the problem found if they are invalid.
  [[nodiscard]] static ExchangeabilityMonitor deserialise(std::span<const std::byte> bytes);

  /// Whether both have the same options and state.
  friend bool operator==(const ExchangeabilityMonitor& a, const ExchangeabilityMonitor& b) {
    return a.serialise() == b.serialise();
  }

 private:
  /// A score and the random number that orders it among equal scores.
  struct Mark {
    double score = 0;
    std::uint64_t tie = 0;
    friend auto operator<=>(const Mark&, const Mark&) = default;
  };

  /// The probability of a rank at least as high as that of the new row, and that of a lower one; their sum is 1.
  struct PValue {
    double p = 0;
    double complement = 0;
  };

  /// The ranks of rows among all rows so far.
  class Ranks {
   public:
    Ranks() = default;
    explicit Ranks(std::vector<Mark> rows);

    void make_room(std::size_t rows);

    /// Rank a row and add it. `within`, in (0, 1), is its position in the gap where it lies.
    PValue add(const Mark& row, double within);

   private:
    friend class ExchangeabilityMonitor;

    void count_gaps();
    [[nodiscard]] std::uint64_t between_before(std::size_t gap) const;

    std::vector<Mark> marks_;  // ascending
    std::vector<std::uint64_t>
        between_;                      // rows in each gap, below, between and above the marks; empty if all are marks
    std::vector<std::uint64_t> sums_;  // Fenwick tree of between_
    std::uint64_t rows_between_ = 0;
  };

  struct Reader;

  static constexpr std::size_t kBets = 8;

  ExchangeabilityMonitor() = default;

  void check_options() const;
  void bet(const PValue& value);

  ExchangeabilityOptions options_;
  std::map<std::int64_t, Ranks> ranks_;  // by group
  std::uint64_t rows_ = 0;
  std::array<double, kBets> log_capital_ = {};  // of each bet, invested so far
  double highest_ = 0;
  std::optional<ExchangeabilityAlarm> alarm_;
};

}  // namespace widthwise
