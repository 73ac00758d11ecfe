#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/level.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model.hpp>

namespace widthwise::cli {

/// Column with the number of the batch in which a row was issued, for `track --observe`.
inline constexpr const char* kBatchColumn = "batch";

/// The columns that prediction adds to a table: f(x) if the model computes it, then the bounds of each level, then the
/// number of the batch if the rows are issued as a batch with pending outcomes.
/// Thread safety: none.
class IntervalColumns {
 public:
  IntervalColumns(const Model& model, const std::vector<Level>& levels,
                  std::optional<std::uint64_t> batch = std::nullopt);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Number of infinite intervals so far, per level.
  [[nodiscard]] const std::vector<std::uint64_t>& infinite() const { return infinite_; }

  using Write = std::function<void(std::span<double> predictions, MutableMatrixView lower, MutableMatrixView upper)>;

  /// The columns of n rows; `write` computes predictions (n) and bounds (n x levels). Valid until the next call.
  [[nodiscard]] MatrixView of(std::size_t n, const Write& write);

 private:
  bool with_predictions_;
  std::optional<std::uint64_t> batch_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> infinite_;
  std::vector<double> predictions_;
  std::vector<double> lower_;
  std::vector<double> upper_;
  std::vector<double> columns_;
};

/// Throw kInvalidArgument when the table has a column with one of the added names among those carried along.
void require_free(const std::vector<std::string>& added, const std::vector<std::string>& carried,
                  const std::filesystem::path& table);

}  // namespace widthwise::cli
