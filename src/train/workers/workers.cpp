#include "train/workers/workers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise::internal {
namespace {

/// The numbers of all workers, by rank.
std::vector<double> gathered(const Communicator& communicator, std::span<const double> own) {
  std::vector<double> all;
  for (const auto& bytes : gather(communicator, std::as_bytes(own))) {
    const std::size_t before = all.size();
    all.resize(before + bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(all.data() + before, bytes.data(), bytes.size());
  }
  return all;
}

}  // namespace

double Workers::total(double own) const {
  add_up({&own, 1});
  return own;
}

void Workers::add_up(std::span<double> numbers) const {
  if (!alone()) communicator_->sum(numbers);
}

std::uint64_t Workers::total_count(std::size_t own) const {
  return static_cast<std::uint64_t>(total(static_cast<double>(own)));
}

void Workers::all_or_none(const std::function<void()>& work) const {
  if (alone()) {
    work();
  } else {
    widthwise::all_or_none(*communicator_, work);
  }
}

void Workers::check_alike(std::size_t rows, std::string_view columns, std::string_view settings) const {
  if (alone()) return;
  const std::vector<std::string> all_columns = gather_texts(*communicator_, columns);
  const std::vector<std::string> all_settings = gather_texts(*communicator_, settings);
  std::vector<double> all_rows(communicator_->workers(), 0.0);
  all_rows[communicator_->rank()] = static_cast<double>(rows);
  communicator_->sum(all_rows);
  for (std::size_t worker = 0; worker < all_rows.size(); ++worker) {
    const std::string name = fmt::format("fit: worker {}", worker);
    if (all_rows[worker] == 0) {
      throw Error(ErrorCode::kTooFewRows, name + " has no rows; use fewer workers");
    }
    if (all_columns[worker] != all_columns.front()) {
      throw make_error(ErrorCode::kShapeMismatch, "{} has other columns than worker 0: {}; expected {}", name,
                       all_columns[worker], all_columns.front());
    }
    if (all_settings[worker] != all_settings.front()) {
      throw Error(ErrorCode::kInvalidArgument,
                  name + " has other options than worker 0; start all workers with the same options except --rank");
    }
  }
}

std::vector<double> Workers::sample(std::vector<double> rows, std::size_t columns,
                                    std::span<const std::uint64_t> numbers, std::size_t max_rows) const {
  if (alone()) return rows;
  constexpr std::uint64_t kSeed = 0x73616d706c65;
  const double share = static_cast<double>(max_rows) / std::max(1.0, total(static_cast<double>(numbers.size())));
  std::vector<double> own;  // each row after its number
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (uniform_of_number(numbers[i], kSeed) >= share) continue;
    own.push_back(std::bit_cast<double>(numbers[i]));
    own.insert(own.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * columns),
               rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * columns));
  }
  const std::vector<double> all = gathered(*communicator_, own);
  const std::size_t width = columns + 1;
  std::vector<std::size_t> order(all.size() / width);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::bit_cast<std::uint64_t>(all[i * width]); });
  std::vector<double> sample;
  sample.reserve(order.size() * columns);
  for (const std::size_t i : order) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(i * width);
    sample.insert(sample.end(), row + 1, row + static_cast<std::ptrdiff_t>(width));
  }
  return sample;
}

std::vector<double> Workers::standardised_sample(MatrixView all, std::span<const std::size_t> rows,
                                                 MatrixView sample) const {
  if (!alone()) return standardised(sample);
  const std::vector<double> values = standardised(all);
  const std::size_t columns = all.columns();
  std::vector<double> out;
  out.reserve(rows.size() * columns);
  for (const std::size_t row : rows) {
    out.insert(out.end(), values.data() + row * columns, values.data() + (row + 1) * columns);
  }
  return out;
}

void Workers::add_note(std::map<std::string, std::string>& notes) const {
  if (!alone()) notes["workers"] = std::to_string(communicator_->workers());
}

}  // namespace widthwise::internal
