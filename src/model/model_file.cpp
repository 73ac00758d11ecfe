#include <widthwise/model_file.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/version.hpp>

#include "base/file.hpp"
#include "base/file_contents.hpp"
#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/safetensors.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "model/model_file/row_functions.hpp"
#include "model/model_file/texts.hpp"

// docs/model-file.md describes the format. The texts are named as the fields of ModelParts. Fields with a value that
// means "none" are not written, and a stored one must differ from that value, so that equal models give equal bytes.
namespace widthwise {
namespace {

using internal::count_of;
using internal::number_of;
using internal::SafetensorsReader;
using internal::SafetensorsWriter;
using internal::text_of;

constexpr const char* kAdvice = "; restore the file from a backup, or fit the model again";
constexpr const char* kNotePrefix = "note.";

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, what); }

void put_rule(SafetensorsWriter& writer, const ConformalRule& rule) {
  const Transform& transform = rule.transform();
  const std::string name(transform.name());
  const TransformOptions options = transform.options();
  const auto again = make_transform(name, options);
  if (const Transform& known = *again; typeid(known) != typeid(transform)) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "the transform '{}' differs from the transform of that name in model files", name);
  }
  writer.put_text("transform", name);
  if (options.gamma != 0) writer.put_text("transform.gamma", text_of(options.gamma));
  if (options.epsilon != 0) writer.put_text("transform.epsilon", text_of(options.epsilon));
  writer.put_text("score", std::string(name_of(rule.score())));
  writer.put_text("sides", rule.sides() == Sides::kTwo ? "two" : "one");
}

ConformalRule take_rule(SafetensorsReader& reader) {
  const auto option = [&](const std::string& name) {
    const auto text = reader.take_text_if_any(name);
    return text ? number_of(*text, name) : 0.0;
  };
  const TransformOptions options{.gamma = option("transform.gamma"), .epsilon = option("transform.epsilon")};
  const std::string name = reader.take_text("transform");
  auto transform = make_transform(name, options);
  if (transform->options() != options) refuse(fmt::format("an option does not apply to the transform '{}'", name));
  const std::string sides = reader.take_text("sides");
  if (sides != "one" && sides != "two") refuse(fmt::format("sides: expected one or two, found '{}'", sides));
  return ConformalRule(std::move(transform), score_of(reader.take_text("score")),
                       sides == "two" ? Sides::kTwo : Sides::kOne);
}

std::string categories_name(std::size_t feature) { return fmt::format("categories.{}", feature); }

/// The categories of all features; empty if none has any.
std::vector<Labels> take_categories(SafetensorsReader& reader, std::size_t features) {
  std::vector<Labels> categories(features);
  bool any = false;
  for (std::size_t j = 0; j < features; ++j) {
    const std::string name = categories_name(j);
    const auto text = reader.take_text_if_any(name);
    if (!text) continue;
    const std::vector<std::string> labels = internal::names_of(*text, name);
    if (labels.empty() || labels.size() > kMaxCategories) {
      refuse(fmt::format("{}: expected 1 to {} categories, found {}", name, kMaxCategories, labels.size()));
    }
    categories[j] = Labels(labels);
    any = true;
  }
  return any ? categories : std::vector<Labels>();
}

/// Write the names of the columns by role: those on which scores and weights depend, or the others.
void put_columns(SafetensorsWriter& writer, const ModelParts& parts, bool scoring) {
  for (const RoleEntry& entry : roles()) {
    if ((entry.role == Role::kWeight) != scoring || !parts.columns.has(entry.role)) continue;
    writer.put_text(entry.name, parts.columns[entry.role]);
  }
}

/// Exactly the fields on which the scores of rows and their weights depend.
void put_scoring(SafetensorsWriter& writer, const ModelParts& parts) {
  put_rule(writer, parts.rule);
  writer.put_text("features", internal::text_of_names(parts.features));
  for (std::size_t j = 0; j < parts.categories.size(); ++j) {
    if (parts.categories[j].size() == 0) continue;
    writer.put_text(categories_name(j), internal::text_of_names(parts.categories[j].all()));
  }
  writer.put_text("target", parts.target);
  writer.put_text("prediction", parts.prediction);
  if (!parts.upper_prediction.empty()) writer.put_text("upper_prediction", parts.upper_prediction);
  internal::put_function(writer, "base", parts.base.get());
  internal::put_function(writer, "localizer", parts.localizer.get());
  writer.put_text("unit", text_of(parts.unit));
  put_columns(writer, parts, /*scoring=*/true);
  if (parts.shift != nullptr) internal::put_function(writer, "shift", parts.shift.get());
}

void check_format(std::span<const std::byte> bytes) {
  internal::require_safetensors(bytes, "a model file");
  // Check this first, because everything else may differ in a later format.
  const auto texts = SafetensorsReader::texts_of(bytes);
  const auto format = texts.find("format");
  if (texts.contains("calibration_shard")) {
    refuse("not a model file: found a calibration shard; pass the model, and add shards with 'merge'");
  }
  if (format == texts.end() || !texts.contains("widthwise")) {
    refuse("not a model file: found a safetensors file of another program");
  }
  const std::uint64_t number = count_of(format->second, "format");
  if (number > kModelFormat) refuse(internal::newer_format("format", number, kModelFormat));
  if (number != kModelFormat) refuse(fmt::format("expected format {}, found {}", kModelFormat, number));
}

std::string fold_name(std::size_t fold) { return fmt::format("fold.{}", fold); }

void put_folds(SafetensorsWriter& writer, const ModelParts& parts) {
  if (parts.folds.empty()) return;
  writer.put_text("folds", std::to_string(parts.folds.size()));
  for (std::size_t k = 0; k < parts.folds.size(); ++k) writer.put(fold_name(k), serialise(*parts.folds[k]));
}

void put_optional(SafetensorsWriter& writer, const ModelParts& parts) {
  if (parts.online) writer.put("online", parts.online->serialise());
  if (!parts.guarantee.is_marginal()) writer.put_text("guarantee", parts.guarantee.to_string());
  put_columns(writer, parts, /*scoring=*/false);
  if (parts.columns.has(Role::kCluster) || parts.calibration.clusters() > 0) {
    writer.put_text("cluster_coverage", std::string(name_of(parts.cluster_coverage)));
  }
  if (parts.max_cluster_size > 0) writer.put_text("max_cluster_size", std::to_string(parts.max_cluster_size));
  if (parts.fit_cluster_size > 0) writer.put_text("fit_cluster_size", std::to_string(parts.fit_cluster_size));
  if (!parts.fit_clusters.empty()) writer.put("fit_clusters", parts.fit_clusters.serialise());
  if (parts.pool_groups > 0) writer.put_text("pool_groups", std::to_string(parts.pool_groups));
  if (!parts.fit_sketch.empty()) writer.put("fit_sketch", parts.fit_sketch.serialise());
  if (!parts.calibration_sketch.empty()) writer.put("calibration_sketch", parts.calibration_sketch.serialise());
}

/// A text that is only written if it is not empty.
std::string nonempty(std::string text, const char* name) {
  if (text.empty()) refuse(fmt::format("{}: expected a name, found none", name));
  return text;
}

/// A number that is only written if it is not 0.
std::uint64_t positive(std::string_view text, const char* name) {
  const std::uint64_t number = count_of(text, name);
  if (number == 0) refuse(fmt::format("{}: expected a positive number, found 0", name));
  return number;
}

/// A step of outcomes, which is only written if there is one.
double step_of(std::string_view text) {
  const double step = number_of(text, "range.step");
  if (!(step > 0)) refuse(fmt::format("range.step: expected a positive number, found {}", step));
  return step;
}

/// Read how clusters are counted, and which clusters fitted the model.
void take_clusters(SafetensorsReader& reader, ModelParts& parts) {
  if (parts.columns.has(Role::kCluster) || parts.calibration.clusters() > 0) {
    const std::string name = reader.take_text("cluster_coverage");
    const std::optional<ClusterForm> form = cluster_form_of(name);
    if (!form) refuse(fmt::format("cluster_coverage: expected rows or clusters, found '{}'", name));
    parts.cluster_coverage = *form;
  }
  const auto size = [&](const char* name) {
    const auto text = reader.take_text_if_any(name);
    return text ? positive(*text, name) : 0;
  };
  parts.max_cluster_size = size("max_cluster_size");
  parts.fit_cluster_size = size("fit_cluster_size");
  if (reader.has("fit_clusters")) {
    parts.fit_clusters = RowSketch::deserialise(reader.take<std::byte>("fit_clusters"));
  }
}

/// Read the fields of put_optional.
void take_optional(SafetensorsReader& reader, ModelParts& parts) {
  const auto take = [&](const char* name, auto& field, const auto& read) {
    if (reader.has(name)) field = read(reader.take<std::byte>(name));
  };
  take("online", parts.online, OnlineCalibration::deserialise);
  if (const auto text = reader.take_text_if_any("guarantee")) parts.guarantee = Guarantee::parse(*text);
  take("fit_sketch", parts.fit_sketch, RowSketch::deserialise);
  take("calibration_sketch", parts.calibration_sketch, RowSketch::deserialise);
  for (const RoleEntry& entry : roles()) {
    auto text = reader.take_text_if_any(entry.name);
    if (text) parts.columns[entry.role] = nonempty(std::move(*text), entry.name);
  }
  if (const auto text = reader.take_text_if_any("pool_groups")) parts.pool_groups = positive(*text, "pool_groups");
  if (!reader.has_text("shift")) return;
  parts.shift = internal::take_function(reader, "shift");
  if (parts.shift == nullptr) refuse("shift: expected a function, found none");
}

Model read_model(std::span<const std::byte> bytes);

/// The fold models. A fold has no folds: this is checked before it is read, which bounds the depth.
std::vector<std::shared_ptr<const Model>> take_folds(SafetensorsReader& reader) {
  std::vector<std::shared_ptr<const Model>> folds;
  const auto text = reader.take_text_if_any("folds");
  const std::uint64_t count = text ? positive(*text, "folds") : 0;
  if (count > kMaxFolds) refuse(fmt::format("folds: expected at most {}, found {}", kMaxFolds, count));
  for (std::size_t k = 0; k < count; ++k) {
    const std::vector<std::byte> bytes = reader.take<std::byte>(fold_name(k));
    try {
      if (SafetensorsReader::texts_of(bytes).contains("folds")) refuse("expected a model without folds");
      folds.push_back(std::make_shared<const Model>(read_model(bytes)));
    } catch (const Error& error) {
      refuse(fmt::format("{}: {}", fold_name(k), error.what()));
    }
  }
  return folds;
}

Model read_model(std::span<const std::byte> bytes) {
  check_format(bytes);
  SafetensorsReader reader = SafetensorsReader::sealed(bytes, kAdvice);
  (void)reader.take_text("format");
  (void)reader.take_text("widthwise");
  ModelParts parts{.rule = take_rule(reader)};
  parts.features = internal::names_of(reader.take_text("features"), "features");
  parts.categories = take_categories(reader, parts.features.size());
  parts.target = reader.take_text("target");
  parts.prediction = reader.take_text("prediction");
  if (auto text = reader.take_text_if_any("upper_prediction")) {
    parts.upper_prediction = nonempty(std::move(*text), "upper_prediction");
  }
  parts.base = internal::take_function(reader, "base");
  parts.localizer = internal::take_function(reader, "localizer");
  parts.unit = number_of(reader.take_text("unit"), "unit");
  parts.outcome_space.low = number_of(reader.take_text("range.low"), "range.low");
  parts.outcome_space.high = number_of(reader.take_text("range.high"), "range.high");
  if (const auto text = reader.take_text_if_any("range.step")) parts.outcome_space.step = step_of(*text);
  parts.levels = internal::levels_of(reader.take_text("levels"));
  parts.calibration = Calibration::deserialise(reader.take<std::byte>("calibration"));
  take_optional(reader, parts);
  take_clusters(reader, parts);
  parts.folds = take_folds(reader);
  parts.fit_residuals = reader.take<double>("fit_residuals");
  parts.fit_rows = count_of(reader.take_text("fit_rows"), "fit_rows");
  parts.notes = reader.take_texts(kNotePrefix);
  reader.expect_nothing_left();
  return Model(std::move(parts));
}

/// The result of `read`; errors begin with `where`.
template <class Read>
auto checked(const std::string& where, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kFile) throw;  // names the file
    throw internal::make_error(ErrorCode::kBadData, "{}: {}", where, internal::harmless(error.what()));
  }
}

}  // namespace

std::vector<std::byte> serialise(const Model& model) {
  const ModelParts& parts = model.parts();
  SafetensorsWriter writer;
  try {
    writer.put_text("format", std::to_string(kModelFormat));
    writer.put_text("widthwise", kVersion);
    put_scoring(writer, parts);
    writer.put_text("range.low", text_of(parts.outcome_space.low));
    writer.put_text("range.high", text_of(parts.outcome_space.high));
    if (parts.outcome_space.has_step()) writer.put_text("range.step", text_of(parts.outcome_space.step));
    writer.put_text("levels", internal::text_of_levels(parts.levels));
    writer.put("calibration", parts.calibration.serialise());
    put_optional(writer, parts);
    put_folds(writer, parts);
    writer.put("fit_residuals", parts.fit_residuals);
    writer.put_text("fit_rows", std::to_string(parts.fit_rows));
    for (const auto& [name, text] : parts.notes) writer.put_text(kNotePrefix + name, text);
    return std::move(writer).finish_sealed();
  } catch (const Error& error) {
    throw Error(error.code(), std::string("serialise: ") + error.what());
  }
}

std::uint64_t score_fingerprint(const Model& model) {
  const ModelParts& parts = model.parts();
  SafetensorsWriter writer;
  put_scoring(writer, parts);
  // Scores also depend on who made given predictions, of which only the errors are known.
  if (parts.base == nullptr) writer.put("fit_residuals", parts.fit_residuals);
  const std::vector<std::byte> bytes = writer.finish();
  return internal::hash_bytes(mix_bits(bytes.size()), bytes);
}

Model deserialise(std::span<const std::byte> bytes) {
  return checked("deserialise", [&] { return read_model(bytes); });
}

void save(const Model& model, const std::filesystem::path& file) {
  internal::write_file_atomically(file, serialise(model));
}

ModelFileLock::ModelFileLock(const std::filesystem::path& file, const std::function<void()>& waiting)
    : lock_(std::make_unique<internal::FileLock>(file, waiting)) {}
ModelFileLock::ModelFileLock(ModelFileLock&& other) noexcept = default;
ModelFileLock& ModelFileLock::operator=(ModelFileLock&& other) noexcept = default;
ModelFileLock::~ModelFileLock() = default;

Model load(const std::filesystem::path& file) {
  return checked(file.string(), [&] { return read_model(internal::read_safetensors(file, "a model file", kAdvice)); });
}

}  // namespace widthwise
