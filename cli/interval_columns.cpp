#include "interval_columns.hpp"

#include <cmath>
#include <unordered_set>

#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise::cli {
namespace {

constexpr const char* kPredictionColumn = "prediction";

}  // namespace

IntervalColumns::IntervalColumns(const Model& model, const std::vector<Level>& levels,
                                 std::optional<std::uint64_t> batch)
    : with_predictions_(model.prediction_columns().size() != 1), batch_(batch), infinite_(levels.size()) {
  if (with_predictions_) names_.emplace_back(kPredictionColumn);
  for (const Level& level : levels) {
    names_.push_back("lower_" + level.to_string());
    names_.push_back("upper_" + level.to_string());
  }
  if (batch_) names_.emplace_back(kBatchColumn);
}

void require_free(const std::vector<std::string>& added, const std::vector<std::string>& carried,
                  const std::filesystem::path& table) {
  const std::unordered_set<std::string> taken(carried.begin(), carried.end());
  for (const auto& name : added) {
    if (!taken.contains(name)) continue;
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "{}: the table already has a column '{}'; leave it out of the output with --columns",
                               table.string(), name);
  }
}

MatrixView IntervalColumns::of(std::size_t n, const Write& write) {
  const std::size_t k = infinite_.size();
  predictions_.resize(n);
  lower_.resize(n * k);
  upper_.resize(n * k);
  write(predictions_, {lower_.data(), n, k}, {upper_.data(), n, k});
  columns_.clear();
  columns_.reserve(n * names_.size());
  for (std::size_t i = 0; i < n; ++i) {
    if (with_predictions_) columns_.push_back(predictions_[i]);
    for (std::size_t j = 0; j < k; ++j) {
      const double lower = lower_[i * k + j];
      const double upper = upper_[i * k + j];
      columns_.push_back(lower);
      columns_.push_back(upper);
      if (!std::isfinite(upper - lower)) ++infinite_[j];
    }
    if (batch_) columns_.push_back(static_cast<double>(*batch_));
  }
  return {columns_.data(), n, names_.size()};
}

}  // namespace widthwise::cli
