#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/trainer.hpp>

#include "base/layout.hpp"
#include "base/progress_line.hpp"
#include "train/progress_steps.hpp"

namespace widthwise {
namespace {

using internal::ProgressSteps;
using Length = ProgressSteps::Length;

/// An operation whose steps take known times, on a clock that only they move.
class Operation {
 public:
  [[nodiscard]] ProgressSteps::Clock clock() {
    return [this] { return now_; };
  }
  [[nodiscard]] ProgressCallback callback() {
    return [this](const Progress& progress) {
      const double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
      seen_.push_back({now_, share, internal::seconds_left(now_ - kStart, share)});
      return true;
    };
  }

  /// Run a step, which reports `total` rounds as the maximum and stops after `rounds`.
  void run(const ProgressCallback& callback, double seconds, std::size_t rounds, std::size_t total) {
    for (std::size_t round = 0; round <= rounds; ++round) {
      if (round > 0) now_ += seconds / static_cast<double>(rounds);
      report(callback, {.stage = "step", .done = round, .total = total, .loss = 0});
    }
  }

  void expect_rising_shares() const {
    ASSERT_FALSE(seen_.empty());
    for (std::size_t i = 1; i < seen_.size(); ++i) EXPECT_GE(seen_[i].share, seen_[i - 1].share) << i;
    EXPECT_GE(seen_.front().share, 0);
    EXPECT_LE(seen_.back().share, 1);
  }

  /// The largest factor between the time that was left and the estimate, in either direction, up to the last seconds.
  [[nodiscard]] double largest_error(double from) const {
    double largest = 1;
    for (const Seen& seen : seen_) {
      const double left = now_ - seen.time;
      if (seen.time < from || left < 4) continue;
      EXPECT_FALSE(std::isnan(seen.left)) << seen.time;
      largest = std::max({largest, seen.left / left, left / std::max(seen.left, 1e-9)});
    }
    return largest;
  }

  [[nodiscard]] double final_share() const { return seen_.back().share; }
  [[nodiscard]] double first_time_with_estimate() const {
    const auto found = std::ranges::find_if(seen_, [](const Seen& seen) { return !std::isnan(seen.left); });
    return found == seen_.end() ? INFINITY : found->time;
  }

 private:
  static constexpr double kStart = 100;

  struct Seen {
    double time;
    double share;
    double left;
  };

  double now_ = kStart;
  std::vector<Seen> seen_;
};

TEST(ProgressSteps, OneBarCoversAllStepsWithTheTimeLeftOfTheWhole) {
  Operation operation;
  const ProgressCallback callback = operation.callback();
  ProgressSteps steps(callback, operation.clock());
  steps.plan("base", 1, Length::kKnown, 6);  // takes 10 times as long
  steps.plan("localizer", 15, Length::kAtMost, 3);
  steps.plan("localizer on all rows", 15);
  for (int fold = 0; fold < 6; ++fold) operation.run(steps.next(), 10, 100, 100);
  for (int goal = 0; goal < 3; ++goal) operation.run(steps.next(), 18, 200, 2000);  // training stops early
  operation.run(steps.next(), 20, 200, 200);
  operation.expect_rising_shares();
  EXPECT_LT(operation.first_time_with_estimate(), 101);
  EXPECT_LT(operation.largest_error(101), 2);
  EXPECT_GT(operation.final_share(), 0.99);
}

TEST(ProgressSteps, StepsOfStepsAreEstimatedFromTheirShares) {
  Operation operation;
  const ProgressCallback callback = operation.callback();
  ProgressSteps whole(callback, operation.clock());
  whole.plan("fold", 1, Length::kKnown, 5);
  for (int fold = 0; fold < 5; ++fold) {
    const ProgressCallback of_fold = whole.next();
    ProgressSteps steps(of_fold, operation.clock());
    steps.plan("base", 1, Length::kKnown, 2);
    steps.plan("localizer", 1, Length::kAtMost);
    for (int k = 0; k < 2; ++k) operation.run(steps.next(), 4, 40, 40);
    operation.run(steps.next(), 3, 30, 300);
  }
  operation.expect_rising_shares();
  EXPECT_LT(operation.largest_error(112), 1.5);  // from the second fold on
  EXPECT_GT(operation.final_share(), 0.99);
}

TEST(ProgressSteps, StepsWithoutReportsAreTimedAfterTheFirst) {
  double now = 0;
  const ProgressCallback callback;
  ProgressSteps steps(callback, [&] { return now; });
  steps.plan("estimator", 1, Length::kKnown, 6);
  for (int fold = 0; fold < 6; ++fold) {
    steps.begin();
    EXPECT_NEAR(steps.share(0), fold / 6.0, 1e-9);
    now += 12;
    EXPECT_LE(steps.share(0), (fold + 1) / 6.0);
  }
}

TEST(ProgressSteps, CancelAndStayEmptyLikeTheirCallback) {
  const ProgressCallback none;
  ProgressSteps silent(none);
  EXPECT_FALSE(silent.next());
  const ProgressCallback stop = [](const Progress&) { return false; };
  ProgressSteps steps(stop);
  EXPECT_THROW(report(steps.next(), {.stage = "step", .done = 1, .total = 2, .loss = 0}), Error);
}

TEST(ProgressLine, FitsTheTerminal) {
  using internal::to_string;
  const std::string stage = "base model, fold 2 of 5";
  EXPECT_EQ(to_string({.stage = stage, .share = 0.5, .rate = "12 rows/s", .seconds_left = 61}, 79),
            "base model, fold 2 of 5  [############............] 50%  12 rows/s  1:01 left");
  // The rate is left out first.
  EXPECT_EQ(to_string({.stage = stage, .share = 0.5, .rate = "1,234,567 rounds/s", .seconds_left = 1}, 79),
            "base model, fold 2 of 5  [############............] 50%  0:01 left");
  EXPECT_EQ(to_string({.stage = std::string(90, 'x'), .share = 1, .seconds_left = NAN}, 50),
            "xxxxxxxxxxxxxx...  [########################] 100%");
  EXPECT_EQ(to_string({.stage = "a\x1b[31m\n", .share = NAN, .seconds_left = NAN}, 79),
            "a?[31m?  [........................] 0%");
  for (std::size_t columns = 0; columns < 90; ++columns) {
    const std::string line = to_string({.stage = "ein größerer Schritt", .share = 0.3, .seconds_left = 4000}, columns);
    const auto letters = std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; });
    EXPECT_LE(static_cast<std::size_t>(letters), columns) << line;
  }
}

TEST(TextWidth, IsThatOfATerminalWithinLimits) {
  EXPECT_EQ(internal::text_width(), 80U);
  for (const auto& [columns, width] : {std::pair<std::size_t, std::size_t>{60, 60}, {5, 40}, {500, 100}, {80, 80}}) {
    internal::set_text_width(columns);
    EXPECT_EQ(internal::text_width(), width);
  }
}

}  // namespace
}  // namespace widthwise
