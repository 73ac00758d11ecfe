// Memory runs out at every possible moment: no data is lost, nothing leaks, and the same call succeeds afterwards.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <unistd.h>

#include <widthwise/model_file.hpp>
#include <widthwise/online.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/track.hpp>

#include "base/file.hpp"
#include "support/allocation_counter.hpp"
#include "support/folder_test.hpp"
#include "support/model_examples.hpp"

namespace widthwise {
namespace {

namespace fs = std::filesystem;
using examples::Table;

Model small_model(std::uint64_t seed) {
  const Model model({.features = examples::names(3),
                     .base = examples::trees(3, 1, 2, 2, seed),
                     .localizer = examples::trees(4, 1, 2, 2, seed + 1),
                     .rule = ConformalRule(make_transform("exp")),
                     .levels = {0.5, 0.9}});
  return examples::calibrated(model, Table(40, 3, seed));
}

class FailingMemory : public FolderTest {
 protected:
  void SetUp() override {
    if (!counts_allocations()) GTEST_SKIP() << "the sanitizer brings its own operator new";
    FolderTest::SetUp();
  }
};

/// Change `thing` while allocations fail: it must be unchanged after each failure, and changed in the end.
template <class Thing, class Change>
void expect_all_or_nothing(Thing thing, const Change& change) {
  const std::vector<std::byte> before = thing.serialise();
  Thing changed = thing;
  change(changed);
  const std::size_t failures =
      fail_each_allocation([&] { change(thing); }, [&] { ASSERT_EQ(thing.serialise(), before); });
  EXPECT_GT(failures, 0U);
  EXPECT_EQ(thing.serialise(), changed.serialise());
}

TEST_F(FailingMemory, LeavesTheOldFileOrTheNewOneWhenAModelIsSaved) {
  const fs::path file = at("model.safetensors");
  const Model old_model = small_model(1);
  const Model new_model = small_model(2);
  const std::vector<std::byte> old_bytes = serialise(old_model);
  save(old_model, file);
  const std::vector<std::byte> new_bytes = serialise(new_model);
  const auto check = [&] {
    const std::vector<std::byte> found = internal::read_file(file);
    ASSERT_TRUE(found == old_bytes || found == new_bytes);
    ASSERT_EQ(entries(), 1U) << "a temporary file is left";
  };
  EXPECT_GT(fail_each_allocation([&] { save(new_model, file); }, check), 100U);
  EXPECT_EQ(internal::read_file(file), new_bytes);
}

TEST_F(FailingMemory, LeaksNothingWhenAModelIsLoaded) {
  const fs::path file = at("model.safetensors");
  save(small_model(1), file);
  (void)load(file);
  const std::size_t alive = allocations_alive();
  const std::size_t failures =
      fail_each_allocation([&] { (void)load(file); }, [&] { ASSERT_EQ(allocations_alive(), alive); });
  EXPECT_GT(failures, 100U);
}

TEST_F(FailingMemory, AddsAllRowsToACalibrationOrNone) {
  const Model model = small_model(1);
  const Table more(70, 3, 9);
  expect_all_or_nothing(model.parts().calibration, [&](Calibration& calibration) {
    model.calibrate(calibration, more.for_model(model), more.y, 1000);
  });
  Calibration small({.capacity = 20});
  for (std::uint64_t row = 0; row < 10; ++row) small.add(row, {.score = 1.0});
  const std::vector<double> scores(200, 0.5);
  expect_all_or_nothing(small, [&](Calibration& calibration) { calibration.add(50, scores); });
  expect_all_or_nothing(small, [&](Calibration& calibration) { calibration.add(50, {.score = 2.0}); });
}

TEST_F(FailingMemory, AddsAllRowsOfAllGroupsOrNone) {
  Calibration calibration({.capacity = 20});
  calibration.add(0, {.score = 1.0, .group = 3});
  const std::vector<double> scores(300, 0.5);
  std::vector<std::int64_t> groups;
  for (std::int64_t i = 0; i < 300; ++i) groups.push_back(i % 7);
  expect_all_or_nothing(calibration, [&](Calibration& c) { c.add(50, scores, {}, {}, groups); });
  expect_all_or_nothing(calibration, [&](Calibration& c) { c.add(50, {.score = 2.0, .group = 5}); });
}

TEST_F(FailingMemory, AddsAllRowsToASketchOrNone) {
  RowSketch sketch(20);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 300; ++i) hashes.push_back(mix_bits(i));
  sketch.add(std::span(hashes).first(30));
  expect_all_or_nothing(sketch, [&](RowSketch& s) { s.add(std::span(hashes).subspan(30)); });
  RowSketch other(10);
  other.add(hashes);
  expect_all_or_nothing(sketch, [&](RowSketch& s) { s.merge(other); });
}

/// States of streams with both methods, with and without a test of exchangeability, at their start and after so many
/// rows that the window is full and the test keeps counts between its marks.
std::vector<OnlineCalibration> online_examples() {
  std::vector<OnlineCalibration> found;
  for (const OnlineMethod method : {OnlineMethod::kAdaptive, OnlineMethod::kDecaying}) {
    for (const double rate : {0.0, 0.01}) {
      OnlineCalibration online(small_model(1).parts().calibration, {0.5, 0.9},
                               {.method = method, .window_rows = 50, .false_alarm_rate = rate});
      found.push_back(online);
      for (std::size_t i = 0; i < ExchangeabilityMonitor::kMaxMarks - 40; ++i) {
        online.observe(static_cast<double>(mix_bits(i) % 97));
      }
      found.push_back(online);
    }
  }
  return found;
}

std::vector<double> some_scores(std::size_t rows) {
  std::vector<double> scores;
  for (std::size_t i = 0; i < rows; ++i) scores.push_back(static_cast<double>(mix_bits(i + 7) % 89));
  return scores;
}

TEST_F(FailingMemory, IssuesABatchOrNone) {
  const OnlineCalibration online(small_model(1).parts().calibration, {0.5, 0.9});
  expect_all_or_nothing(online, [](OnlineCalibration& state) { (void)state.issue(70); });
  RowSketch rows(OnlineCalibration::kBatchCapacity);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 70; ++i) hashes.push_back(mix_bits(i));
  rows.add(hashes);
  expect_all_or_nothing(online, [&](OnlineCalibration& state) { (void)state.issue(rows); });
  expect_all_or_nothing(online, [&](OnlineCalibration& state) { state.add_observed(rows); });
}

TEST_F(FailingMemory, ObservesAllRowsOfABatchOrNone) {
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 300; ++i) hashes.push_back(mix_bits(i));
  for (OnlineCalibration online : online_examples()) {
    RowSketch rows(OnlineCalibration::kBatchCapacity);
    rows.add(hashes);
    const std::uint64_t batch = online.issue(rows);
    // One row, few rows, which are inserted into the sorted window, and many.
    for (const std::size_t count : {1U, 30U, 299U, 300U}) {
      const std::vector<double> scores = some_scores(count);
      const std::span<const std::uint64_t> some = std::span(hashes).first(count);
      expect_all_or_nothing(online, [&](OnlineCalibration& state) { state.observe(batch, scores, {}, some, some); });
    }
    const std::uint64_t before = online.rows();
    (void)fail_each_allocation([&] { online.observe(batch, some_scores(300), {}, hashes, hashes); },
                               [&] { ASSERT_EQ(online.rows(), before); });
    EXPECT_EQ(online.rows(), before + 300);
    EXPECT_EQ(online.coverage(0).rows, before + 300);
    EXPECT_EQ(online.rows_pending(), 0U);
  }
}

TEST_F(FailingMemory, ObservesARowThatIsIssuedAtOnceOrNone) {
  for (OnlineCalibration online : online_examples()) {
    // Most rows allocate little; some make the window, the recent rows or the marks of the test larger.
    for (std::size_t i = 0; i < 60; ++i) {
      const std::vector<std::byte> before = online.serialise();
      const std::uint64_t rows = online.rows();
      EXPECT_GT(fail_each_allocation([&] { online.observe(3.5); }, [&] { ASSERT_EQ(online.serialise(), before); }), 0U);
      ASSERT_EQ(online.rows(), rows + 1);
    }
  }
}

TEST_F(FailingMemory, ObservesAllRowsOfAModelOrNone) {
  const Model model = small_model(1);
  const Table rows(70, 3, 9);
  OnlineCalibration online(model.parts().calibration, {0.5, 0.9});
  std::vector<double> predictions(rows.rows());
  std::vector<double> lower(2 * rows.rows());
  std::vector<double> upper(2 * rows.rows());
  const auto issue = [&](OnlineCalibration& state) {
    return model.issue(state, rows.for_model(model), predictions, {lower.data(), rows.rows(), 2},
                       {upper.data(), rows.rows(), 2});
  };
  expect_all_or_nothing(online, [&](OnlineCalibration& state) { (void)issue(state); });
  const std::uint64_t batch = issue(online);
  expect_all_or_nothing(online,
                        [&](OnlineCalibration& state) { model.observe(state, batch, rows.for_model(model), rows.y); });
}

TEST_F(FailingMemory, TracksAllRowsSinceTheLastFinishOrNone) {
  const Model model = small_model(1);
  const Table rows(40, 3, 9);
  const OnlineCalibration start(model.parts().calibration, {0.5, 0.9});
  OnlineCalibration online = start;
  Tracker tracker(model, online, {.batch_size = 7, .delay = 1});
  std::vector<double> predictions(rows.rows());
  std::vector<double> lower(2 * rows.rows());
  std::vector<double> upper(2 * rows.rows());
  const auto track = [&](Tracker& with) {
    with.track(rows.for_model(model), rows.y, predictions, {lower.data(), rows.rows(), 2},
               {upper.data(), rows.rows(), 2});
    with.finish();
  };
  const std::size_t failures = fail_each_allocation([&] { track(tracker); }, [&] { ASSERT_EQ(online, start); });
  EXPECT_GT(failures, 50U);
  OnlineCalibration expected = start;
  Tracker undisturbed(model, expected, {.batch_size = 7, .delay = 1});
  track(undisturbed);
  EXPECT_EQ(online, expected);
}

TEST_F(FailingMemory, TestsAllRowsForExchangeabilityOrNone) {
  const Model model = small_model(1);
  const Table rows(70, 3, 9);
  ExchangeabilityMonitor monitor = monitor_of(model);
  expect_all_or_nothing(monitor,
                        [&](ExchangeabilityMonitor& state) { observe(state, model, rows.for_model(model), rows.y); });
  // The marks of 40 calibration rows and the stream are complete shortly before the end.
  while (monitor.rows() < ExchangeabilityMonitor::kMaxMarks) {
    const std::uint64_t row = monitor.rows();
    if (row + 50 < ExchangeabilityMonitor::kMaxMarks) {
      monitor.observe(static_cast<double>(mix_bits(row) % 97));
      continue;
    }
    const std::vector<std::byte> before = monitor.serialise();
    (void)fail_each_allocation([&] { monitor.observe(2.5); }, [&] { ASSERT_EQ(monitor.serialise(), before); });
    ASSERT_EQ(ExchangeabilityMonitor::deserialise(monitor.serialise()), monitor);
  }
}

TEST_F(FailingMemory, LeavesIntervalsOfTheSameBits) {
  const Model model = small_model(1);
  const Table rows(30, 3, 4);
  const examples::Answers expected = examples::answers(model, rows.for_model(model), {0.5, 0.9});
  std::vector<double> predictions(rows.rows());
  std::vector<double> lower(2 * rows.rows());
  std::vector<double> upper(2 * rows.rows());
  const std::vector<Level> levels{0.5, 0.9};
  const std::size_t alive = allocations_alive();
  (void)fail_each_allocation(
      [&] {
        model.intervals(rows.for_model(model), levels, predictions, {lower.data(), rows.rows(), 2},
                        {upper.data(), rows.rows(), 2});
      },
      [&] { ASSERT_EQ(allocations_alive(), alive); });
  EXPECT_EQ(predictions, expected.predictions);
  EXPECT_EQ(lower, expected.lower);
  EXPECT_EQ(upper, expected.upper);
}

TEST_F(FailingMemory, MergesAPartOrLeavesTheOther) {
  const Model model = small_model(1);
  const Table more(50, 3, 9);
  CalibrationShard part = CalibrationShard::of(model);
  model.calibrate(part.calibration, more.for_model(model), more.y, 1000);
  CalibrationShard into = CalibrationShard::in(model);
  const std::vector<std::byte> before = serialise_shard(into);
  const std::size_t failures =
      fail_each_allocation([&] { merge_shard(into, part); }, [&] { ASSERT_EQ(serialise_shard(into), before); });
  EXPECT_GT(failures, 0U);
}

}  // namespace
}  // namespace widthwise
