#include <widthwise/calibration_part.hpp>

#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/version.hpp>

#include "file.hpp"
#include "model_file/texts.hpp"
#include "safetensors.hpp"

// Format 1. Texts: "calibration_part", the format, which models do not have; "widthwise", the version that wrote it;
// "scores_of", a number. Array: "calibration".
// Format 2: the same, and the array "sketch".
// Format 3: the same, where "sketch" may be absent, and the text "checksum" (safetensors.hpp). Every part is written
// so.
namespace widthwise {
namespace {

using internal::SafetensorsReader;
using internal::SafetensorsWriter;

constexpr std::uint64_t kFormatWithSketch = 2;
constexpr std::uint64_t kPartFormat = 3;
constexpr const char* kFormatText = "calibration_part";

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, what); }

std::uint64_t format_of(std::span<const std::byte> bytes) {
  // Before anything else is read, which may look different in a later format.
  const auto texts = SafetensorsReader::texts_of(bytes);
  const auto format = texts.find(kFormatText);
  if (format == texts.end()) {
    refuse(texts.contains("widthwise") ? "a model, not a part of a calibration"
                                       : "a safetensors file, but not a part of a calibration");
  }
  const std::uint64_t number = internal::count_of(format->second, kFormatText);
  if (number > kPartFormat) {
    refuse("format " + format->second + " of parts is newer than this program (" + std::to_string(kPartFormat) +
           "); update widthwise");
  }
  if (number == 0) refuse("format 0 does not exist");
  return number;
}

CalibrationPart read_part(std::span<const std::byte> bytes, const std::string& where) {
  try {
    const std::uint64_t format = format_of(bytes);
    SafetensorsReader reader =
        format < kPartFormat ? SafetensorsReader(bytes) : SafetensorsReader::sealed(bytes, "; make the part again");
    (void)reader.take_text(kFormatText);
    (void)reader.take_text("widthwise");
    CalibrationPart part;
    part.scores_of = internal::count_of(reader.take_text("scores_of"), "scores_of");
    part.calibration = Calibration::deserialise(reader.take<std::byte>("calibration"));
    if (format == kFormatWithSketch || (format == kPartFormat && reader.has("sketch")))
      part.sketch = RowSketch::deserialise(reader.take<std::byte>("sketch"));
    reader.expect_nothing_left();
    return part;
  } catch (const Error& error) {
    throw Error(ErrorCode::kBadData, where + ": " + internal::harmless(error.what()));
  }
}

}  // namespace

CalibrationPart CalibrationPart::of(const Model& model) {
  return {.scores_of = score_fingerprint(model), .calibration = Calibration(model.parts().calibration.options())};
}

CalibrationPart CalibrationPart::in(const Model& model) {
  return {.scores_of = score_fingerprint(model),
          .calibration = model.parts().calibration,
          .sketch = model.parts().calibration_sketch};
}

void merge_part(CalibrationPart& into, const CalibrationPart& part, const Model& model) {
  if (part.scores_of != score_fingerprint(model)) {
    refuse("these are scores of another model; make the part again with this one");
  }
  const Calibration::Options& expected = into.calibration.options();
  const Calibration::Options& found = part.calibration.options();
  if (found.capacity != expected.capacity || found.seed != expected.seed) {
    refuse("expected a sample of capacity " + std::to_string(expected.capacity) + " and seed " +
           std::to_string(expected.seed) + " as the model's, found capacity " + std::to_string(found.capacity) +
           " and seed " + std::to_string(found.seed));
  }
  if (part.calibration.weighted()) refuse("the part has weights; the calibration of a model has none");
  RowSketch sketch = into.sketch;
  sketch.merge(part.sketch);
  into.calibration.merge(part.calibration);
  into.sketch = std::move(sketch);
}

std::vector<std::byte> serialise_part(const CalibrationPart& part) {
  SafetensorsWriter writer;
  writer.put_text(kFormatText, std::to_string(kPartFormat));
  writer.put_text("widthwise", kVersion);
  writer.put_text("scores_of", std::to_string(part.scores_of));
  writer.put("calibration", part.calibration.serialise());
  if (!part.sketch.empty()) writer.put("sketch", part.sketch.serialise());
  return std::move(writer).finish_sealed();
}

CalibrationPart deserialise_part(std::span<const std::byte> bytes) { return read_part(bytes, "deserialise_part"); }

void save_part(const CalibrationPart& part, const std::filesystem::path& file) {
  internal::write_file_atomically(file, serialise_part(part));
}

CalibrationPart load_part(const std::filesystem::path& file) {
  return read_part(internal::read_file(file), file.string());
}

}  // namespace widthwise
