#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/communicator.hpp>

namespace widthwise::internal {

/// With several workers, splits and samples use a hash of the row number, so that they do not depend on which worker
/// holds the row.
[[nodiscard]] inline std::uint64_t hash_of_number(std::uint64_t number, std::uint64_t seed) {
  return mix_bits(number ^ mix_bits(seed));
}

/// The hash as a number in [0, 1).
[[nodiscard]] inline double uniform_of_number(std::uint64_t number, std::uint64_t seed) {
  return static_cast<double>(hash_of_number(number, seed) >> 11U) * 0x1p-53;
}

/// The processes of one fit. A process without a communicator is the only worker: sums and samples are those of its own
/// rows. With a communicator, all processes call the same methods in the same order and get the same results.
/// Thread safety: none; one thread of each process.
class Workers {
 public:
  /// `communicator` is null for a single process.
  explicit Workers(const Communicator* communicator) : communicator_(communicator) {}

  [[nodiscard]] bool alone() const { return communicator_ == nullptr; }

  /// Sum of a number over all workers.
  [[nodiscard]] double total(double own) const;
  [[nodiscard]] std::uint64_t total_count(std::size_t own) const;
  /// Replace numbers by their sums over all workers.
  void add_up(std::span<double> numbers) const;

  /// Run `work`, which may fail on some workers only: it then fails on all.
  void all_or_none(const std::function<void()>& work) const;

  /// Throw unless all workers have rows, and the same columns and settings.
  void check_alike(std::size_t rows, std::string_view columns, std::string_view settings) const;

  /// Sample rows of all workers, in the order of their numbers: all rows, or about `max_rows` chosen by their numbers.
  /// A single process returns its rows unchanged. `rows` (n x columns) are this worker's rows, the result is m x
  /// columns.
  [[nodiscard]] std::vector<double> sample(std::vector<double> rows, std::size_t columns,
                                           std::span<const std::uint64_t> numbers, std::size_t max_rows) const;

  /// Standardise the features of sampled rows. A single process, which sampled `rows` of `all`, uses the mean and
  /// deviation of `all`. Several workers use those of the sample, because no worker has all rows.
  [[nodiscard]] std::vector<double> standardised_sample(MatrixView all, std::span<const std::size_t> rows,
                                                        MatrixView sample) const;

  /// Merge calibrations or sketches of all workers into `all`, which is empty.
  template <class Mergeable>
  [[nodiscard]] Mergeable merged(Mergeable own, Mergeable all) const {
    if (alone()) return own;
    for (const auto& bytes : gather(*communicator_, own.serialise())) all.merge(Mergeable::deserialise(bytes));
    return all;
  }

  /// Add the number of workers to the notes of a model that several workers fitted.
  void add_note(std::map<std::string, std::string>& notes) const;

 private:
  const Communicator* communicator_;
};

}  // namespace widthwise::internal
