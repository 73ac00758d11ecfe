#include "train/fit/splits.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

std::vector<std::size_t> positions(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

RowSplitter splitter_of(const FitTable& table, const Workers& workers) {
  // Copies have the same cluster and the same time.
  const auto together = table.rows.clusters.empty() && table.rows.times.empty() ? table.copies : table.rows.clusters;
  RowBlocks blocks({together.begin(), together.end()}, {table.rows.times.begin(), table.rows.times.end()});
  if (!table.row_numbers.empty()) {
    return {{table.row_numbers.begin(), table.row_numbers.end()}, std::move(blocks), workers};
  }
  std::vector<std::uint64_t> numbers(table.rows.x.rows());
  std::iota(numbers.begin(), numbers.end(), table.first_row);
  return {std::move(numbers), std::move(blocks), workers};
}

/// The share of the calibration rows; 0 with cross-validated predictions, which do not calibrate.
double calibration_share(const FitTable& table, const FitOptions& options, const Workers& workers) {
  if (!table.cv_predictions.empty()) return 0;
  const double size = options.calibration_size;
  if (size < 1) return size;
  const double rows = workers.total(static_cast<double>(table.rows.x.rows()));
  if (size < rows) return size / rows;
  throw make_error(ErrorCode::kInvalidArgument,
                   "fit: calibration_size is {}; expected a share below 1, or fewer rows than the {} of the table",
                   text_of(size), text_of(rows));
}

}  // namespace

RowSplitter::Split RowSplitter::split(double share, std::size_t min_rows, std::uint64_t seed) const {
  const std::size_t n = numbers_.size();
  Split split;
  if (!workers_->alone()) {
    const std::span<const std::uint64_t> numbers = blocks_.any() ? blocks_.clusters() : numbers_;
    for (std::size_t i = 0; i < n; ++i) {
      (uniform_of_number(numbers[i], seed) < share ? split.share : split.rest).push_back(i);
    }
    return split;
  }
  if (blocks_.any()) {
    const std::vector<bool> in_share = blocks_.share(share, seed);
    for (std::size_t i = 0; i < n; ++i) (in_share[i] ? split.share : split.rest).push_back(i);
    return split;
  }
  const auto wanted = static_cast<std::size_t>(std::lround(share * static_cast<double>(n)));
  const auto count = static_cast<std::ptrdiff_t>(std::min(std::max(wanted, min_rows), n - std::min(min_rows, n)));
  split.share = positions(n);
  Random(seed).shuffle(std::span(split.share));
  split.rest.assign(split.share.begin() + count, split.share.end());
  split.share.resize(static_cast<std::size_t>(count));
  return split;
}

Folds RowSplitter::folds(std::size_t count, std::uint64_t seed) const {
  if (workers_->alone()) {
    return blocks_.any() ? blocks_.folds(count, seed) : random_folds(numbers_.size(), count, seed);
  }
  if (count < 2) {
    throw make_error(ErrorCode::kInvalidArgument, "fit: expected at least 2 folds, found {}", count);
  }
  if (!blocks_.any()) return folds_by_hash(numbers_, count, seed);
  Folds folds = folds_by_hash(blocks_.clusters(), count, seed);
  std::vector<double> rows(count);
  for (const std::size_t fold : folds.fold_of) rows[fold] += 1;
  workers_->add_up(rows);
  if (std::ranges::count_if(rows, [](double fold) { return fold > 0; }) < 2) {
    throw make_error(ErrorCode::kTooFewRows, "fit: too few clusters for {} folds; pass rows of more clusters", count);
  }
  return folds;
}

Folds RowSplitter::folds_by_hash(std::span<const std::uint64_t> numbers, std::size_t count, std::uint64_t seed) const {
  Folds folds{.count = count, .order = positions(numbers.size()), .fold_of = {}};
  folds.fold_of.reserve(numbers.size());
  for (const std::uint64_t number : numbers) folds.fold_of.push_back(hash_of_number(number, seed) % count);
  return folds;
}

std::vector<std::uint8_t> RowSplitter::halves(std::uint64_t seed) const {
  if (!blocks_.any()) return {};
  std::vector<std::uint8_t> halves(numbers_.size());
  if (workers_->alone() && blocks_.count() < 2) return halves;
  for (const std::size_t row : split(0.5, 0, seed).share) halves[row] = 1;
  return halves;
}

RowSplitter RowSplitter::of(std::span<const std::size_t> rows) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(rows.size());
  for (const std::size_t row : rows) numbers.push_back(numbers_[row]);
  return {std::move(numbers), blocks_.of(rows), *workers_};
}

SetAside::SetAside(const FitTable& table, const FitOptions& options, const Workers& workers)
    : SetAside(splitter_of(table, workers),
               splitter_of(table, workers)
                   .split(calibration_share(table, options, workers), 0, stream_seed(options.seed, Stream::kSplit)),
               table.copies) {}

SetAside::SetAside(const FitTable& table, const SplitPart& part, const Workers& workers)
    : calibration(splitter_of(table, workers), part.calibration),
      fitting(splitter_of(table, workers), part.predicted(table.rows.x.rows())) {}

namespace {

// Many rows make the models of few folds nearly as good as those of many, and then one model as good as several. The
// errors of more rows hardly improve a localizer (experiments/NOTES.md).
constexpr std::uint64_t kMinRowsForTwoFolds = 50'000;
constexpr std::uint64_t kMinRowsForOneSplit = 500'000;
constexpr double kMaxLearningRows = 50'000;
constexpr double kMaxLearningShare = 0.25;  // of one split

std::size_t count_of_folds(const FitOptions& options, std::uint64_t rows) {
  if (options.folds) return *options.folds;
  if (rows >= kMinRowsForOneSplit) return kOneSplit;
  return rows >= kMinRowsForTwoFolds ? 2 : kFoldsOfFewRows;
}

/// One fold, with the rows whose errors train the localizer.
Folds one_fold(const TablePart& fitting, std::uint64_t rows, std::uint64_t seed) {
  const double share = std::min(kMaxLearningShare, kMaxLearningRows / static_cast<double>(rows));
  RowSplitter::Split split = fitting.splitter.split(share, 1, seed);
  Folds folds{.count = kOneSplit, .order = {}, .fold_of = std::vector<std::size_t>(fitting.rows.size(), 1)};
  for (const std::size_t row : split.share) folds.fold_of[row] = 0;
  folds.order = std::move(split.share);
  folds.order.insert(folds.order.end(), split.rest.begin(), split.rest.end());
  return folds;
}

}  // namespace

Folds cross_fitting_folds(const TablePart& fitting, const FitOptions& options, const Workers& workers) {
  const std::uint64_t rows = workers.total_count(fitting.rows.size());
  const std::size_t wanted = count_of_folds(options, rows);
  const std::uint64_t seed = stream_seed(options.seed, Stream::kFolds);
  if (wanted == kOneSplit) return one_fold(fitting, rows, seed);
  const std::size_t count = workers.alone() ? std::min(wanted, fitting.rows.size()) : wanted;
  return fitting.splitter.folds(std::max<std::size_t>(count, std::min<std::size_t>(wanted, 2)), seed);
}

Splits::Splits(const FitTable& table, const FitOptions& options, const Workers& workers)
    : rows_(table, options, workers), learning_(rows_.fitting) {
  count(workers);
  check_clusters(table, options);
  if (given_predictions(table).empty()) folds_ = cross_fitting_folds(rows_.fitting, options, workers);
  learn(options, workers);
  hold_out(options, workers);
}

Splits::Splits(const FitTable& table, const SplitPart& part, const FitOptions& options, const Workers& workers)
    : rows_(table, part, workers), seen_(part.seen()), one_split_(!part.learning.empty()), learning_(rows_.fitting) {
  count(workers);
  learn(options, workers);
  hold_out(options, workers);
}

void Splits::count(const Workers& workers) {
  calibration_rows_ = workers.total_count(calibration().rows.size());
  fitting_rows_ = workers.total_count(fitting().rows.size());
  fit_rows_ = one_split_ ? workers.total_count(seen_.size()) : fitting_rows_;
}

void Splits::learn(const FitOptions& options, const Workers& workers) {
  const double share = kMaxLearningRows / static_cast<double>(fitting_rows_);
  if (folds_.count == kOneSplit) {
    for (const std::size_t row : folds_.order) {
      if (folds_.fold_of[row] == 0) learning_positions_.push_back(row);
    }
  } else if (share < 1) {
    learning_positions_ = fitting().splitter.split(share, 1, stream_seed(options.seed, Stream::kLearning)).share;
  } else {
    learning_positions_ = positions(fitting().rows.size());
  }
  learning_ = TablePart(fitting(), std::span<const std::size_t>(learning_positions_));
  learning_rows_ = workers.total_count(learning_.rows.size());
}

void Splits::hold_out(const FitOptions& options, const Workers& workers) {
  holdout_ = learning().splitter.split(options.holdout_fraction, 1, stream_seed(options.seed, Stream::kHoldout));
  holdout_rows_ = workers.total_count(holdout_.share.size());
  if (holdout_rows_ == 0) throw Error(ErrorCode::kTooFewRows, "fit: no rows are left for the hold-out; pass more rows");
}

/// With several workers, the hash of few clusters may leave one side of the split empty.
void Splits::check_clusters(const FitTable& table, const FitOptions& options) const {
  if (!table.columns.has(Role::kCluster) || !table.cv_predictions.empty() || options.calibration_size == 0) return;
  if (calibration_rows_ > 0 && fitting_rows_ > 0) return;
  throw make_error(ErrorCode::kTooFewRows,
                   "fit: too few clusters in '{}' to set some aside for calibration; pass rows of more clusters",
                   printable(table.columns[Role::kCluster]));
}

}  // namespace widthwise::internal
