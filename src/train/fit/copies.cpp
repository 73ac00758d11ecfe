#include "train/fit/copies.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/row_sketch.hpp>

#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

template <class Value>
void hash_column(std::span<const Value> values, std::span<std::uint64_t> hashes) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    hashes[i] = hash_bytes(hashes[i], std::as_bytes(values.subspan(i, 1)));
  }
}

/// The content of each row: features, outcome and the columns that tell rows apart.
std::vector<std::uint64_t> contents(const FitTable& table) {
  std::vector<std::uint64_t> hashes(table.rows.x.rows());
  RowHasher(table.features).hash(table.rows.x, table.y, hashes);
  hash_column(table.rows.groups, std::span(hashes));
  hash_column(table.rows.weights, std::span(hashes));
  hash_column(table.rows.clusters, std::span(hashes));
  hash_column(table.rows.times, std::span(hashes));
  return hashes;
}

std::vector<std::int64_t> first_rows(std::span<const std::uint64_t> contents) {
  std::vector<std::size_t> order(contents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return contents[row]; });
  std::vector<std::int64_t> first(contents.size());
  std::size_t of_content = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || contents[order[i]] != contents[order[i - 1]]) of_content = order[i];
    first[order[i]] = static_cast<std::int64_t>(of_content);
  }
  return first;
}

/// Whether outcomes of different rows differ, so that no row of an outcome with noise has a copy by chance. At least 1%
/// of the rows are copies, and equal outcomes are those of copies rather than of different rows.
bool has_continuous_outcomes(std::span<const double> y, std::span<const std::int64_t> first) {
  constexpr std::size_t kMinCopies = 20;
  constexpr double kMinShare = 0.01;
  constexpr double kMaxEqual = 0.1;
  std::vector<double> outcomes;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (first[i] == static_cast<std::int64_t>(i)) outcomes.push_back(y[i]);
  }
  const std::size_t copies = y.size() - outcomes.size();
  if (copies < kMinCopies || static_cast<double>(copies) < kMinShare * static_cast<double>(y.size())) return false;
  const auto distinct = static_cast<double>(outcomes.size());
  std::ranges::sort(outcomes);
  const auto equal = static_cast<double>(std::ranges::unique(outcomes).size());
  return equal <= kMaxEqual * distinct && equal <= static_cast<double>(copies);
}

std::string how_many(std::uint64_t copies, std::uint64_t rows) {
  return fmt::format("{} of the rows ({} of {}) are copies of other rows, which is more than chance allows",
                     percent(static_cast<double>(copies) / static_cast<double>(rows)), copies, rows);
}

}  // namespace

RowCopies find_copies(const FitTable& table, Duplicates duplicates, const Workers& workers) {
  if (!table.copies.empty()) return {.first = {table.copies.begin(), table.copies.end()}};
  if (duplicates == Duplicates::kKeep) return {};
  // Rows of one cluster or time may well be equal, and no split separates them.
  if (duplicates == Duplicates::kAuto && (!table.rows.clusters.empty() || !table.rows.times.empty())) return {};
  if (duplicates != Duplicates::kAuto && !workers.alone()) {
    throw Error(ErrorCode::kInvalidArgument,
                "fit: several workers cannot compare the content of all rows (duplicates 'cluster' or 'drop'); remove "
                "copies of rows before the fit, or fit without workers");
  }
  const std::vector<std::uint64_t> hashes = contents(table);
  RowSketch own;
  own.add(hashes);
  const RowRepeats repeated = repeats(workers.merged(std::move(own), RowSketch()));
  if (!workers.alone()) {
    if (!repeated.found()) return {};
    throw make_error(ErrorCode::kBadData,
                     "fit: {}; several workers cannot keep copies on one side of every split. Remove the copies before "
                     "the fit, or set duplicates to 'keep' if equal rows are separate observations",
                     how_many(repeated.copies, repeated.rows));
  }
  RowCopies copies{.first = first_rows(hashes)};
  if (duplicates != Duplicates::kAuto) return copies;
  if (!repeated.found() && !has_continuous_outcomes(table.y, copies.first)) return {};
  copies.warning =
      how_many(repeated.copies, repeated.rows) +
      ". Copies on both sides of a split would make intervals too narrow, so that all copies of a row are kept on one "
      "side of every split, and the calibration counts each distinct row once. Look for a join that multiplies rows, "
      "or for oversampling. Set duplicates to 'drop' to fit each distinct row once, to 'cluster' to fit like this "
      "without a warning, or to 'keep' if equal rows are separate observations";
  return copies;
}

std::vector<std::size_t> distinct_rows(std::span<const std::int64_t> copies) {
  std::vector<std::size_t> all(copies.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return distinct_rows(std::move(all), copies);
}

std::vector<std::size_t> distinct_rows(std::vector<std::size_t> rows, std::span<const std::int64_t> copies) {
  if (copies.empty()) return rows;
  std::unordered_set<std::int64_t> seen;
  std::erase_if(rows, [&](std::size_t row) { return !seen.insert(copies[row]).second; });
  return rows;
}

}  // namespace widthwise::internal
