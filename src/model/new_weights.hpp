#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <widthwise/model.hpp>

namespace widthwise::internal {

/// Where the weights of new rows come from: sizes of their clusters, given likelihood ratios, or a function of the
/// features.
/// Invariant: immutable. Thread safety: full.
class NewWeights {
 public:
  /// `learnt`: x -> log of the likelihood ratio; null if it is not learnt.
  explicit NewWeights(std::shared_ptr<const RowFunction> learnt) : learnt_(std::move(learnt)) {}

  /// The weights of some rows; empty if new rows have none. `memory` holds those that are learnt.
  [[nodiscard]] std::span<const double> of(const Rows& rows, std::size_t first, std::size_t count,
                                           std::vector<double>& memory) const;

  /// The weight of one row, if it has one. No allocation.
  [[nodiscard]] std::optional<double> of_row(std::span<const double> x, std::optional<double> given) const;

  /// Write the likelihood ratios of n rows; 1 if they have none.
  void write(const Rows& rows, std::span<double> out) const;

 private:
  void evaluate(MatrixView x, std::span<double> out) const;

  std::shared_ptr<const RowFunction> learnt_;
};

}  // namespace widthwise::internal
