#include "train/fit/steps.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/train/fit.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/fit/copies.hpp"
#include "train/fit/part_of_table.hpp"
#include "train/fit/splits.hpp"

namespace widthwise {

std::vector<std::size_t> SplitPart::predicted(std::size_t rows) const {
  if (!learning.empty()) return learning;
  if (folds.empty()) return fitting;
  std::vector<bool> tested(rows);
  for (const Fold& fold : folds) {
    for (const std::size_t row : fold.test) tested[row] = true;
  }
  std::vector<std::size_t> some;
  std::ranges::copy_if(fitting, std::back_inserter(some), [&](std::size_t row) { return tested[row]; });
  return some;
}

std::vector<std::size_t> SplitPart::seen() const {
  std::vector<std::size_t> rows = fitting;
  rows.insert(rows.end(), learning.begin(), learning.end());
  return rows;
}

namespace {

using internal::count_of;
using internal::Workers;

/// Given folds of the rows; std::nullopt: make them.
using GivenFolds = std::optional<std::vector<Fold>>;

/// The training and test rows of each fold, as rows of the table.
std::vector<Fold> folds_of(std::span<const std::size_t> rows, const internal::Folds& folds) {
  std::vector<Fold> all(folds.count);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < all.size(); ++k)
      (folds.fold_of[i] == k ? all[k].test : all[k].train).push_back(rows[i]);
  }
  std::erase_if(all, [](const Fold& fold) { return fold.test.empty(); });
  return all;
}

/// Set the folds of the fitting rows; with one split, some of them become learning rows.
void set_folds(SplitPart& part, const internal::Folds& folds) {
  if (folds.count != kOneSplit) {
    part.folds = folds_of(part.fitting, folds);
    return;
  }
  std::vector<std::size_t> fitting;
  for (std::size_t i = 0; i < part.fitting.size(); ++i) {
    (folds.fold_of[i] == 0 ? part.learning : fitting).push_back(part.fitting[i]);
  }
  part.fitting = std::move(fitting);
}

/// The rows of a table that given folds must respect.
class FoldChecks {
 public:
  FoldChecks(const FitTable& table, const std::vector<Fold>& folds) : table_(table), folds_(folds) {}

  /// Throw for rows that the table does not have, and for folds that predict rows or clusters they train on.
  void disjoint() const {
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const std::vector<bool> trains = marked(folds_[k].train);
      (void)marked(folds_[k].test);
      const auto shared = std::ranges::count_if(folds_[k].test, [&](std::size_t row) { return trains[row]; });
      if (shared > 0) {
        refuse(
            "{} of cv has {} of its {} test rows among its training rows; expected training rows without the test "
            "rows, as KFold makes them",
            name(k), shared, folds_[k].test.size());
      }
      if (table_.rows.clusters.empty() || with(folds_[k].test, folds_[k].train, table_.rows.clusters) == 0) continue;
      refuse(
          "{} of cv separates rows of one cluster; use a splitter by groups, such as GroupKFold, or a number of folds",
          name(k));
    }
  }

  /// Throw if a fold has rows that calibrate: the localizer would depend on their outcomes.
  void leave_out(std::span<const std::size_t> calibration) const {
    const std::vector<bool> calibrates = marked(calibration);
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      for (const std::vector<std::size_t>& rows : {folds_[k].train, folds_[k].test}) {
        const auto found = std::ranges::find_if(rows, [&](std::size_t row) { return calibrates[row]; });
        if (found != rows.end())
          refuse("{} of cv has row {}, which calibrates; split the fitting rows", name(k), *found);
      }
    }
  }

  /// Throw unless every row is in one test fold, and each fold trains on all other rows once: the guarantee of CV+
  /// needs fold models that are fitted alike, each on the complement of its fold.
  void partition() const {
    const std::size_t n = table_.rows.x.rows();
    std::vector<std::size_t> tested(n);
    for (const Fold& fold : folds_) {
      for (const std::size_t row : fold.test) ++tested[row];
    }
    const auto none = std::ranges::count(tested, 0U);
    const auto several = std::ranges::count_if(tested, [](std::size_t times) { return times > 1; });
    if (none > 0 || several > 0) {
      refuse(
          "cross-calibration needs every row in exactly one test fold; found {} in none and {} in several; pass cv as "
          "a number, KFold or LeaveOneOut",
          count_of(static_cast<std::uint64_t>(none), "row"), several);
    }
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const std::vector<bool> trains = marked(folds_[k].train);
      const auto distinct = static_cast<std::size_t>(std::ranges::count(trains, true));
      const std::size_t missing = n - folds_[k].test.size() - distinct;
      const std::size_t repeated = folds_[k].train.size() - distinct;
      if (missing + repeated > 0) {
        refuse(
            "cross-calibration trains each fold on all rows outside it, once each; in {} {} of them are {}; pass cv "
            "as a number, KFold or LeaveOneOut",
            name(k), missing > 0 ? missing : repeated, missing > 0 ? "left out" : "repeated");
      }
      const std::size_t copies = table_.copies.empty() ? 0 : with(folds_[k].train, folds_[k].test, table_.copies);
      if (copies > 0) {
        refuse(
            "{} of cv trains on {} of its test rows; pass cv as a number, set duplicates='drop', or "
            "duplicates='keep' if equal rows are separate observations",
            name(k), count_of(copies, "copy"));
      }
    }
  }

 private:
  template <class... Values>
  [[noreturn]] static void refuse(fmt::format_string<Values...> text, Values&&... values) {
    throw Error(ErrorCode::kInvalidArgument, "fit: " + fmt::format(text, std::forward<Values>(values)...));
  }

  [[nodiscard]] std::string name(std::size_t k) const { return fmt::format("fold {} of {}", k + 1, folds_.size()); }

  [[nodiscard]] std::vector<bool> marked(std::span<const std::size_t> rows) const {
    std::vector<bool> found(table_.rows.x.rows());
    for (const std::size_t row : rows) {
      if (row >= found.size()) refuse("cv names row {}, but there are {}", row, count_of(found.size(), "row"));
      found[row] = true;
    }
    return found;
  }

  /// How many of `rows` have a number that one of `others` has.
  [[nodiscard]] static std::size_t with(std::span<const std::size_t> rows, std::span<const std::size_t> others,
                                        std::span<const std::int64_t> numbers) {
    std::vector<std::int64_t> found;
    for (const std::size_t row : others) found.push_back(numbers[row]);
    std::ranges::sort(found);
    const auto is_found = [&](std::size_t row) { return std::ranges::binary_search(found, numbers[row]); };
    return static_cast<std::size_t>(std::ranges::count_if(rows, is_found));
  }

  const FitTable& table_;
  const std::vector<Fold>& folds_;
};

/// The training rows without the copies of test rows.
void drop_copies(std::vector<Fold>& folds, std::span<const std::int64_t> copies) {
  if (copies.empty()) return;
  for (Fold& fold : folds) {
    std::vector<std::int64_t> tested;
    for (const std::size_t row : fold.test) tested.push_back(copies[row]);
    std::ranges::sort(tested);
    std::erase_if(fold.train, [&](std::size_t row) { return std::ranges::binary_search(tested, copies[row]); });
  }
}

SplitPart planned_part(const FitTable& table, const FitOptions& options, GivenFolds given) {
  const Workers workers(nullptr);
  internal::SetAside rows(table, options, workers);
  SplitPart part{.fitting = rows.fitting.rows, .calibration = rows.calibration.rows, .folds = {}};
  if (given) {
    FoldChecks(table, *given).disjoint();
    FoldChecks(table, *given).leave_out(part.calibration);
    part.folds = std::move(*given);
    drop_copies(part.folds, table.copies);
  } else {
    set_folds(part, internal::cross_fitting_folds(rows.fitting, options, workers));
  }
  const auto before = [&](std::size_t a, std::size_t b) {
    if (!table.rows.times.empty() && table.rows.times[a] != table.rows.times[b])
      return table.rows.times[a] < table.rows.times[b];
    return a < b;
  };
  std::ranges::sort(part.fitting, before);
  std::ranges::sort(part.learning, before);
  std::ranges::sort(part.calibration, before);
  for (Fold& fold : part.folds) {
    if (given) continue;
    std::ranges::sort(fold.train, before);
    std::ranges::sort(fold.test, before);
  }
  return part;
}

/// The folds of cross-calibration, each with the folds of its cross-fitting.
std::vector<SplitPart> planned_folds(const FitTable& table, const FitOptions& options, GivenFolds given,
                                     bool one_width) {
  const Workers workers(nullptr);
  std::vector<SplitPart> parts;
  if (given) {
    internal::check_fold_count(given->size());
    FoldChecks(table, *given).disjoint();
    FoldChecks(table, *given).partition();
    for (Fold& fold : *given) {
      parts.push_back({.fitting = std::move(fold.train),
                       .calibration = internal::distinct_rows(std::move(fold.test), table.copies),
                       .folds = {}});
    }
  } else {
    parts = internal::cross_parts(table, options);
  }
  if (one_width) return parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const internal::PartOfTable others(table, parts[k].fitting);
    const FitOptions of_fold = internal::fold_options(options, k);
    const internal::SetAside rows(others.table(), of_fold, workers);
    std::vector<std::size_t> fitting;
    for (const std::size_t row : rows.fitting.rows) fitting.push_back(parts[k].fitting[row]);
    parts[k].folds = folds_of(fitting, internal::cross_fitting_folds(rows.fitting, of_fold, workers));
  }
  return parts;
}

std::vector<std::size_t> all_rows(const FitTable& table) {
  std::vector<std::size_t> rows(table.rows.x.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

/// Rename the rows of some of a table to those of the table.
void rename(std::vector<std::size_t>& rows, std::span<const std::size_t> names) {
  for (std::size_t& row : rows) {
    if (row >= names.size())
      throw Error(ErrorCode::kInvalidArgument, "fit: cv names rows that the table does not have");
    row = names[row];
  }
}

SplitPlan plan(const FitTable& table, const FitOptions& options, GivenFolds given) {
  const Workers workers(nullptr);
  internal::check_columns(table, options, workers);
  const bool cross = options.calibration == CalibrationMethod::kCross;
  const internal::OptionsForRows few(options, table, workers);
  const bool names_rows = given && given->empty();
  const auto parts_of = [&](const FitTable& rows) {
    if (!cross) return std::vector{planned_part(rows, options, std::move(given))};
    if (names_rows) return std::vector{SplitPart{.fitting = all_rows(rows), .calibration = {}, .folds = {}}};
    return planned_folds(rows, options, std::move(given), few.options.score_transform == "identity");
  };
  internal::RowCopies copies = internal::find_copies(table, options.duplicates, workers);
  if (!copies.first.empty() && options.duplicates == Duplicates::kDrop) {
    const std::vector<std::size_t> names = internal::distinct_rows(copies.first);
    std::vector<std::size_t> places(table.rows.x.rows());
    for (std::size_t i = 0; i < names.size(); ++i) places[names[i]] = i;
    if (given) {
      for (Fold& fold : *given) {
        rename(fold.train, places);
        rename(fold.test, places);
      }
    }
    SplitPlan plan{.parts = parts_of(internal::PartOfTable(table, names).table())};
    for (SplitPart& part : plan.parts) {
      rename(part.fitting, names);
      rename(part.learning, names);
      rename(part.calibration, names);
      for (Fold& fold : part.folds) {
        rename(fold.train, names);
        rename(fold.test, names);
      }
    }
    return plan;
  }
  FitTable rows = table;  // a view
  rows.copies = copies.first;
  std::vector<SplitPart> parts = parts_of(rows);
  return {.parts = std::move(parts), .copies = std::move(copies.first), .warning = std::move(copies.warning)};
}

}  // namespace

std::vector<std::vector<double>> internal::predicted_values(const FitTable& table,
                                                            const PlannedPredictions& predictions) {
  const std::size_t columns = prediction_columns(table);
  const std::vector<SplitPart>& parts = predictions.plan.parts;
  if (parts.empty() || predictions.values.size() != parts.size()) {
    throw make_error(ErrorCode::kShapeMismatch, "fit: a plan of {} but predictions of {}",
                     count_of(parts.size(), "part"), predictions.values.size());
  }
  std::vector<std::vector<double>> values;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::span<const double> given = predictions.values[k];
    if (given.size() != table.rows.x.rows() * columns) {
      throw make_error(ErrorCode::kShapeMismatch, "fit: {} of x but {} in part {} of the plan",
                       count_of(table.rows.x.rows(), "row"), count_of(given.size() / columns, "prediction"), k);
    }
    std::vector<double>& kept = values.emplace_back(given.size());
    for (const std::vector<std::size_t>& rows : {parts[k].predicted(table.rows.x.rows()), parts[k].calibration}) {
      for (const std::size_t row : rows) std::ranges::copy(given.subspan(row * columns, columns), &kept[row * columns]);
    }
  }
  return values;
}

std::size_t internal::least_predicted(const FitTable& table, std::span<const SplitPart> parts) {
  std::size_t least = table.rows.x.rows();
  for (const SplitPart& part : parts) least = std::min(least, part.predicted(table.rows.x.rows()).size());
  return least;
}

SplitPlan plan_splits(const FitTable& table, const FitOptions& options) { return plan(table, options, std::nullopt); }

SplitPlan plan_splits(const FitTable& table, const FitOptions& options, std::vector<Fold> folds) {
  return plan(table, options, std::move(folds));
}

}  // namespace widthwise
