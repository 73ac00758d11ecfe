#include "train/fit/splits.hpp"

#include <numeric>
#include <utility>

#include <widthwise/error.hpp>

#include "train/fit/streams.hpp"

namespace widthwise::internal {
namespace {

RowSplitter splitter_of(const FitTable& table, const Workers& workers) {
  if (!table.row_numbers.empty()) return {{table.row_numbers.begin(), table.row_numbers.end()}, workers};
  std::vector<std::uint64_t> numbers(table.x.rows());
  std::iota(numbers.begin(), numbers.end(), table.first_row);
  return {std::move(numbers), workers};
}

RowSplitter::Split calibration_split(const RowSplitter& table, double share, std::uint64_t seed) {
  return table.split(share, 0, stream_seed(seed, Stream::kSplit));
}

}  // namespace

Splits::Splits(const FitTable& table, const FitOptions& options, const Workers& workers)
    : Splits(splitter_of(table, workers),
             calibration_split(splitter_of(table, workers), table.cv_predictions.empty() ? options.calibration_size : 0,
                               options.seed)) {
  holdout_ = fitting_.splitter.split(options.holdout_fraction, 1, stream_seed(options.seed, Stream::kHoldout));
  if (given_predictions(table).empty()) {
    folds_ = fitting_.splitter.folds(options.folds, stream_seed(options.seed, Stream::kFolds));
  }
  calibration_rows_ = workers.total_count(calibration_.rows.size());
  fitting_rows_ = workers.total_count(fitting_.rows.size());
  holdout_rows_ = workers.total_count(holdout_.share.size());
  if (holdout_rows_ == 0) throw Error(ErrorCode::kTooFewRows, "fit: no row is left to hold out; give more rows");
}

}  // namespace widthwise::internal
