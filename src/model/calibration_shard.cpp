#include <widthwise/model_file.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/version.hpp>

#include "base/file.hpp"
#include "base/file_contents.hpp"
#include "base/message.hpp"
#include "base/safetensors.hpp"
#include "base/words.hpp"
#include "model/model_file/texts.hpp"

// Texts: "calibration_shard", the format, which models do not have; "widthwise", the version that wrote it;
// "scores_of", a number; "checksum" (safetensors.hpp). Arrays: "calibration", "sketch" and "residuals", of which the
// last two are absent if they are empty.
namespace widthwise {
namespace {

using internal::SafetensorsReader;
using internal::SafetensorsWriter;

constexpr std::uint64_t kShardFormat = 1;
constexpr const char* kFormatText = "calibration_shard";
constexpr const char* kShardAdvice = "; create the shard again";

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, what); }

void check_format(std::span<const std::byte> bytes) {
  internal::require_safetensors(bytes, "a calibration shard");
  // Check this first, because everything else may differ in a later format.
  const auto texts = SafetensorsReader::texts_of(bytes);
  const auto format = texts.find(kFormatText);
  if (format == texts.end()) {
    refuse(std::string("not a calibration shard: found a ") +
           (texts.contains("widthwise") ? "model" : "safetensors file of another program"));
  }
  const std::uint64_t number = internal::count_of(format->second, kFormatText);
  if (number > kShardFormat) refuse(internal::newer_format("shard format", number, kShardFormat));
  if (number != kShardFormat) refuse(fmt::format("expected shard format {}, found {}", kShardFormat, number));
}

/// The residuals of the rows of both shards.
Calibration merged_residuals(const CalibrationShard& into, const CalibrationShard& shard) {
  Calibration residuals = into.residuals;
  try {
    residuals.merge(shard.residuals);
  } catch (const DuplicateRowError&) {
    Calibration(into.calibration).merge(shard.calibration);  // whose message names the group or cluster of the row
    throw;
  }
  return residuals;
}

/// Merge a shard of the same model: all of its rows or, if one is rejected, none.
void merge_rows(CalibrationShard& into, CalibrationShard shard) {
  const Calibration::Options& expected = into.calibration.options();
  const Calibration::Options& found = shard.calibration.options();
  if (found.capacity != expected.capacity || found.seed != expected.seed) {
    refuse(fmt::format("expected capacity {} and seed {}; found capacity {} and seed {}", expected.capacity,
                       expected.seed, found.capacity, found.seed));
  }
  RowSketch sketch = into.sketch;
  sketch.merge(shard.sketch);
  Calibration residuals = merged_residuals(into, shard);
  into.calibration.merge(std::move(shard.calibration));
  into.sketch = std::move(sketch);
  into.residuals = std::move(residuals);
}

Calibration read_residuals(std::span<const std::byte> bytes) {
  Calibration residuals = Calibration::deserialise(bytes);
  const Calibration::Options expected = CalibrationShard::no_residuals().options();
  const Calibration::Options& found = residuals.options();
  if (found.capacity != expected.capacity || found.seed != expected.seed) {
    refuse(fmt::format("invalid residuals: expected capacity {} and seed {}; found capacity {} and seed {}",
                       expected.capacity, expected.seed, found.capacity, found.seed));
  }
  return residuals;
}

CalibrationShard read_shard(std::span<const std::byte> bytes) {
  check_format(bytes);
  SafetensorsReader reader = SafetensorsReader::sealed(bytes, kShardAdvice);
  (void)reader.take_text(kFormatText);
  (void)reader.take_text("widthwise");
  CalibrationShard shard;
  shard.scores_of = internal::count_of(reader.take_text("scores_of"), "scores_of");
  if (shard.scores_of == 0) refuse("invalid scores_of 0; expected the fingerprint of a model");
  shard.calibration = Calibration::deserialise(reader.take<std::byte>("calibration"));
  if (reader.has("sketch")) shard.sketch = RowSketch::deserialise(reader.take<std::byte>("sketch"));
  if (reader.has("residuals")) shard.residuals = read_residuals(reader.take<std::byte>("residuals"));
  reader.expect_nothing_left();
  return shard;
}

/// The result of `read`; errors begin with `where`.
template <class Read>
CalibrationShard checked_shard(const std::string& where, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kFile) throw;  // names the file
    throw internal::make_error(ErrorCode::kBadData, "{}: {}", where, internal::harmless(error.what()));
  }
}

}  // namespace

Calibration CalibrationShard::no_residuals() { return Calibration({.capacity = kResiduals}); }

CalibrationShard CalibrationShard::of(const Model& model) {
  return {.scores_of = score_fingerprint(model), .calibration = Calibration(model.parts().calibration.options())};
}

CalibrationShard CalibrationShard::in(const Model& model) {
  return {.scores_of = score_fingerprint(model),
          .calibration = model.parts().calibration,
          .sketch = model.parts().calibration_sketch};
}

void CalibrationShard::add(const Model& model, const Rows& rows, std::span<const double> outcomes, RowNumbers numbers) {
  std::vector<double> errors(rows.x.rows());
  model.calibrate(calibration, rows, outcomes, numbers, errors);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(outcomes[i] - errors[i]);
  residuals.add(numbers, errors);
  model.sketch(sketch, rows, outcomes);
}

void require_scores_of(const CalibrationShard& shard, std::uint64_t scores_of) {
  if (shard.scores_of == 0 || scores_of == 0 || shard.scores_of == scores_of) return;
  refuse(
      fmt::format("found scores of another model (fingerprint {:016x}, expected {:016x}), of this model before it was "
                  "fitted again, or of rows of another population; score these rows again with this model",
                  shard.scores_of, scores_of));
}

void merge_shard(CalibrationShard& into, CalibrationShard shard) {
  require_scores_of(shard, into.scores_of);
  const std::uint64_t scores_of = shard.scores_of;
  merge_rows(into, std::move(shard));
  if (into.scores_of == 0) into.scores_of = scores_of;
}

CalibrationUpdate::CalibrationUpdate(const Model& model, bool replaces, std::string option)
    : model_(&model),
      option_(std::move(option)),
      rows_(replaces ? CalibrationShard::of(model) : CalibrationShard::in(model)),
      before_(rows_.sketch) {}

void CalibrationUpdate::add(CalibrationShard shard) {
  require_scores_of(shard, rows_.scores_of);
  model_->check_new_clusters(shard.calibration.cluster_numbers());
  if (const std::string why = model_->scheme().refuses(shard.calibration); !why.empty()) refuse("the shard " + why);
  require_new_rows(*model_, shard.sketch, rows_.sketch, option_);
  RowSketch added = added_;
  added.merge(shard.sketch);
  merge_rows(rows_, std::move(shard));
  added_ = std::move(added);
  ++shards_;
}

Model CalibrationUpdate::finish() && {
  if (shards_ > 1) require_new_rows(*model_, added_, before_, option_);
  return model_->with_calibration(std::move(rows_.calibration), std::move(rows_.sketch));
}

std::vector<std::byte> serialise_shard(const CalibrationShard& shard) {
  SafetensorsWriter writer;
  writer.put_text(kFormatText, std::to_string(kShardFormat));
  writer.put_text("widthwise", kVersion);
  writer.put_text("scores_of", std::to_string(shard.scores_of));
  writer.put("calibration", shard.calibration.serialise());
  if (!shard.sketch.empty()) writer.put("sketch", shard.sketch.serialise());
  if (shard.residuals.rows_seen() > 0) writer.put("residuals", shard.residuals.serialise());
  return std::move(writer).finish_sealed();
}

CalibrationShard deserialise_shard(std::span<const std::byte> bytes) {
  return checked_shard("deserialise_shard", [&] { return read_shard(bytes); });
}

void save_shard(const CalibrationShard& shard, const std::filesystem::path& file) {
  internal::write_file_atomically(file, serialise_shard(shard));
}

CalibrationShard load_shard(const std::filesystem::path& file) {
  return checked_shard(
      file.string(), [&] { return read_shard(internal::read_safetensors(file, "a calibration shard", kShardAdvice)); });
}

}  // namespace widthwise
