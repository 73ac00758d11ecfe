#include <widthwise/calibration_shard.hpp>

#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/version.hpp>

#include "file.hpp"
#include "file_contents.hpp"
#include "message.hpp"
#include "model_file/texts.hpp"
#include "safetensors.hpp"

// Format 1. Texts: "calibration_part", the format, which models do not have; "widthwise", the version that wrote it;
// "scores_of", a number. Array: "calibration".
// Format 2: the same, and the array "sketch".
// Format 3: the same, where "sketch" may be absent, and the text "checksum" (safetensors.hpp). Every shard is written
// so.
namespace widthwise {
namespace {

using internal::SafetensorsReader;
using internal::SafetensorsWriter;

constexpr std::uint64_t kFormatWithSketch = 2;
constexpr std::uint64_t kShardFormat = 3;
constexpr const char* kFormatText = "calibration_part";
constexpr const char* kShardAdvice = "; create the shard again";

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, what); }

std::uint64_t format_of(std::span<const std::byte> bytes) {
  internal::require_safetensors(bytes, "a calibration shard");
  // Check this first, because everything else may differ in a later format.
  const auto texts = SafetensorsReader::texts_of(bytes);
  const auto format = texts.find(kFormatText);
  if (format == texts.end()) {
    refuse(std::string("not a calibration shard: found a ") +
           (texts.contains("widthwise") ? "model" : "safetensors file of another program"));
  }
  const std::uint64_t number = internal::count_of(format->second, kFormatText);
  if (number > kShardFormat) {
    refuse(
        fmt::format("shard format {} is newer than this program ({}); update widthwise", format->second, kShardFormat));
  }
  if (number == 0) refuse("invalid format 0");
  return number;
}

CalibrationShard read_shard(std::span<const std::byte> bytes) {
  const std::uint64_t format = format_of(bytes);
  SafetensorsReader reader =
      format < kShardFormat ? SafetensorsReader(bytes) : SafetensorsReader::sealed(bytes, kShardAdvice);
  (void)reader.take_text(kFormatText);
  (void)reader.take_text("widthwise");
  CalibrationShard shard;
  shard.scores_of = internal::count_of(reader.take_text("scores_of"), "scores_of");
  shard.calibration = Calibration::deserialise(reader.take<std::byte>("calibration"));
  if (format == kFormatWithSketch || (format == kShardFormat && reader.has("sketch")))
    shard.sketch = RowSketch::deserialise(reader.take<std::byte>("sketch"));
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

CalibrationShard CalibrationShard::of(const Model& model) {
  return {.scores_of = score_fingerprint(model), .calibration = Calibration(model.parts().calibration.options())};
}

CalibrationShard CalibrationShard::in(const Model& model) {
  return {.scores_of = score_fingerprint(model),
          .calibration = model.parts().calibration,
          .sketch = model.parts().calibration_sketch};
}

void merge_shard(CalibrationShard& into, const CalibrationShard& shard, const Model& model) {
  if (shard.scores_of != score_fingerprint(model)) {
    refuse(
        fmt::format("the shard holds scores of another model (fingerprint {:016x}; this model has {:016x}), or of rows "
                    "of another population; create it again with this model",
                    shard.scores_of, score_fingerprint(model)));
  }
  const Calibration::Options& expected = into.calibration.options();
  const Calibration::Options& found = shard.calibration.options();
  if (found.capacity != expected.capacity || found.seed != expected.seed) {
    refuse(fmt::format("expected capacity {} and seed {}, as in the model; found capacity {} and seed {}",
                       expected.capacity, expected.seed, found.capacity, found.seed));
  }
  const std::string refused = model.scheme().refuses(shard.calibration);
  if (!refused.empty()) refuse("the shard " + refused);
  RowSketch sketch = into.sketch;
  sketch.merge(shard.sketch);
  into.calibration.merge(shard.calibration);
  into.sketch = std::move(sketch);
}

std::vector<std::byte> serialise_shard(const CalibrationShard& shard) {
  SafetensorsWriter writer;
  writer.put_text(kFormatText, std::to_string(kShardFormat));
  writer.put_text("widthwise", kVersion);
  writer.put_text("scores_of", std::to_string(shard.scores_of));
  writer.put("calibration", shard.calibration.serialise());
  if (!shard.sketch.empty()) writer.put("sketch", shard.sketch.serialise());
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
