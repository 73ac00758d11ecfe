#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/fit.hpp>

#include "support/errors.hpp"
#include "support/thread_workers.hpp"
#include "train/fit/splits.hpp"

namespace widthwise {
namespace {

using internal::Splits;
using internal::Workers;

/// A table of one feature in which some rows have copies, in random order.
struct CopiedRows {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> f;

  /// `distinct` rows, of which every `step`-th one occurs `times` times.
  CopiedRows(std::size_t distinct, std::size_t step, std::size_t times, std::uint64_t seed = 1) {
    Random random(seed);
    std::vector<std::pair<double, double>> rows;
    for (std::size_t i = 0; i < distinct; ++i) {
      const double first = random.normal();
      rows.insert(rows.end(), i % step == 0 ? times : 1, {first, first + random.normal()});
    }
    random.shuffle(std::span(rows));
    for (const auto& [a, b] : rows) add(a, b);
  }

  void add(double a, double b) {
    x.push_back(a);
    y.push_back(b);
    f.push_back(a);
  }

  [[nodiscard]] FitTable table() const {
    return {.rows = {.x = {x.data(), y.size(), 1}, .predictions = f},
            .y = y,
            .features = {"x"},
            .target = "y",
            .prediction = "f"};
  }

  /// The first of each set of equal rows.
  [[nodiscard]] CopiedRows distinct() const {
    CopiedRows first(0, 1, 1);
    std::set<std::pair<double, double>> seen;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (seen.emplace(x[i], y[i]).second) first.add(x[i], y[i]);
    }
    return first;
  }
};

FitOptions options_with(Duplicates duplicates) {
  FitOptions options;
  options.score_transform = "identity";
  options.duplicates = duplicates;
  return options;
}

FitResult fit_with(const FitTable& table, const FitOptions& options) { return fit(table, nullptr, nullptr, options); }

TEST(FitCopies, AreNeverOnTwoSidesOfASplitAndCalibrateOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const CopiedRows rows(200, 1 + seed % 3, 2 + seed % 4, seed);
    FitTable table = rows.table();
    table.rows.predictions = {};
    const Workers alone(nullptr);
    const internal::RowCopies copies = internal::find_copies(table, Duplicates::kAuto, alone);
    ASSERT_EQ(copies.first.size(), rows.y.size());
    table.copies = copies.first;
    FitOptions options;
    options.seed = seed;
    const Splits splits(table, options, alone);
    std::map<double, std::set<std::string>> sides;
    const std::vector<std::size_t>& fitting = splits.fitting().rows;
    for (const std::size_t row : splits.calibration().rows) sides[rows.y[row]].insert("calibration");
    for (const std::size_t place : splits.holdout()) sides[rows.y[fitting[place]]].insert("hold-out");
    for (const std::size_t place : splits.training()) sides[rows.y[fitting[place]]].insert("training");
    EXPECT_EQ(sides.size(), 200U);
    for (const auto& [y, found] : sides) EXPECT_EQ(found.size(), 1U) << y;
    std::map<double, std::set<std::size_t>> folds;
    for (std::size_t i = 0; i < fitting.size(); ++i) folds[rows.y[fitting[i]]].insert(splits.folds().fold_of[i]);
    for (const auto& [y, found] : folds) EXPECT_EQ(found.size(), 1U) << y;
    EXPECT_EQ(splits.calibration().rows.size(), 50U);  // a quarter of the distinct rows
  }
}

TEST(FitCopies, AreFoundAndReported) {
  for (const CopiedRows& rows : {CopiedRows(300, 1, 2), CopiedRows(300, 3, 4), CopiedRows(300, 1, 3)}) {
    const FitResult found = fit_with(rows.table(), options_with(Duplicates::kAuto));
    ASSERT_EQ(found.report.warnings.size(), 1U);
    const std::string text =
        "(" + std::to_string(rows.y.size() - 300) + " of " + std::to_string(rows.y.size()) + ") are copies";
    EXPECT_NE(found.report.warnings[0].find(text), std::string::npos) << found.report.warnings[0];
    EXPECT_EQ(found.report.calibration_rows, 75U);
    const FitResult named = fit_with(rows.table(), options_with(Duplicates::kCluster));
    EXPECT_TRUE(named.report.warnings.empty());
    EXPECT_EQ(named.model.parts().calibration.serialise(), found.model.parts().calibration.serialise());
  }
}

TEST(FitCopies, ResampledRowsAreFoundByTheirOutcomes) {
  const CopiedRows population(400, 1, 1);
  CopiedRows rows(0, 1, 1);
  Random random(3);
  for (std::size_t i = 0; i < 400; ++i) {
    const auto row = static_cast<std::size_t>(400 * random.uniform());
    rows.add(population.x[row], population.y[row]);
  }
  EXPECT_EQ(fit_with(rows.table(), options_with(Duplicates::kAuto)).report.warnings.size(), 1U);
}

TEST(FitCopies, EqualRowsOfDiscreteColumnsAreKept) {
  CopiedRows rows(0, 1, 1);
  Random random(4);
  for (std::size_t i = 0; i < 2000; ++i) {
    rows.add(std::floor(20 * random.uniform()), std::floor(30 * random.uniform()));
  }
  const FitResult found = fit_with(rows.table(), options_with(Duplicates::kAuto));
  EXPECT_TRUE(found.report.warnings.empty());
  EXPECT_EQ(found.report.calibration_rows, 500U);
  const FitResult kept = fit_with(rows.table(), options_with(Duplicates::kKeep));
  EXPECT_EQ(kept.model.parts().calibration.serialise(), found.model.parts().calibration.serialise());
}

TEST(FitCopies, AreDropped) {
  const CopiedRows rows(300, 2, 3);
  const CopiedRows first = rows.distinct();
  const FitResult found = fit_with(rows.table(), options_with(Duplicates::kDrop));
  const FitResult expected = fit_with(first.table(), options_with(Duplicates::kKeep));
  EXPECT_TRUE(found.report.warnings.empty());
  EXPECT_EQ(found.report.fit_rows, expected.report.fit_rows);
  EXPECT_EQ(found.report.calibration_rows, 75U);
  EXPECT_EQ(found.report.base_error, expected.report.base_error);
  EXPECT_EQ(found.report.fixed.mean_width, expected.report.fixed.mean_width);
}

TEST(FitCopies, CrossCalibrationCountsDistinctRows) {
  const CopiedRows rows(40, 1, 2);
  FitOptions options = options_with(Duplicates::kAuto);
  options.calibration = CalibrationMethod::kCross;
  const FitResult found = fit_with(rows.table(), options);
  EXPECT_EQ(found.report.warnings.size(), 1U);
  EXPECT_EQ(found.report.calibration_rows, 40U);
  EXPECT_EQ(found.report.fit_rows, 80U);
  options.folds = kFoldPerRow;
  EXPECT_EQ(fit_with(rows.table(), options).model.scheme().rows_by_fold().size(), 40U);
  options.duplicates = Duplicates::kKeep;
  EXPECT_EQ(fit_with(rows.table(), options).model.scheme().rows_by_fold().size(), 80U);
}

TEST(FitCopies, DifferInOtherColumnsAndAreIgnoredWithinBlocks) {
  const CopiedRows rows(300, 1, 2);
  FitTable table = rows.table();
  std::vector<std::int64_t> clusters(rows.y.size());
  for (std::size_t i = 0; i < clusters.size(); ++i) clusters[i] = static_cast<std::int64_t>(i / 4);
  table.rows.groups = clusters;
  table.columns[Role::kGroup] = "store";
  const Workers alone(nullptr);
  EXPECT_TRUE(internal::find_copies(table, Duplicates::kAuto, alone).first.empty());
  table = rows.table();
  table.rows.clusters = clusters;
  table.columns[Role::kCluster] = "patient";
  EXPECT_TRUE(internal::find_copies(table, Duplicates::kAuto, alone).first.empty());
}

TEST(FitCopies, SeveralWorkersRefuseThem) {
  const CopiedRows rows(300, 1, 2);
  ThreadWorkers threads(2);
  threads.run([&](const Communicator& communicator) {
    CopiedRows own(0, 1, 1);
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = communicator.rank(); i < rows.y.size(); i += 2) {
      own.add(rows.x[i], rows.y[i]);
      numbers.push_back(i);
    }
    FitTable table = own.table();
    table.row_numbers = numbers;
    const auto fit_as = [&](Duplicates duplicates) {
      return fit(table, nullptr, nullptr, options_with(duplicates), {}, &communicator);
    };
    expect_error(ErrorCode::kBadData, "several workers cannot keep copies on one side",
                 [&] { (void)fit_as(Duplicates::kAuto); });
    expect_error(ErrorCode::kInvalidArgument, "fit without workers", [&] { (void)fit_as(Duplicates::kDrop); });
    EXPECT_GT(fit_as(Duplicates::kKeep).report.calibration_rows, 0U);
  });
}

}  // namespace
}  // namespace widthwise
