#include <widthwise/model_file.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/track.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/version.hpp>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/words.hpp"
#include "support/allocation_counter.hpp"
#include "support/bit_flips.hpp"
#include "support/errors.hpp"
#include "support/folder_test.hpp"
#include "support/model_examples.hpp"
#include "support/numbers.hpp"
#include "support/sealing.hpp"
#include "support/statistics.hpp"

namespace widthwise {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A file's header and data, to change and to put together again.
struct Pieces {
  json header;
  std::string data;

  explicit Pieces(const std::vector<std::byte>& bytes) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::uint64_t length = 0;
    std::memcpy(&length, text.data(), sizeof length);
    header = json::parse(text.substr(8, length));
    data = text.substr(8 + length);
  }

  /// With the right checksum of the file, where it has one; those within arrays stay.
  [[nodiscard]] std::vector<std::byte> together() const {
    std::vector<std::byte> bytes = together(header.dump());
    (void)internal::seal(bytes);
    return bytes;
  }

  [[nodiscard]] std::vector<std::byte> together(const std::string& header_text) const {
    const std::uint64_t length = header_text.size();
    std::string text(sizeof length, '\0');
    std::memcpy(text.data(), &length, sizeof length);
    text += header_text + data;
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  [[nodiscard]] json& text(const std::string& name) { return header["__metadata__"][name]; }

  /// Change number i of an array.
  template <class T>
  void put(const std::string& array, std::size_t i, T value) {
    const std::size_t at = header.at(array).at("data_offsets").at(0).get<std::size_t>() + i * sizeof(T);
    std::memcpy(data.data() + at, &value, sizeof value);
  }

  /// Add an array at the end.
  void append(const std::string& array, const std::string& type, const json& shape, const std::string& bytes) {
    header[array] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
};

std::string refusal_of(const std::vector<std::byte>& bytes) {
  try {
    (void)deserialise(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
    return error.what();
  }
  return "";
}

/// Expect that a file is refused for this reason once `spoil` has changed it.
void expect_refusal(const std::vector<std::byte>& bytes, const char* why, const std::function<void(Pieces&)>& spoil) {
  Pieces pieces(bytes);
  spoil(pieces);
  const std::string message = refusal_of(pieces.together());
  EXPECT_NE(message.find(why), std::string::npos) << why << ": " << message;
}

/// Every kind of base model and localizer that a file holds, and no base model.
enum class Kind { kNone, kTrees, kNet };

std::shared_ptr<const RowFunction> function_of(Kind kind, std::uint32_t inputs, std::uint32_t outputs) {
  switch (kind) {
    case Kind::kNone:
      return nullptr;
    case Kind::kTrees:
      return examples::trees(inputs, outputs, 3 * outputs, 2, 21);
    case Kind::kNet:
      return examples::net(inputs, outputs, 22);
  }
  return nullptr;
}

Model model_of(const ConformalRule& rule, Kind base, Kind localizer) {
  ModelParts parts{.features = {"age", "größe", "a \"b\"\n,"}, .target = "y", .rule = rule};
  parts.base = function_of(base, 3, 1);
  if (parts.base == nullptr) parts.prediction = "prediction";
  if (rule.parameter_count() > 0) {
    parts.localizer = function_of(localizer, 4, static_cast<std::uint32_t>(rule.parameter_count()));
  }
  parts.unit = 0.25;
  parts.outcome_space.low = -70.1;
  parts.levels = {Level::parse("0.9"), Level::parse("0.123456789012345678"), Level::parse("0.5")};
  parts.fit_residuals = {0, 0.1, 0.1, 1e300};
  parts.fit_rows = 12345678901234567U;
  parts.notes = {{"", "empty name"}, {"goal", "even"}, {"text", std::string("\0\x01\x7f \\ \"\xf0\x9f\x8c\xb2", 11)}};
  return examples::calibrated(Model(parts), examples::Table(40, 3, 24), {.capacity = 30, .seed = 5});
}

void expect_round_trip(const Model& model) {
  const std::vector<std::byte> bytes = serialise(model);
  const Model read = deserialise(bytes);
  ASSERT_EQ(serialise(read), bytes);
  const ModelParts& a = model.parts();
  const ModelParts& b = read.parts();
  EXPECT_EQ(b.features, a.features);
  EXPECT_EQ(b.target, a.target);
  EXPECT_EQ(b.prediction, a.prediction);
  EXPECT_EQ(b.rule.transform().name(), a.rule.transform().name());
  EXPECT_EQ(b.rule.transform().options(), a.rule.transform().options());
  EXPECT_EQ(b.rule.score(), a.rule.score());
  EXPECT_EQ(b.rule.sides(), a.rule.sides());
  EXPECT_EQ(b.unit, a.unit);
  EXPECT_EQ(b.outcome_space, a.outcome_space);
  EXPECT_EQ(b.levels, a.levels);
  EXPECT_EQ(b.calibration, a.calibration);
  EXPECT_EQ(b.fit_residuals, a.fit_residuals);
  EXPECT_EQ(b.fit_rows, a.fit_rows);
  EXPECT_EQ(b.notes, a.notes);
  EXPECT_EQ(b.online, a.online);
  const examples::Table table(50, 3, 25);
  ASSERT_EQ(examples::answers(read, table.for_model(read), b.levels),
            examples::answers(model, table.for_model(model), a.levels));
}

TEST(ModelFile, EveryKindOfModelIsReadAsItWasWritten) {
  for (const auto transform : transform_names()) {
    for (const Sides sides : {Sides::kOne, Sides::kTwo}) {
      for (const Score score : {Score::kAbsolute, Score::kSquared, Score::kLog}) {
        if (score == Score::kLog && !make_transform(transform)->takes_negative_scores()) continue;
        const ConformalRule rule(make_transform(transform, {.gamma = 0.3, .epsilon = 0.07}), score, sides);
        for (const Kind base : {Kind::kNone, Kind::kTrees, Kind::kNet}) {
          for (const Kind localizer : {Kind::kTrees, Kind::kNet}) expect_round_trip(model_of(rule, base, localizer));
        }
      }
    }
  }
}

TEST(ModelFile, ModelsOfExtremeNumbersAreReadAsTheyWereWritten) {
  ModelParts parts{.prediction = "f",
                   .rule = ConformalRule(make_transform("erc", {.gamma = 1e-310})),
                   .unit = 0x1p-500,
                   .levels = {Level::parse("0.0000000000000000001")}};
  parts.localizer = examples::trees(1, 1, 0, 0, 26);
  parts.outcome_space = {.low = -0.0, .high = 4.9e-324};
  parts.fit_rows = std::numeric_limits<std::uint64_t>::max();
  const std::vector<std::byte> bytes = serialise(Model(parts));
  const Model read = deserialise(bytes);
  EXPECT_EQ(serialise(read), bytes);
  EXPECT_EQ(read.parts().outcome_space.high, 4.9e-324);
  EXPECT_TRUE(std::signbit(read.parts().outcome_space.low));
  EXPECT_EQ(read.parts().fit_rows, parts.fit_rows);
  EXPECT_EQ(read.parts().levels, parts.levels);
  EXPECT_EQ(read.parts().rule.transform().options().gamma, 1e-310);
}

TEST(ModelFile, ACalibrationWithGroupsIsKept) {
  const Model bare = model_of(ConformalRule(make_transform("exp")), Kind::kTrees, Kind::kTrees);
  const examples::Table table(90, 3, 27);
  Calibration calibration;
  bare.calibrate(calibration, {.x = table.matrix(), .groups = table.groups}, table.y, 0);
  const Model model = bare.with_calibration(calibration);
  const Model read = deserialise(serialise(model));
  EXPECT_EQ(read.parts().calibration, calibration);
  const Rows rows{.x = table.matrix(), .groups = table.groups};
  EXPECT_EQ(examples::answers(read, rows, {0.5}), examples::answers(model, rows, {0.5}));
}

// --- golden files

/// A file of tests/golden.
fs::path golden(const std::string& name) { return fs::path(WIDTHWISE_TEST_FOLDER) / "golden" / name; }
fs::path golden_file(const std::string& feature) { return golden(fmt::format("model-{}.safetensors", feature)); }

/// The model of golden/model-trees.safetensors: trees below and above, missing values, a unit, a range.
Model golden_model() {
  ModelParts parts{.features = {"age", "größe", "rooms"},
                   .target = "price",
                   .base = examples::trees(3, 1, 5, 2, 31),
                   .localizer = examples::trees(4, 2, 6, 2, 32),
                   .rule = ConformalRule(make_transform("affine")),
                   .unit = 4,
                   .outcome_space = {.low = -20},
                   .levels = {0.8, 0.9},
                   .fit_residuals = {0.25, 1, 2.5},
                   .fit_rows = 1000,
                   .notes = {{"goal", "narrow"}}};
  return examples::calibrated(Model(parts), examples::Table(60, 3, 33));
}

/// The model of golden/model-online.safetensors: the same, in the middle of a stream.
Model golden_online_model() {
  const Model model = golden_model();
  OnlineCalibration online(model.parts().calibration, {0.8, 0.9}, {.window_rows = 50, .false_alarm_rate = 0});
  const examples::Table table(80, 3, 34);
  const std::size_t n = table.rows();
  std::vector<double> unused(5 * n);
  Tracker(model, online)
      .track(table.for_model(model), table.y, {unused.data(), n}, {unused.data() + n, n, 2},
             {unused.data() + 3 * n, n, 2});
  return model.with_online(online);
}

/// The model of golden/model-sketches.safetensors: the same with sketches of the rows that fitted and calibrated it.
Model golden_sketched_model() {
  ModelParts parts = golden_online_model().parts();
  const examples::Table fitted(40, 3, 35);
  RowHasher hasher(parts.features);
  parts.fit_sketch.add(hasher, fitted.matrix(), fitted.y);
  parts.fit_sketch.add(hasher, fitted.matrix().slice(0, 3), std::span(fitted.y).first(3));
  const examples::Table calibrated(60, 3, 33);
  parts.calibration_sketch.add(hasher, calibrated.matrix(), calibrated.y);
  return Model(std::move(parts));
}

/// The model of golden/model-guarantee.safetensors: the same with a training-conditional guarantee.
Model golden_guaranteed_model() { return golden_sketched_model().with_guarantee(Guarantee(0.95)); }

/// The model of golden/model-categories.safetensors: categories in both functions.
Model golden_categorical_model() {
  ModelParts parts = golden_model().parts();
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("c" + std::to_string(i));
  parts.categories = {Labels(), Labels(many), Labels(std::vector<std::string>{"eins", "\"zwei\"", "größe"})};
  parts.base = examples::with_sets(*parts.base, {0, 40, 3}, 36);
  parts.localizer = examples::with_sets(*parts.localizer, {0, 40, 3}, 37);
  return Model(std::move(parts));
}

/// The model of golden/model-folds.safetensors: cross-calibrated in two folds.
Model golden_cross_model() {
  std::vector<Model> folds;
  for (std::uint64_t k = 0; k < 2; ++k) {
    ModelParts parts = golden_model().parts();
    parts.base = examples::trees(3, 1, 3, 2, 40 + k);
    parts.fit_residuals.clear();
    parts.calibration = Calibration();
    folds.push_back(examples::calibrated(Model(std::move(parts)), examples::Table(30, 3, 42 + k)));
  }
  return Model::of_folds(std::move(folds), "", RowSketch());
}

/// The model of golden/model-groups.safetensors: labelled groups, some of which are pooled.
Model golden_grouped_model() {
  ModelParts parts = golden_model().parts();
  parts.columns[Role::kGroup] = "bezirk";
  parts.pool_groups = 9;
  parts.calibration = Calibration();
  const Model model(parts);
  const examples::Table table(60, 3, 33);
  GroupLabels labels;
  std::vector<std::int64_t> groups;
  for (std::size_t i = 0; i < table.rows(); ++i) groups.push_back(labels.add(i < 30 ? "Süd" : i < 55 ? "7" : "Nord"));
  Calibration calibration;
  Rows rows = table.for_model(model);
  rows.groups = groups;
  rows.labels = &labels;
  model.calibrate(calibration, rows, table.y, 0);
  return model.with_calibration(std::move(calibration));
}

/// The model of golden/model-weights.safetensors: learnt weights.
Model golden_weighted_model() {
  ModelParts parts = golden_model().parts();
  parts.shift = examples::trees(3, 1, 4, 2, 38);
  parts.calibration = Calibration();
  return examples::calibrated(Model(parts), examples::Table(60, 3, 33));
}

/// The model of golden/model-quantiles.safetensors: predictions are two columns of quantiles.
Model golden_quantile_model() {
  ModelParts parts = golden_model().parts();
  parts.base = nullptr;
  parts.localizer = examples::trees(5, 2, 6, 2, 39);
  parts.prediction = "q05";
  parts.upper_prediction = "größtes";
  parts.calibration = Calibration();
  return examples::calibrated(Model(parts), examples::Table(60, 3, 33));
}

/// The model of golden/model-weight-column.safetensors: weights are a column.
Model golden_model_with_weight_column() {
  ModelParts parts = golden_model().parts();
  parts.columns[Role::kWeight] = "gewicht";
  parts.calibration = Calibration();
  const Model model(parts);
  const examples::Table table(60, 3, 33);
  std::vector<double> weights;
  for (std::size_t i = 0; i < table.rows(); ++i) weights.push_back(0.5 + static_cast<double>(i % 7));
  Calibration calibration;
  Rows rows = table.for_model(model);
  rows.weights = weights;
  model.calibrate(calibration, rows, table.y, 0);
  return model.with_calibration(std::move(calibration));
}

/// The model of golden/model-clusters.safetensors: calibrated by 12 clusters of unequal sizes, each of which counts
/// once. That of golden/model-cluster-rows.safetensors counts rows, for clusters of up to 6 rows, and knows the
/// clusters of its fit.
Model golden_clustered_model(ClusterForm form = ClusterForm::kClusters) {
  ModelParts parts = golden_model().parts();
  parts.columns[Role::kCluster] = "haus";
  parts.cluster_coverage = form;
  if (form == ClusterForm::kRows) {
    parts.max_cluster_size = 6;
    parts.fit_cluster_size = 3;
    parts.fit_clusters.add(std::vector{cluster_hash(1), cluster_hash(1), cluster_hash(1), cluster_hash(2)});
  }
  parts.calibration = Calibration();
  const Model model(parts);
  const examples::Table table(60, 3, 33);
  std::vector<std::int64_t> clusters;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::size_t haus = form == ClusterForm::kRows ? i / 5 : std::min<std::size_t>(i, 11);
    clusters.push_back(group_number("Haus " + std::to_string(haus)));
  }
  Calibration calibration;
  Rows rows = table.for_model(model);
  rows.clusters = clusters;
  model.calibrate(calibration, rows, table.y, 0);
  return model.with_calibration(std::move(calibration));
}

/// The model of golden/model-group-clusters.safetensors: rows of clusters count in each of two labelled groups, over
/// which each cluster is spread.
Model golden_model_with_clusters_in_groups() {
  ModelParts parts = golden_model().parts();
  parts.columns[Role::kGroup] = "bezirk";
  parts.columns[Role::kCluster] = "haus";
  parts.max_cluster_size = 3;
  parts.calibration = Calibration();
  const Model model(parts);
  const examples::Table table(60, 3, 33);
  GroupLabels labels;
  std::vector<std::int64_t> groups;
  std::vector<std::int64_t> clusters;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    groups.push_back(labels.add(i % 2 == 0 ? "Süd" : "7"));
    clusters.push_back(group_number("Haus " + std::to_string(i / 5)));
  }
  Calibration calibration;
  Rows rows = table.for_model(model);
  rows.groups = groups;
  rows.clusters = clusters;
  model.calibrate(calibration, rows, table.y, 0);
  calibration.name_groups(labels);
  return model.with_calibration(std::move(calibration));
}

/// The state of golden/online-batches.bin: a stream in batches, one of which is pending in part. That of
/// golden/online-alarm.bin has an alarm as well.
OnlineCalibration golden_batches(double false_alarm_rate = 0) {
  Random random(36);
  Calibration calibration;
  std::vector<double> scores(60);
  for (double& score : scores) score = random.uniform();
  calibration.add(0, scores);
  OnlineCalibration online(calibration, {0.8, 0.9}, {.window_rows = 50, .false_alarm_rate = false_alarm_rate});
  for (int day = 0; day < 6; ++day) {
    const std::uint64_t batch = online.issue(30);
    for (double& score : scores) score = static_cast<double>(1 + day) * random.uniform();
    const std::size_t known = day == 4 ? 20 : 30;
    online.observe(batch, std::span(scores).first(known), std::vector<std::uint8_t>(2 * known, day % 2 == 0 ? 1 : 0));
  }
  (void)online.issue(5);
  return online;
}

/// The state of golden/online-rows.bin: the same without an alarm, and with hashes of rows.
OnlineCalibration golden_rows() {
  OnlineCalibration online = golden_batches();
  const std::vector<std::uint64_t> hashes = {40, 10, 30, 10, 20};
  RowSketch rows(OnlineCalibration::kBatchCapacity);
  rows.add(hashes);
  const std::uint64_t batch = online.issue(rows);
  online.observe(batch, std::vector<double>{0.5, 2}, {}, std::span(hashes).first(2));
  online.add_observed(std::span(hashes).first(2));
  return online;
}

/// The model of golden/model-outcome-step.safetensors: outcomes that are multiples of 0.5.
Model golden_stepped_model() {
  ModelParts parts = golden_model().parts();
  parts.outcome_space.step = 0.5;
  return Model(std::move(parts));
}

/// The model of golden/model-net.safetensors: networks as base model and localizer.
Model golden_net_model() {
  ModelParts parts = golden_model().parts();
  parts.base = examples::net(3, 1, 61);
  parts.localizer = examples::net(4, 2, 62);
  parts.calibration = Calibration();
  return examples::calibrated(Model(parts), examples::Table(60, 3, 33));
}

/// The model of golden/model-predictions.safetensors: one width around given predictions.
Model golden_prediction_model() {
  ModelParts parts{.features = {"age", "größe", "rooms"},
                   .target = "price",
                   .prediction = "f",
                   .rule = ConformalRule(make_transform("identity")),
                   .levels = {0.8, 0.9}};
  return examples::calibrated(Model(parts), examples::Table(60, 3, 33));
}

struct GoldenModel {
  const char* feature;
  Model model;
};

/// The models of golden/model-*.safetensors, made from their parts.
std::vector<GoldenModel> golden_models() {
  return {{"trees", golden_model()},
          {"net", golden_net_model()},
          {"predictions", golden_prediction_model()},
          {"quantiles", golden_quantile_model()},
          {"categories", golden_categorical_model()},
          {"outcome-step", golden_stepped_model()},
          {"groups", golden_grouped_model()},
          {"weights", golden_weighted_model()},
          {"weight-column", golden_model_with_weight_column()},
          {"clusters", golden_clustered_model()},
          {"cluster-rows", golden_clustered_model(ClusterForm::kRows)},
          {"folds", golden_cross_model()},
          {"guarantee", golden_guaranteed_model()},
          {"sketches", golden_sketched_model()},
          {"online", golden_online_model()},
          {"group-clusters", golden_model_with_clusters_in_groups()}};
}

/// Run after a change of the format or with a new feature; golden/intervals.txt stays as it is.
TEST(ModelFile, DISABLED_WriteTheGoldenFiles) {
  for (const auto& [feature, model] : golden_models()) save(model, golden_file(feature));
  internal::write_file_atomically(golden("online-batches.bin"), golden_batches().serialise());
  internal::write_file_atomically(golden("online-alarm.bin"), golden_batches(0.01).serialise());
  internal::write_file_atomically(golden("online-rows.bin"), golden_rows().serialise());
}

TEST(ModelFile, GoldenFilesAreReadAndWrittenUnchanged) {
  for (const auto& [feature, made] : golden_models()) {
    SCOPED_TRACE(feature);
    const std::vector<std::byte> bytes = internal::read_file(golden_file(feature));
    EXPECT_LT(bytes.size(), 20'000U);
    const std::vector<std::byte> again = serialise(deserialise(bytes));
    EXPECT_EQ(again, serialise(made));
    if (Pieces(bytes).text("widthwise") == kVersion) {
      EXPECT_EQ(again, bytes);
    }
  }
}

/// The intervals of a golden model for six rows, as lines of golden/intervals.txt: row, prediction and bounds of each
/// level; and for a stream its quantiles. All numbers are hexadecimal.
std::string golden_lines(const std::string& feature, const Model& model) {
  const std::vector<double> x = {0,   0,    0,    -1.5, 1,    2,    kNaN, 17, 1,  //
                                 0.3, kNaN, kNaN, kNaN, kNaN, kNaN, 2.5,  39, 0};
  const std::size_t n = x.size() / 3;
  const std::vector<double> predictions = {-1, 0.5, 2, 0.25, -3, 7};
  const std::vector<double> quantiles = {-1, 2, 0.5, 0.75, 2, 1, 0.25, 3, -3, 0, 7, 9};
  const std::vector<double> weights = {1, 0.5, 2, 3, 0.125, 1};
  std::vector<std::int64_t> groups;
  for (const char* label : {"Süd", "7", "Nord", "West", "Süd", "7"}) groups.push_back(group_number(label));
  Rows rows{.x = {x.data(), n, 3}};
  if (model.needs_predictions()) rows.predictions = model.predicts_quantiles() ? quantiles : predictions;
  if (model.scheme().reads(Role::kGroup, Step::kPredict)) rows.groups = groups;
  if (model.scheme().reads(Role::kWeight, Step::kPredict)) rows.weights = weights;
  const examples::Answers found = examples::answers(model, rows, {0.8, 0.9});
  std::string lines;
  const auto add = [&](const std::string& row, std::initializer_list<double> numbers) {
    lines += fmt::format("model-{} {}", feature, row);
    for (const double number : numbers) {
      char text[32];
      (void)std::snprintf(text, sizeof text, " %a", number);
      lines += text;
    }
    lines += '\n';
  };
  for (std::size_t i = 0; i < n; ++i) {
    add(std::to_string(i),
        {found.predictions[i], found.lower[2 * i], found.upper[2 * i], found.lower[2 * i + 1], found.upper[2 * i + 1]});
  }
  if (const auto& online = model.parts().online) add("online", {online->quantile(0), online->quantile(1)});
  return lines;
}

/// The lines were printed before all formats became one, and never change.
TEST(ModelFile, GoldenIntervalsAreEqualInEveryBit) {
  const std::vector<std::byte> bytes = internal::read_file(golden("intervals.txt"));
  const std::string expected(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::string found;
  for (const auto& [feature, unused] : golden_models()) found += golden_lines(feature, load(golden_file(feature)));
  EXPECT_EQ(found, expected);
}

TEST(ModelFile, LaterFormatsAreRefused) {
  Pieces model(serialise(golden_model()));
  model.text("format") = "2";
  EXPECT_EQ(refusal_of(model.together()), "deserialise: format 2 is newer than this program (1); update widthwise");
  Pieces shard(serialise_shard(CalibrationShard::in(golden_model())));
  shard.text("calibration_shard") = "2";
  expect_error(ErrorCode::kBadData, "shard format 2 is newer than this program (1); update widthwise",
               [&] { (void)deserialise_shard(shard.together()); });
  const auto refused = [](std::vector<std::byte> bytes, const auto& read) {
    internal::store_word(bytes, 1, 2);
    internal::seal_words(bytes);
    expect_error(ErrorCode::kBadData, "format 2 is newer than this program (1); update widthwise",
                 [&] { (void)read(bytes); });
  };
  const OnlineCalibration online = golden_batches(0.01);
  refused(golden_model().parts().calibration.serialise(), Calibration::deserialise);
  refused(online.serialise(), OnlineCalibration::deserialise);
  refused(online.exchangeability()->serialise(), ExchangeabilityMonitor::deserialise);
  refused(golden_sketched_model().parts().fit_sketch.serialise(), RowSketch::deserialise);
}

TEST(ModelFile, GroupsAreKept) {
  const Model model = load(golden_file("groups"));
  EXPECT_EQ(model.parts().columns[Role::kGroup], "bezirk");
  EXPECT_EQ(model.parts().pool_groups, 9U);
  const Calibration& calibration = model.parts().calibration;
  EXPECT_EQ(calibration.rows_in(calibration.find_group("Süd")), 30U);
  EXPECT_EQ(calibration.rows_in(calibration.find_group("7")), 25U);
  EXPECT_EQ(calibration.rows_in(calibration.find_group("Nord")), 5U);
  EXPECT_EQ(model.quantile_group(group_number("Nord")), kRestGroup);
  const std::vector<double> x = {0, 0, 0};
  EXPECT_LT(model.interval(x, 0.8, {}, group_number("Süd")).upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(model.interval(x, 0.9, {}, group_number("Nord")).upper, std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)model.interval(x, 0.8), Error);
}

TEST(ModelFile, NothingInTheFieldsOfGroupsIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_grouped_model());
  const auto refused = [&](const std::string& name, const std::string& text) {
    Pieces pieces(bytes);
    pieces.text(name) = text;
    EXPECT_NE(refusal_of(pieces.together()), "") << name << " = " << text;
  };
  refused("group", "");
  for (const char* text : {"", "0", "-1", "1.5", "x", "18446744073709551616", "1000001"}) refused("pool_groups", text);
  refused("guarantee", "0.95");
  // A model whose groups have a name needs groups.
  Pieces ungrouped(serialise(golden_model()));
  ungrouped.text("group") = "bezirk";
  EXPECT_NE(refusal_of(ungrouped.together()), "");
}

TEST(ModelFile, ClustersThatCountOnceAreKept) {
  const Model model = load(golden_file("clusters"));
  EXPECT_EQ(model.parts().columns[Role::kCluster], "haus");
  EXPECT_EQ(model.parts().calibration.clusters(), 12U);
  const std::vector<double> x = {0, 0, 0};
  EXPECT_LT(model.interval(x, 0.9).upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(model.interval(x, 0.95).upper, std::numeric_limits<double>::infinity());
  const examples::Table table(5, 3, 1);
  Calibration calibration = model.parts().calibration;
  expect_error(ErrorCode::kInvalidArgument, "the model calibrates by the clusters in 'haus'",
               [&] { model.calibrate(calibration, table.for_model(model), table.y, 1000); });
}

TEST(ModelFile, ClustersWhoseRowsCountAreKept) {
  const Model model = load(golden_file("cluster-rows"));
  EXPECT_TRUE(model.scheme().reads(Role::kClusterSize, Step::kPredict));
  EXPECT_EQ(model.parts().max_cluster_size, 6U);
  EXPECT_EQ(model.parts().fit_cluster_size, 3U);
  EXPECT_EQ(model.scheme().cluster_rule().max_size, 6U);
  EXPECT_EQ(model.needs(0.9).needed, 54U);
  EXPECT_EQ(model.needs(0.9).have, 60U);
  const std::vector<double> x = {0, 0, 0};
  EXPECT_LT(model.interval(x, 0.9).upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(model.interval(x, 0.9, {}, {}, {}, 6).upper, model.interval(x, 0.9).upper);
  EXPECT_LE(model.interval(x, 0.9, {}, {}, {}, 1).upper, model.interval(x, 0.9).upper);
  EXPECT_EQ(model.interval(x, 0.9, {}, {}, {}, 7).upper, std::numeric_limits<double>::infinity());
  const examples::Table table(5, 3, 1);
  Rows rows = table.for_model(model);
  const std::vector<std::int64_t> known = {7, 2, 2, 1, 8};
  rows.clusters = known;
  Calibration calibration = model.parts().calibration;
  expect_error(ErrorCode::kBadData, "2 clusters of these rows, in 'haus', were used to fit the model",
               [&] { model.calibrate(calibration, rows, table.y, 1000); });
  EXPECT_EQ(calibration, model.parts().calibration);
}

TEST(ModelFile, ClustersInGroupsAreKept) {
  const Model model = load(golden_file("group-clusters"));
  EXPECT_EQ(model.parts().columns[Role::kGroup], "bezirk");
  EXPECT_EQ(model.parts().columns[Role::kCluster], "haus");
  EXPECT_EQ(model.parts().calibration.clusters(), 12U);
  EXPECT_EQ(model.parts().calibration.largest_cluster(), 3U);
  const std::vector<double> x = {0, 0, 0};
  const std::int64_t south = model.parts().calibration.find_group("Süd");
  EXPECT_LT(model.interval(x, 0.9, {}, south).upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(model.interval(x, 0.9, {}, south, {}, 3).upper, model.interval(x, 0.9, {}, south).upper);
  EXPECT_EQ(model.interval(x, 0.9, {}, south, {}, 4).upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(model.interval(x, 0.9, {}, group_number("Nord")).upper, std::numeric_limits<double>::infinity());
  EXPECT_THROW((void)model.interval(x, 0.9), Error);
  // A file that names both columns needs rows with both.
  for (const char* feature : {"groups", "clusters"}) {
    Pieces pieces(internal::read_file(golden_file(feature)));
    pieces.text("group") = "bezirk";
    pieces.text("cluster") = "haus";
    pieces.text("cluster_coverage") = "rows";
    EXPECT_NE(refusal_of(pieces.together()), "") << feature;
  }
}

TEST(ModelFile, ClustersThatFittedAModelDoNotCalibrateIt) {
  const Model model = golden_clustered_model(ClusterForm::kRows);
  Calibration calibration;
  calibration.add(0, {.score = 1, .cluster = 2});
  expect_error(ErrorCode::kBadData, "1 cluster of these rows, in 'haus', was used to fit the model",
               [&] { (void)model.with_calibration(calibration); });
  const std::vector<std::int64_t> new_clusters = {3, 4, 3};
  EXPECT_NO_THROW(model.check_new_clusters(new_clusters));
  EXPECT_EQ(model.fitted_clusters(std::vector<std::int64_t>{1, 1, 2, 3}), 2U);
  const Model once = golden_clustered_model();
  const std::vector<double> sizes = {4};
  const std::vector<double> x = {0, 0, 0};
  expect_error(ErrorCode::kInvalidArgument, "each cluster counts once in this model; leave them out",
               [&] { (void)once.interval(x, 0.9, {}, {}, {}, 4); });
  expect_error(ErrorCode::kInvalidArgument, "the model has no clusters; leave them out",
               [&] { (void)golden_model().interval(x, 0.9, {}, {}, {}, 4); });
  for (const double size : {0.0, -1.0, std::nan("")}) {
    expect_error(ErrorCode::kBadData, "expected a number of rows of at least 1",
                 [&] { (void)model.interval(x, 0.9, {}, {}, {}, size); });
  }
}

TEST(ModelFile, TheStepOfOutcomesIsKept) {
  const Model model = load(golden_file("outcome-step"));
  EXPECT_EQ(model.parts().outcome_space, (OutcomeSpace{.low = -20, .step = 0.5}));
  const Interval at_80 = model.interval(std::vector<double>{0, 0, 0}, 0.8);
  EXPECT_EQ(at_80.lower, -4.5);  // -4.66 without a step
  EXPECT_EQ(at_80.upper, 2.5);   // 2.72
  expect_round_trip(model);
}

TEST(ModelFile, NothingInTheStepOfOutcomesIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_stepped_model());
  for (const char* text : {"", "0", "-1", "nan", "inf", "1e-200", "0.3", "x"}) {
    Pieces pieces(bytes);
    pieces.text("range.step") = text;
    EXPECT_NE(refusal_of(pieces.together()), "") << text;
  }
}

TEST(ModelFile, NothingInTheFieldsOfClustersIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_clustered_model());
  const auto refused = [&](const std::string& name, const std::string& text) {
    Pieces pieces(bytes);
    pieces.text(name) = text;
    EXPECT_NE(refusal_of(pieces.together()), "") << name << " = " << text;
  };
  refused("cluster", "");
  refused("group", "bezirk");
  refused("guarantee", "0.95");
  for (const char* text : {"", "row", "Rows"}) refused("cluster_coverage", text);
  for (const char* text : {"", "0", "-1", "1.5", "x"}) {
    refused("max_cluster_size", text);
    refused("fit_cluster_size", text);
  }
  // A model whose clusters have a name needs clusters.
  Pieces plain(serialise(golden_model()));
  plain.text("cluster") = "haus";
  EXPECT_NE(refusal_of(plain.together()), "");
}

TEST(ModelFile, TheStateOfAStreamIsKept) {
  const Model model = load(golden_file("online"));

  ASSERT_TRUE(model.parts().online.has_value());
  const OnlineCalibration& online = *model.parts().online;
  EXPECT_EQ(online.method(), OnlineMethod::kAdaptive);
  EXPECT_EQ(online.levels(), (std::vector<Level>{0.8, 0.9}));
  EXPECT_EQ(online.window_rows(), 50U);
  EXPECT_EQ(online.rows(), 80U);
  EXPECT_EQ(online.coverage(0).covered, 62U);
  EXPECT_EQ(online.coverage(1).covered, 71U);
  EXPECT_EQ(online.coverage(1).covered_fixed, 72U);
  EXPECT_EQ(online.coverage(1).recent_covered, 42U);
  EXPECT_DOUBLE_EQ(online.quantile(0), 20.855861586114109);
  EXPECT_DOUBLE_EQ(online.quantile(1), 37.785615526989062);
  EXPECT_EQ(serialise(model.with_online(std::nullopt)), serialise(golden_model()));
}

TEST(ModelFile, SketchesAreKept) {
  const Model model = load(golden_file("sketches"));

  EXPECT_EQ(model.parts().fit_sketch.rows(), 43U);
  EXPECT_EQ(model.parts().fit_sketch.entries().size(), 40U);
  EXPECT_EQ(model.parts().calibration_sketch.rows(), 60U);
  EXPECT_EQ(model.parts().fit_sketch.entries().front().hash,
            golden_sketched_model().parts().fit_sketch.entries().front().hash);
  ModelParts parts = model.parts();
  parts.fit_sketch = parts.calibration_sketch = RowSketch();
  EXPECT_EQ(serialise(Model(std::move(parts))), serialise(golden_online_model()));
}

TEST(ModelFile, WeightsAndColumnsOfQuantilesAreKept) {
  const Model learnt = load(golden_file("weights"));
  EXPECT_TRUE(learnt.scheme().weighs_new_rows());
  EXPECT_FALSE(learnt.scheme().reads(Role::kWeight, Step::kPredict));
  EXPECT_TRUE(learnt.parts().calibration.has_weights());
  const Model given = load(golden_file("weight-column"));
  EXPECT_EQ(given.parts().columns[Role::kWeight], "gewicht");
  EXPECT_NE(score_fingerprint(given), score_fingerprint(golden_model()));
  const Model quantiles = load(golden_file("quantiles"));
  EXPECT_EQ(quantiles.prediction_columns(), (std::vector<std::string>{"q05", "größtes"}));
  EXPECT_NE(score_fingerprint(quantiles), score_fingerprint(golden_model()));
}

TEST(ModelFile, NothingInTheColumnsOfQuantilesIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_quantile_model());
  const auto refused = [&](const char* why, const auto& spoil) {
    Pieces pieces(bytes);
    spoil(pieces);
    EXPECT_NE(refusal_of(pieces.together()), "") << why;
  };
  refused("no name", [](Pieces& p) { p.text("upper_prediction") = ""; });
  refused("the same name", [](Pieces& p) { p.text("upper_prediction") = "q05"; });
  refused("no lower quantile", [](Pieces& p) { p.text("prediction") = ""; });
  refused("one quantile", [](Pieces& p) { p.header["__metadata__"].erase("upper_prediction"); });
}

TEST(ModelFile, NothingInTheFieldsOfWeightsIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_model_with_weight_column());
  const auto refused = [&](const char* why, const std::vector<std::byte>& from, const auto& spoil) {
    Pieces pieces(from);
    spoil(pieces);
    EXPECT_NE(refusal_of(pieces.together()), "") << why;
  };
  refused("no name", bytes, [](Pieces& p) { p.text("weight") = ""; });
  refused("weights without a column", bytes, [](Pieces& p) { p.header["__metadata__"].erase("weight"); });
  refused("a guarantee", bytes, [](Pieces& p) { p.text("guarantee") = "0.95"; });
  refused("pooled groups", bytes, [](Pieces& p) { p.text("pool_groups") = "9"; });
  refused("both kinds of weights", serialise(golden_weighted_model()), [](Pieces& p) { p.text("weight") = "w"; });
  refused("no function", bytes, [](Pieces& p) {
    p.header["__metadata__"].erase("weight");
    p.text("shift") = "none";
  });
  // Weights are the last words of a calibration of one group.
  const std::vector<std::byte> good = golden_model_with_weight_column().parts().calibration.serialise();
  for (const double weight : {kNaN, 0.0, -1.0, kInfinity}) {
    std::vector<std::byte> calibration = good;
    std::memcpy(calibration.data() + calibration.size() - 2 * sizeof(double), &weight, sizeof(double));
    internal::seal_words(calibration);
    refused("a weight that is not positive and finite", bytes, [&](Pieces& p) {
      const auto at = p.header.at("calibration").at("data_offsets").at(0).get<std::size_t>();
      std::memcpy(p.data.data() + at, calibration.data(), calibration.size());
    });
  }
}

TEST(ModelFile, NothingInFoldsIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_cross_model());
  const auto refused = [&](const char* why, const auto& spoil) { expect_refusal(bytes, why, spoil); };
  using P = Pieces;
  const auto text_of = [](const std::vector<std::byte>& file) {
    return std::string(reinterpret_cast<const char*>(file.data()), file.size());
  };
  const auto add = [&](P& p, const std::string& file) {
    p.text("folds") = "3";
    p.append("fold.2", "U8", {file.size()}, file);
  };
  refused("expected a positive number", [](P& p) { p.text("folds") = "0"; });
  refused("fold.1", [](P& p) { p.text("folds") = "1"; });
  refused("fold.2", [](P& p) { p.text("folds") = "3"; });
  refused("expected at most 1000", [](P& p) { p.text("folds") = "18446744073709551615"; });
  refused("fold", [](P& p) { p.header["__metadata__"].erase("folds"); });
  refused("fold.2: expected a model without folds", [&](P& p) { add(p, text_of(bytes)); });
  refused("fold.2", [&](P& p) { add(p, "no model"); });
  refused("other features", [&](P& p) {
    ModelParts parts = golden_cross_model().parts().folds[0]->parts();
    parts.features[0] = "other";
    add(p, text_of(serialise(Model(std::move(parts)))));
  });
  refused("fold 2 has no calibration rows", [&](P& p) {
    ModelParts parts = golden_cross_model().parts().folds[0]->parts();
    parts.calibration = Calibration();
    add(p, text_of(serialise(Model(std::move(parts)))));
  });
  const auto message = [&] {
    std::vector<std::byte> damaged = bytes;
    damaged[damaged.size() / 2] ^= std::byte{1};
    return refusal_of(damaged);
  }();
  EXPECT_NE(message, "");
}

TEST(ModelFile, NothingInCategoriesIsTrusted) {
  const std::vector<std::byte> bytes = serialise(golden_categorical_model());
  const auto refused = [&](const char* why, const auto& spoil) { expect_refusal(bytes, why, spoil); };
  using P = Pieces;
  refused("input 2 has 0 categories", [](P& p) { p.header["__metadata__"].erase("categories.2"); });
  refused("node", [](P& p) { p.text("categories.0") = R"(["a"])"; });  // a threshold for categories
  refused("categories.3", [](P& p) { p.text("categories.3") = R"(["a"])"; });
  refused("input 2 has 2 categories", [](P& p) { p.text("categories.2") = R"(["a","b"])"; });
  refused("occurs twice", [](P& p) { p.text("categories.2") = R"(["a","b","a"])"; });
  refused("expected 1 to 1000 categories, found 0", [](P& p) { p.text("categories.2") = "[]"; });
  refused("JSON", [](P& p) { p.text("categories.2") = R"(["a","b",3])"; });
  refused("expected 1 to 1000 categories, found 1001", [](P& p) {
    std::string text = "[\"0\"";
    for (int i = 1; i <= 1000; ++i) text += ",\"" + std::to_string(i) + "\"";
    p.text("categories.1") = text + "]";
  });
  refused("categories.1: expected at most 1,000,000 names", [](P& p) {
    std::string text = "[\"0\"";
    for (int i = 1; i <= 1'000'000; ++i) text += ",\"" + std::to_string(i) + "\"";
    p.text("categories.1") = text + "]";
  });
  for (const char* name : {"base", "localizer"}) {
    const std::string trees = name;
    refused("has category 63; input 1 has 40 categories", [&](P& p) {
      const Model model = golden_categorical_model();
      const RowFunction& function = trees == "base" ? *model.parts().base : *model.parts().localizer;
      const TreeArrays& arrays = dynamic_cast<const Trees&>(function).arrays();
      std::size_t set = 0;  // the first of the 40 categories
      while (arrays.feature[arrays.set_nodes[set]] != 1) ++set;
      p.put<std::uint32_t>(trees + ".set_words", arrays.set_ends[set] - 1, 0x80000000U);
    });
    refused("is no split", [&](P& p) { p.put<std::uint32_t>(trees + ".set_nodes", 0, 3); });
    refused("set", [&](P& p) { p.put<std::uint32_t>(trees + ".set_nodes", 1, 0xffffffffU); });
    refused("does not follow", [&](P& p) { p.put<std::uint32_t>(trees + ".set_nodes", 1, 0); });
    refused("its words end at", [&](P& p) { p.put<std::uint32_t>(trees + ".set_ends", 0, 0xffffffffU); });
    for (const char* array : {".set_nodes", ".set_ends", ".set_words"}) {
      Pieces pieces(bytes);
      pieces.header.erase(trees + array);
      EXPECT_NE(refusal_of(pieces.together()), "") << array;
    }
  }
  ModelParts net = golden_categorical_model().parts();
  net.localizer = examples::net(4, 2, 5);
  expect_error(ErrorCode::kInvalidArgument, "localizer: net does not take categories", [&] { (void)Model(net); });
}

TEST(ModelFile, AStreamAndSketchesAreOptional) {
  for (const bool online : {false, true}) {
    for (const bool fitted : {false, true}) {
      for (const bool calibrated : {false, true}) {
        ModelParts parts = golden_sketched_model().parts();
        if (!online) parts.online.reset();
        if (!fitted) parts.fit_sketch = RowSketch();
        if (!calibrated) parts.calibration_sketch = RowSketch();
        const Model read = deserialise(serialise(Model(parts)));
        EXPECT_EQ(read.parts().online.has_value(), online);
        EXPECT_EQ(read.parts().fit_sketch, parts.fit_sketch);
        EXPECT_EQ(read.parts().calibration_sketch, parts.calibration_sketch);
      }
    }
  }
}

TEST(ModelFile, AGuaranteeIsMarginalOrAConfidence) {
  const Model model = golden_online_model().with_guarantee(Guarantee(0.95));
  Pieces pieces(serialise(model));
  EXPECT_EQ(pieces.text("guarantee"), "0.95");
  const Model read = deserialise(pieces.together());
  EXPECT_EQ(read.parts().guarantee, Guarantee(0.95));
  EXPECT_EQ(score_fingerprint(read), score_fingerprint(golden_model()));
  const std::vector<double> x = {0, 0, 0};
  EXPECT_LT(read.interval(x, 0.9).lower, golden_model().interval(x, 0.9).lower);
  EXPECT_GT(read.interval(x, 0.9).upper, golden_model().interval(x, 0.9).upper);
  EXPECT_EQ(serialise(read.with_guarantee({})), serialise(golden_online_model()));
  pieces.text("guarantee") = "1.5";
  EXPECT_NE(refusal_of(pieces.together()).find("guarantee: expected 'marginal' or a confidence"), std::string::npos);
}

TEST(ModelFile, TheGoldenStateOfBatchesIsRead) {
  const std::vector<std::byte> bytes = internal::read_file(golden("online-batches.bin"));
  ASSERT_LT(bytes.size(), 4'000U);
  const OnlineCalibration online = OnlineCalibration::deserialise(bytes);
  EXPECT_EQ(online.serialise(), bytes);
  EXPECT_EQ(online, golden_batches());
  EXPECT_EQ(online.rows(), 170U);
  EXPECT_EQ(online.rows_issued(), 185U);
  EXPECT_EQ(online.rows_pending(), 15U);
  EXPECT_EQ(online.longest_delay(), 30U);
  EXPECT_EQ(online.coverage(1).covered, 80U);
  EXPECT_FALSE(online.exchangeability());
}

TEST(ModelFile, TheGoldenStateWithRowsIsRead) {
  const std::vector<std::byte> bytes = internal::read_file(golden("online-rows.bin"));
  ASSERT_LT(bytes.size(), 4'000U);
  OnlineCalibration online = OnlineCalibration::deserialise(bytes);
  EXPECT_EQ(online.serialise(), bytes);
  EXPECT_EQ(online, golden_rows());
  EXPECT_EQ(online.observed_rows().rows(), 2U);
  const std::vector<double> score = {1};
  expect_error(ErrorCode::kInvalidArgument, "1 of 1 row was already observed in batch 185",
               [&] { online.observe(185, score, {}, std::vector<std::uint64_t>{40}); });
  online.observe(185, score, {}, std::vector<std::uint64_t>{10});
  EXPECT_EQ(online.rows(), 173U);
}

TEST(ModelFile, TheGoldenStateWithAnAlarmIsRead) {
  const std::vector<std::byte> bytes = internal::read_file(golden("online-alarm.bin"));
  ASSERT_LT(bytes.size(), 8'000U);
  const OnlineCalibration online = OnlineCalibration::deserialise(bytes);
  EXPECT_EQ(online.serialise(), bytes);
  ASSERT_TRUE(online.exchangeability());
  const ExchangeabilityMonitor& test = *online.exchangeability();
  const OnlineCalibration again = golden_batches(0.01);
  EXPECT_NEAR(test.log_martingale(), again.exchangeability()->log_martingale(), 1e-9);
  ASSERT_TRUE(test.alarm());
  EXPECT_EQ(test.alarm()->row, again.exchangeability()->alarm()->row);
  EXPECT_TRUE(test.alarm()->larger);
  EXPECT_EQ(test.rows(), 170U);
}

// --- files

TEST(ModelFile, SavingAndLoadingNameTheFile) {
  std::string pattern = (fs::temp_directory_path() / "widthwise-model-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const fs::path file = folder / "model.safetensors";
  const Model model = golden_model();
  save(model, file);
  EXPECT_EQ(internal::read_file(file), serialise(model));
  EXPECT_EQ(serialise(load(file)), serialise(model));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);

  const auto refusal = [&](ErrorCode code) {
    try {
      (void)load(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return std::string(error.what());
    }
    return std::string();
  };
  fs::resize_file(file, 100);
  EXPECT_TRUE(refusal(ErrorCode::kBadData).starts_with(file.string() + ": not a safetensors file"));
  Pieces newer(serialise(model));
  newer.text("format") = std::to_string(kModelFormat + 1);
  newer.append("new", "F4", {1}, "x");
  internal::write_file_atomically(file, newer.together());
  EXPECT_EQ(refusal(ErrorCode::kBadData),
            file.string() + ": format 2 is newer than this program (1); update widthwise");
  fs::remove(file);
  EXPECT_EQ(refusal(ErrorCode::kFile), file.string() + ": cannot be read: No such file or directory");
  EXPECT_THROW(save(model, folder / "no" / "model"), Error);
  fs::remove_all(folder);
}

/// Peak memory of this process in bytes.
std::uint64_t peak_memory() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

class LargeModelFile : public FolderTest {
 protected:
  static constexpr std::uint64_t kHole = std::uint64_t{8} << 30U;

  /// The error of reading the file; it must take little memory.
  template <class Read>
  static std::string refusal(const Read& read) {
    const std::uint64_t before = peak_memory();
    std::string message;
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData);
      message = error.what();
    }
    EXPECT_LT(peak_memory() - before, std::uint64_t{100} << 20U);
    return message;
  }

  /// A file that begins with these bytes and is zero from there on.
  fs::path with_hole(std::span<const std::byte> bytes) {
    const fs::path file = at("large");
    internal::write_file_atomically(file, bytes);
    fs::resize_file(file, kHole);
    return file;
  }

  /// The beginning of a file with this length of its header.
  static std::vector<std::byte> of_length(std::uint64_t length, const std::string& header) {
    std::vector<std::byte> bytes(sizeof length);
    std::memcpy(bytes.data(), &length, sizeof length);
    const auto more = std::as_bytes(std::span(header));
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  }
};

/// The error of writing the golden model after a change; empty if it is written.
std::string refusal_to_write(const std::function<void(ModelParts&)>& spoil) {
  ModelParts parts = golden_model().parts();
  spoil(parts);
  try {
    (void)serialise(Model(parts));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return {};
}

TEST_F(LargeModelFile, WithAHoleIsRejectedBeforeItIsRead) {
  const auto expect = [&](std::span<const std::byte> bytes, const std::string& words, const auto& read) {
    const fs::path file = with_hole(bytes);
    const std::string found = refusal([&] { read(file); });
    EXPECT_TRUE(found.starts_with(file.string() + ": " + words)) << found;
  };
  const auto model = [](const fs::path& file) { (void)load(file); };
  const auto shard = [](const fs::path& file) { (void)load_shard(file); };
  const auto checkpoint = [](const fs::path& file) { (void)Checkpoint(file, 7, nullptr); };
  const std::string size = "damaged: expected ";
  expect(serialise(golden_model()), size, model);
  expect(serialise(golden_cross_model()), size, model);
  expect(serialise_shard(CalibrationShard::in(golden_model())), size, shard);
  {
    Checkpoint kept(at("kept"), 7, nullptr);
    (void)kept.begin();
    kept.keep(serialise(golden_model()));
  }
  expect(internal::read_file(at("kept")), size, checkpoint);
  // A header that fills the hole, one of zeros, and one that is too long.
  expect(of_length(kHole - 8, "{}"), "not a model file: found other data", model);
  expect({}, "not a model file: found other data", model);
  expect(of_length(84'000'000, "{"), "not a calibration shard: found other data", shard);
  expect(of_length(84'000'000, "{"), "the header has 84,000,000 bytes", checkpoint);
}

TEST_F(LargeModelFile, WithTooManyNotesOrFoldsIsNeitherReadNorWritten) {
  std::string header = R"({"__metadata__":{"format":"1","widthwise":"0")";
  for (int i = 0; i < 100'010; ++i) header += ",\"note." + std::to_string(i) + "\":\"\"";
  header += "}}";
  EXPECT_EQ(refusal([&] { (void)deserialise(of_length(header.size(), header)); }),
            "deserialise: the header has more than 100,000 texts");
  header = "{";
  for (int i = 0; i < 100'010; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  header += "}";
  EXPECT_EQ(refusal([&] { (void)deserialise(of_length(header.size(), header)); }),
            "deserialise: the header has more than 100,000 arrays");

  const std::string words = "names and texts are too long to store: ";
  EXPECT_NE(refusal_to_write([](ModelParts& parts) {
              for (int i = 0; i < 100'000; ++i) parts.notes[std::to_string(i)] = "";
            }).find(words),
            std::string::npos);
  EXPECT_NE(refusal_to_write([](ModelParts& parts) { parts.notes["long"] = std::string(34'000'000, 'x'); }).find(words),
            std::string::npos);
  // What is written is read, up to the limits.
  EXPECT_EQ(refusal_to_write([](ModelParts& parts) {
              for (int i = 0; i < 20'000; ++i) parts.notes[std::to_string(i)] = "";
            }),
            "");

  Pieces pieces(serialise(golden_cross_model()));
  pieces.text("folds") = "20000";
  EXPECT_EQ(refusal_of(pieces.together()), "deserialise: folds: expected at most 1000, found 20000");
}

TEST(ModelFile, RefusesAnUnknownRowFunction) {
  struct Other final : RowFunction {
    [[nodiscard]] std::size_t inputs() const override { return 3; }
    [[nodiscard]] std::size_t outputs() const override { return 1; }
    void evaluate(MatrixView /*x*/, MutableMatrixView /*out*/) const override {}
  };
  EXPECT_NE(refusal_to_write([](ModelParts& parts) { parts.base = std::make_shared<Other>(); }), "");
  EXPECT_NE(refusal_to_write([](ModelParts& parts) { parts.features[0] = "\xff"; }), "");
  EXPECT_NE(refusal_to_write([](ModelParts& parts) { parts.target = "\xff"; }), "");
  EXPECT_NE(refusal_to_write([](ModelParts& parts) { parts.notes["\xff"] = ""; }), "");
  // Another transform of a known name: the file would mean the known one.
  class Impostor final : public Transform {
   public:
    explicit Impostor(std::string_view name) : name_(name) {}
    [[nodiscard]] std::string_view name() const override { return name_; }
    [[nodiscard]] std::size_t parameter_count() const override { return 2; }
    [[nodiscard]] double value(double a, std::span<const double> /*p*/) const override { return a; }
    [[nodiscard]] double d_score(double /*a*/, std::span<const double> /*p*/) const override { return 1; }
    void d_parameters(double /*a*/, std::span<const double> /*p*/, std::span<double> /*out*/) const override {}

   private:
    std::string_view name_;
  };
  for (const char* name : {"affine", "mine"}) {
    EXPECT_NE(
        refusal_to_write([&](ModelParts& parts) { parts.rule = ConformalRule(std::make_shared<Impostor>(name)); }), "");
  }
}

// --- bytes that are not a model

TEST(ModelFile, EveryTruncationIsRefused) {
  for (const char* feature : {"trees", "online"}) {
    const std::vector<std::byte> bytes = internal::read_file(golden_file(feature));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_NE(refusal_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
    }
  }
}

TEST(ModelFile, NoFlippedBitIsLoaded) {
  for (const Kind kind : {Kind::kTrees, Kind::kNet}) {
    const Model model = model_of(ConformalRule(make_transform("exp")), kind, kind);
    expect_flips_are_refused(serialise(model), [](const auto& bytes) { (void)deserialise(bytes); });
  }
  // Of texts that could be anything, too.
  Pieces other(serialise(golden_model()));
  other.text("note.goal") = "even";
  EXPECT_NE(refusal_of(other.together(other.header.dump())).find("checksum mismatch"), std::string::npos);
}

TEST(ModelFile, ADamagedFileIsNamedWithWhatToDo) {
  const fs::path file = fs::path(testing::TempDir()) / ("damaged-" + std::to_string(::getpid()));
  std::vector<std::byte> bytes = serialise(golden_model());
  bytes.back() ^= std::byte{1};
  internal::write_file_atomically(file, bytes);
  const std::string message = message_of([&] { (void)load(file); }, ErrorCode::kBadData);
  fs::remove(file);
  EXPECT_TRUE(message.starts_with(file.string() + ": damaged: checksum mismatch (stored ")) << message;
  EXPECT_TRUE(message.ends_with("); restore the file from a backup, or fit the model again")) << message;
}

TEST(ModelFile, AFileWithoutAChecksumIsRefused) {
  Pieces without(serialise(golden_model()));
  without.header["__metadata__"].erase("checksum");
  EXPECT_NE(refusal_of(without.together()).find("the checksum is missing"), std::string::npos);
  Pieces spaced(serialise(golden_model()));
  EXPECT_NE(refusal_of(spaced.together(spaced.header.dump(1))).find("the checksum is missing"), std::string::npos);
  for (const char* text : {"", "0", "00000000000000000"}) {
    Pieces other(serialise(golden_model()));
    other.text("checksum") = text;
    EXPECT_NE(refusal_of(other.together()).find("the checksum is missing"), std::string::npos) << text;
  }
}

/// A model of realistic size: 1,000 trees or 800,000 weights.
Model large_model(Kind kind) {
  constexpr std::uint32_t kFeatures = 8;
  ModelParts parts{.features = examples::names(kFeatures), .rule = ConformalRule(make_transform("identity"))};
  if (kind == Kind::kTrees) parts.base = examples::trees(kFeatures, 1, 1000, 6, 51);
  if (kind == Kind::kNet) parts.base = examples::net(kFeatures, 1, 53, {512, 1024, 256});
  return examples::calibrated(Model(parts), examples::Table(1000, kFeatures, 54));
}

/// The processor time of `work`, the minimum of 30 runs, which hardly depends on other processes.
template <class Work>
double min_seconds(const Work& work) {
  double minimum = 1e9;
  for (int repeat = 0; repeat < 30; ++repeat) {
    const std::clock_t start = std::clock();
    work();
    minimum = std::min(minimum, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return minimum;
}

TEST(SlowModelFile, TheChecksumTakesLittleOfTheTimeToLoad) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer changes what code costs";
  for (const Kind kind : {Kind::kTrees, Kind::kNet}) {
    const std::vector<std::byte> bytes = serialise(large_model(kind));
    std::uint64_t sum = 0;
    const double checksum = min_seconds([&] { sum += internal::checksum_of({bytes}); });
    const double all = min_seconds([&] { (void)deserialise(bytes); });
    std::printf("kind %d: %zu bytes, %.3f ms to read, %.3f ms of them for the checksum: +%.1f %%\n",
                static_cast<int>(kind), bytes.size(), 1e3 * all, 1e3 * checksum, 100 * checksum / (all - checksum));
    EXPECT_NE(sum, 0U);
    // 1% to 4% on an idle machine (docs/performance.md).
    EXPECT_LT(checksum, 0.15 * (all - checksum));
  }
}

/// Repeatedly change one byte, several bytes or a run of bytes at random, and correct the checksums.
void flip_bytes(const std::vector<std::byte>& bytes, std::uint64_t trials, std::uint64_t seed) {
  Random random(seed);
  std::uint64_t accepted = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    std::vector<std::byte> changed = bytes;
    const std::uint64_t count = trial % 2 == 0 ? 1 : 1 + random.below(8);
    std::size_t at = random.below(changed.size());
    const bool run = random.below(2) == 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      changed[at] ^= trial % 3 == 0 ? std::byte{1} << random.below(8) : static_cast<std::byte>(1 + random.below(255));
      at = run ? (at + 1) % changed.size() : random.below(changed.size());
    }
    examples::seal_file(changed);
    if (examples::check_model_bytes(changed)) ++accepted;
  }
  // Leaves and thresholds can be other numbers; most of a file cannot.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, trials);
}

std::vector<std::byte> net_bytes() {
  return serialise(model_of(ConformalRule(make_transform("exp")), Kind::kTrees, Kind::kNet));
}

TEST(ModelFile, RandomChangesAreRefusedOrHarmless) {
  flip_bytes(internal::read_file(golden_file("trees")), 2000, 41);
  flip_bytes(internal::read_file(golden_file("online")), 2000, 45);
  flip_bytes(internal::read_file(golden_file("categories")), 1000, 49);
  flip_bytes(net_bytes(), 1000, 42);
}

TEST(SlowModelFile, RandomChangesAreRefusedOrHarmless) {
  flip_bytes(internal::read_file(golden_file("trees")), slow_repeats(70'000), 43);
  flip_bytes(internal::read_file(golden_file("online")), slow_repeats(70'000), 46);
  flip_bytes(internal::read_file(golden_file("sketches")), slow_repeats(70'000), 47);
  flip_bytes(internal::read_file(golden_file("categories")), slow_repeats(70'000), 48);
  flip_bytes(net_bytes(), slow_repeats(30'000), 44);
}

TEST(ModelFile, NothingInTheTextsIsTrusted) {
  const std::vector<std::byte> bytes = internal::read_file(golden_file("trees"));
  EXPECT_EQ(refusal_of(Pieces(bytes).together()), "");
  const auto refused_text = [&](const std::string& name, const std::string& text) {
    Pieces pieces(bytes);
    pieces.text(name) = text;
    EXPECT_NE(refusal_of(pieces.together()), "") << name << " = " << text;
  };
  const Pieces whole(bytes);
  for (const auto& [name, text] : whole.header.at("__metadata__").items()) {
    if (name.starts_with("note.")) continue;
    Pieces pieces(bytes);
    pieces.header["__metadata__"].erase(name);
    EXPECT_NE(refusal_of(pieces.together()), "") << name;
    if (name != "widthwise" && name != "target") refused_text(name, "x");
  }
  for (const char* text : {"0", "-1", "", "1.0", " 1", "1 ", "18446744073709551616", "2"}) refused_text("format", text);
  for (const char* text : {"3", "0", "nan", "inf", "1e309", "-4", "0x4", "4,0", ""}) refused_text("unit", text);
  for (const char* text : {"nan", "", "1e", "inf"}) refused_text("range.low", text);
  for (const char* text : {"", "0.9,", ",0.9", "0.9,0.9", "1", "0.8 0.9", "90", "nan"}) refused_text("levels", text);
  for (const char* text : {"-1", "1.5", "1e3", "18446744073709551616"}) refused_text("fit_rows", text);
  for (const char* text :
       {"", "{}", "[1,2,3]", "[\"a\",\"b\"]", R"(["a","b","a"])", R"(["a","b",""])", R"([["a"],"b","c"])",
        R"(["a","b","c"]x)", R"(["a","b","c"][])", R"({"a":["a","b","c"]})", R"("a")"}) {
    refused_text("features", text);
  }
  refused_text("features", std::string(1'000'000, '['));
  for (const char* text : {"exp", "identity", "erc", "Affine", ""}) refused_text("transform", text);
  for (const char* text : {"Squared", "0"}) refused_text("score", text);
  for (const char* text : {"two", "1"}) refused_text("sides", text);
  for (const char* text : {"none", "net", "forest"}) {
    refused_text("base", text);
    refused_text("localizer", text);
  }
  for (const char* text : {"2", "4", "4294967299", "-3", "99999999999999999999"}) refused_text("base.inputs", text);
  refused_text("prediction", "f");
  // Unknown entries may matter, so they are errors.
  for (const char* name : {"other", "note", "base.bound", "transform.gamma", "transform.epsilon"}) {
    refused_text(name, "1");
  }
  Pieces notes(bytes);
  notes.text("note.more") = "anything";
  EXPECT_EQ(deserialise(notes.together()).parts().notes.at("more"), "anything");
}

TEST(ModelFile, NothingInTheArraysIsTrusted) {
  const std::vector<std::byte> bytes = internal::read_file(golden_file("trees"));
  const auto refused = [&](const char* why, const std::function<void(Pieces&)>& spoil) {
    Pieces pieces(bytes);
    spoil(pieces);
    EXPECT_NE(refusal_of(pieces.together()), "") << why;
  };
  using P = Pieces;
  refused("an unknown array", [](P& p) { p.append("more", "U8", {1}, "x"); });
  refused("an array of no bytes", [](P& p) { p.append("more", "U8", {0}, ""); });
  const Pieces whole(bytes);
  for (const auto& [name, claim] : whole.header.items()) {
    if (name == "__metadata__") continue;
    refused("a missing array", [&](P& p) { p.header.erase(name); });
    refused("another name", [&](P& p) {
      p.header["x" + name] = p.header[name];
      p.header.erase(name);
    });
    refused("huge", [&](P& p) { p.header[name]["shape"] = {0xffffffffffffffffU}; });
    refused("negative", [&](P& p) { p.header[name]["shape"] = {-1}; });
    refused("two dimensions", [&](P& p) { p.header[name]["shape"].push_back(1); });
    refused("another type", [&](P& p) { p.header[name]["dtype"] = p.header[name]["dtype"] == "F32" ? "U32" : "F32"; });
  }
  for (const char* trees : {"base", "localizer"}) {
    const std::string name = trees;
    refused("a cycle", [&](P& p) { p.put<std::uint32_t>(name + ".left", 1, 0); });
    refused("a node as its own child", [&](P& p) { p.put<std::uint32_t>(name + ".right", 1, 1); });
    refused("a child that is none", [&](P& p) { p.put<std::uint32_t>(name + ".left", 0, 0xffffffffU); });
    refused("a child of another tree", [&](P& p) { p.put<std::uint32_t>(name + ".left", 0, 8); });
    refused("one child of two", [&](P& p) { p.put<std::uint32_t>(name + ".left", 1, 5); });
    refused("a feature that is none", [&](P& p) { p.put<std::int32_t>(name + ".feature", 0, 4); });
    refused("a feature below -1", [&](P& p) { p.put<std::int32_t>(name + ".feature", 0, -2); });
    refused("a root that is none", [&](P& p) { p.put<std::uint32_t>(name + ".roots", 1, 1'000'000); });
    refused("roots out of order", [&](P& p) { p.put<std::uint32_t>(name + ".roots", 1, 0); });
    refused("an output that is none", [&](P& p) { p.put<std::uint32_t>(name + ".output_of", 0, 2); });
    refused("a third way", [&](P& p) { p.put<std::uint8_t>(name + ".missing_left", 0, 2); });
    for (const float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      refused("a threshold", [&](P& p) { p.put(name + ".value", 0, number); });
      refused("a leaf", [&](P& p) { p.put(name + ".value", 6, number); });
      refused("a base", [&](P& p) { p.put(name + ".base", 0, number); });
    }
  }
  for (const double number : {kNaN, -1.0, 1e9}) {
    refused("residuals", [&](P& p) { p.put("fit_residuals", 0, number); });
  }
  for (std::size_t i = 0; i < golden_model().parts().calibration.serialise().size(); ++i) {
    refused("the calibration", [&](P& p) {
      const std::size_t at = p.header.at("calibration").at("data_offsets").at(0).get<std::size_t>() + i;
      p.data[at] = static_cast<char>(p.data[at] ^ 1);
    });
  }
  const std::vector<std::byte> in_a_stream = serialise(golden_online_model());
  for (std::size_t i = 0; i < golden_online_model().parts().online->serialise().size(); ++i) {
    Pieces pieces(in_a_stream);
    const std::size_t at = pieces.header.at("online").at("data_offsets").at(0).get<std::size_t>() + i;
    pieces.data[at] = static_cast<char>(pieces.data[at] ^ 1);
    EXPECT_NE(refusal_of(pieces.together()), "") << "the place in a stream";
  }
}

TEST(ModelFile, ValidPartsThatDoNotFitTogetherAreRefused) {
  // The base model of one file in another: right in itself, of one input too few.
  ModelParts small{.features = {"a", "b"},
                   .base = examples::trees(2, 1, 5, 2, 31),
                   .rule = ConformalRule(make_transform("identity"))};
  Pieces pieces(serialise(Model(small)));
  pieces.text("features") = R"(["a","b","c"])";
  EXPECT_NE(refusal_of(pieces.together()).find("inputs"), std::string::npos);
  // A calibration with weights.
  Calibration weighted;
  weighted.add(0, {.score = 1, .weight = 2});
  const auto calibration = weighted.serialise();
  const std::string text(reinterpret_cast<const char*>(calibration.data()), calibration.size());
  Pieces rebuilt(serialise(Model({.prediction = "f", .rule = ConformalRule(make_transform("identity"))})));
  rebuilt.data.clear();
  rebuilt.header["fit_residuals"]["data_offsets"] = {0, 0};
  rebuilt.append("calibration", "U8", {text.size()}, text);
  EXPECT_NE(refusal_of(rebuilt.together()).find("weights"), std::string::npos);
}

TEST(ModelFile, MessagesOfBadFilesAreShortAndPlain) {
  Pieces pieces(internal::read_file(golden_file("trees")));
  pieces.text("transform") = "\x1b[31m\n\xc2\x9b" + std::string(100'000, 'x');
  const std::string message = refusal_of(pieces.together());
  EXPECT_LT(message.size(), 600U);
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; })) << message;
}

}  // namespace
}  // namespace widthwise
