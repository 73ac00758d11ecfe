#include <widthwise/model_file.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>

#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/model_examples.hpp"

namespace widthwise {
namespace {

Model model_of(std::uint64_t seed) {
  return Model(ModelParts{.features = examples::names(3),
                          .target = "y",
                          .base = examples::trees(3, 1, 5, 2, seed),
                          .localizer = examples::trees(4, 1, 6, 2, seed + 1),
                          .rule = ConformalRule(make_transform("exp"))});
}

void expect_refusal(const std::function<void()>& action, const std::string& shard) {
  const std::string message = message_of(action, ErrorCode::kBadData);
  EXPECT_NE(message.find(shard), std::string::npos) << message;
}

CalibrationShard part_of(const Model& model, const examples::Table& table, std::size_t first, std::size_t count) {
  CalibrationShard shard = CalibrationShard::of(model);
  std::vector<std::uint64_t> keys;
  for (std::size_t i = first; i < first + count; ++i) keys.push_back(mix_bits(i));
  shard.add(model, {.x = table.matrix().slice(first, count)}, std::span(table.y).subspan(first, count), keys);
  return shard;
}

TEST(CalibrationShard, AnyPartitionAndOrderGivesTheSameBytes) {
  const Model model = model_of(1);
  const examples::Table table(1000, 3, 2);
  CalibrationShard whole = CalibrationShard::in(model);
  merge_shard(whole, part_of(model, table, 0, 1000));
  CalibrationShard dealt = CalibrationShard::in(model);
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{600, 400}, {0, 0}, {0, 1}, {1, 599}}) {
    merge_shard(dealt, deserialise_shard(serialise_shard(part_of(model, table, first, count))));
  }
  EXPECT_EQ(serialise_shard(dealt), serialise_shard(whole));
}

TEST(CalibrationShard, FilesAreReadAsTheyWereWritten) {
  const Model model = model_of(1);
  const CalibrationShard shard = part_of(model, examples::Table(50, 3, 2), 0, 50);
  const auto file = std::filesystem::temp_directory_path() / ("part-" + std::to_string(::getpid()));
  save_shard(shard, file);
  const CalibrationShard read = load_shard(file);
  std::filesystem::remove(file);
  EXPECT_EQ(read.scores_of, shard.scores_of);
  EXPECT_EQ(read.calibration, shard.calibration);
  EXPECT_EQ(read.sketch, shard.sketch);
  EXPECT_EQ(read.residuals, shard.residuals);
}

TEST(CalibrationShard, KeepsTheResidualsOfASampleOfTheRows) {
  const Model model = model_of(1);
  const examples::Table table(300, 3, 2);
  CalibrationShard shard = part_of(model, table, 0, 300);
  std::vector<double> predictions(300);
  model.predictions({.x = table.matrix()}, predictions);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 300; ++i) expected.push_back(std::abs(table.y[i] - predictions[i]));
  std::vector<double> found;
  for (const CalibrationRow& row : shard.residuals.rows(0)) found.push_back(row.score);
  std::ranges::sort(expected);
  std::ranges::sort(found);
  EXPECT_EQ(found, expected);

  shard.residuals = Calibration({.capacity = 5, .seed = 1});
  shard.residuals.add(RowNumbers(1), std::vector<double>{1});
  expect_refusal([&] { (void)deserialise_shard(serialise_shard(shard)); }, "found capacity 5 and seed 1");
}

TEST(CalibrationShard, RowsAddedTwiceAreNamedWithTheirGroup) {
  ModelParts parts = model_of(1).parts();
  parts.columns[Role::kGroup] = "g";
  const Model model(parts);
  const examples::Table table(40, 3, 2);
  const std::vector<std::int64_t> groups(40, 7);
  CalibrationShard shard = CalibrationShard::of(model);
  const auto add = [&] { shard.add(model, {.x = table.matrix(), .groups = groups}, table.y, 0); };
  add();
  const std::vector<std::byte> before = serialise_shard(shard);
  EXPECT_NE(message_of(add, ErrorCode::kDuplicateRows).find("to group 7"), std::string::npos);
  const auto merge = [&] { merge_shard(shard, deserialise_shard(before)); };
  EXPECT_NE(message_of(merge, ErrorCode::kDuplicateRows).find("to group 7"), std::string::npos);
  EXPECT_EQ(serialise_shard(shard), before);
}

TEST(CalibrationShard, RowsWithoutAScoreAreNamedByTheirPlaceInTheTable) {
  const Model model(
      ModelParts{.features = examples::names(3), .prediction = "f", .rule = ConformalRule(make_transform("identity"))});
  const examples::Table table(10, 3, 2);
  std::vector<double> predictions(10, 0);
  predictions[3] = std::numeric_limits<double>::quiet_NaN();
  const Rows rows{.x = table.matrix(), .predictions = predictions};
  CalibrationShard shard = CalibrationShard::of(model);
  const auto add = [&] { shard.add(model, rows.slice(2, 8), std::span(table.y).subspan(2), 0); };
  EXPECT_TRUE(message_of(add, ErrorCode::kNotFinite).starts_with("calibrate: row 4 has no score"));
}

TEST(CalibrationShard, OfAnotherModelIsRefused) {
  const examples::Table table(50, 3, 2);
  const Model model = model_of(1);
  CalibrationShard into = CalibrationShard::of(model);
  expect_refusal([&] { merge_shard(into, part_of(model_of(3), table, 0, 50)); }, "scores of another model");
  CalibrationShard other = CalibrationShard::of(model);
  other.calibration = Calibration({.capacity = 5, .seed = 1});
  expect_refusal([&] { merge_shard(into, other); }, "found capacity 5 and seed 1");
  EXPECT_EQ(into.calibration.rows_seen(), 0U);
}

TEST(CalibrationShard, ScoresThatNoModelGaveMergeWithThoseOfAModel) {
  const Model model = model_of(1);
  CalibrationShard own;
  own.calibration.add(RowNumbers(1), std::vector<double>{1, 2});
  CalibrationShard all = CalibrationShard::of(model);
  merge_shard(all, own);
  EXPECT_EQ(all.scores_of, score_fingerprint(model));
  merge_shard(own, part_of(model, examples::Table(50, 3, 2), 0, 50));
  EXPECT_EQ(own.scores_of, score_fingerprint(model));
  expect_refusal([&] { merge_shard(own, CalibrationShard::of(model_of(3))); }, "scores of another model");
  expect_refusal([&] { (void)deserialise_shard(serialise_shard(CalibrationShard())); }, "invalid scores_of 0");
}

TEST(CalibrationShard, ModelsTakeRowsThatTheyHaveNotSeen) {
  const Model model = model_of(1);
  const examples::Table table(300, 3, 2);
  const auto updated = [](const Model& one, bool replaces, const CalibrationShard& shard) {
    CalibrationUpdate update(one, replaces, "--replace");
    update.add(shard);
    return std::move(update).finish();
  };
  const Model calibrated = updated(model, false, part_of(model, table, 0, 200));
  const Model more = updated(calibrated, false, part_of(model, table, 200, 100));
  EXPECT_EQ(serialise(more), serialise(updated(model, true, part_of(model, table, 0, 300))));
  CalibrationShard other_keys = CalibrationShard::of(model);
  other_keys.add(model, {.x = table.matrix()}, table.y, 1);
  EXPECT_NE(
      message_of([&] { (void)updated(more, false, other_keys); }, ErrorCode::kDuplicateRows).find("use --replace"),
      std::string::npos);
  EXPECT_EQ(updated(more, true, other_keys).parts().calibration.rows_seen(), 300U);
}

TEST(CalibrationShard, DamagedBytesAreRefused) {
  const std::vector<std::byte> bytes = serialise_shard(part_of(model_of(1), examples::Table(50, 3, 2), 0, 50));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)deserialise_shard(std::span(bytes).first(size)), Error) << size;
  }
  expect_flips_are_refused(bytes, [](const auto& changed) { (void)deserialise_shard(changed); });
  std::vector<std::byte> changed = bytes;
  changed.back() ^= std::byte{1};
  expect_refusal([&] { (void)deserialise_shard(changed); }, "deserialise_shard: damaged: checksum mismatch (stored ");
  expect_refusal([&] { (void)deserialise_shard(changed); }, "; create the shard again");
}

TEST(CalibrationShard, MayHaveNoSketch) {
  const Model model = model_of(1);
  CalibrationShard shard = part_of(model, examples::Table(50, 3, 2), 0, 50);
  shard.sketch = RowSketch();
  EXPECT_TRUE(deserialise_shard(serialise_shard(shard)).sketch.empty());
}

/// The shard of golden/shard.safetensors.
CalibrationShard golden_shard() { return part_of(model_of(1), examples::Table(20, 3, 2), 0, 20); }

std::filesystem::path golden_shard_file() {
  return std::filesystem::path(WIDTHWISE_TEST_FOLDER) / "golden" / "shard.safetensors";
}

/// Run after a change of the format.
TEST(CalibrationShard, DISABLED_WriteTheGoldenFile) { save_shard(golden_shard(), golden_shard_file()); }

TEST(CalibrationShard, TheGoldenFileIsRead) {
  const CalibrationShard read = load_shard(golden_shard_file());
  EXPECT_EQ(read.scores_of, golden_shard().scores_of);
  EXPECT_EQ(read.calibration, golden_shard().calibration);
  EXPECT_EQ(read.sketch, golden_shard().sketch);
  EXPECT_EQ(read.residuals, golden_shard().residuals);
}

TEST(CalibrationShard, ModelsAndShardsAreDistinguished) {
  const Model model = model_of(1);
  expect_refusal([&] { (void)deserialise_shard(serialise(model)); }, "not a calibration shard: found a model");
  expect_refusal([&] { (void)deserialise(serialise_shard(CalibrationShard::of(model))); },
                 "not a model file: found a calibration shard");
}

TEST(ScoreFingerprint, ChangesOnlyWithTheInputsOfScores) {
  const Model model = model_of(1);
  const std::uint64_t fingerprint = score_fingerprint(model);
  EXPECT_EQ(score_fingerprint(examples::calibrated(model, examples::Table(50, 3, 2))), fingerprint);
  EXPECT_EQ(score_fingerprint(deserialise(serialise(model))), fingerprint);
  const auto changed = [&](const auto& change) {
    ModelParts parts = model.parts();
    change(parts);
    return score_fingerprint(Model(std::move(parts)));
  };
  EXPECT_EQ(changed([](ModelParts& parts) {
              parts.notes["by"] = "someone";
              parts.levels = {0.5};
              parts.outcome_space.low = 0;
              parts.fit_rows = 7;
            }),
            fingerprint);
  // The base model fixes the predictions; given ones are known by their errors.
  EXPECT_EQ(changed([](ModelParts& parts) { parts.fit_residuals = {0.5, 1.0}; }), fingerprint);
  const auto given = [&](double residual) {
    return changed([&](ModelParts& parts) {
      parts.base = nullptr;
      parts.prediction = "f";
      parts.fit_residuals = {residual};
    });
  };
  EXPECT_EQ(given(0.5), given(0.5));
  EXPECT_NE(given(0.5), given(0.6));
  EXPECT_NE(changed([](ModelParts& parts) { parts.unit = 2; }), fingerprint);
  EXPECT_NE(changed([](ModelParts& parts) { parts.target = "z"; }), fingerprint);
  EXPECT_NE(changed([](ModelParts& parts) { parts.features[0] = "z"; }), fingerprint);
  EXPECT_NE(changed([](ModelParts& parts) { parts.base = examples::trees(3, 1, 5, 2, 9); }), fingerprint);
  EXPECT_NE(changed([](ModelParts& parts) { parts.localizer = examples::trees(4, 1, 6, 2, 9); }), fingerprint);
  EXPECT_NE(changed([](ModelParts& parts) { parts.rule = ConformalRule(make_transform("linear")); }), fingerprint);
}

}  // namespace
}  // namespace widthwise
