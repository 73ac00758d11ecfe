#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>

namespace widthwise::cli {

/// The columns of quantiles of the outcome, quantile_0.95 for example, to the right of other columns.
/// Thread safety: none.
class QuantileColumns {
 public:
  QuantileColumns(const Model& model, std::vector<Level> probabilities);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Level>& probabilities() const { return probabilities_; }

  /// Rows of infinite quantiles so far, for each probability.
  [[nodiscard]] const std::vector<std::uint64_t>& infinite() const { return infinite_; }

  /// The rows of `left` with their quantiles; valid until the next call, or as long as `left` if there are none.
  [[nodiscard]] MatrixView beside(MatrixView left, const Rows& rows);

 private:
  const Model& model_;
  std::vector<Level> probabilities_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> infinite_;
  std::vector<double> quantiles_;
  std::vector<double> columns_;
};

}  // namespace widthwise::cli
