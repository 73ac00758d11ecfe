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

/// The column with the number of the batch that a row was issued in, for `track --observe`.
inline constexpr const char* kBatchColumn = "batch";

/// The columns that a table of intervals has more: f(x) when the model makes it, then the bounds of each level, then
/// the batch when the rows are issued as one that outcomes are awaited of.
/// Thread safety: none.
class IntervalColumns {
 public:
  IntervalColumns(const Model& model, const std::vector<Level>& levels,
                  std::optional<std::uint64_t> batch = std::nullopt);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Rows of infinite intervals so far, for each level.
  [[nodiscard]] const std::vector<std::uint64_t>& infinite() const { return infinite_; }

  using Write = std::function<void(std::span<double> predictions, MutableMatrixView lower, MutableMatrixView upper)>;

  /// The columns of n rows, whose predictions (n) and bounds (n x levels) `write` makes; valid until the next call.
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
