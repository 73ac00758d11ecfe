#include <widthwise/train/communicator.hpp>

#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <widthwise/error.hpp>

#include "base/file.hpp"
#include "base/message.hpp"
#include "base/safetensors.hpp"
#include "base/text.hpp"
#include "model/model_file/texts.hpp"

namespace widthwise {
namespace {

// Texts: "checkpoint", the format; "fit" and "trainings", numbers; "checksum" (safetensors.hpp). Arrays: "training.0"
// and so on.
constexpr const char* kFormatText = "checkpoint";
constexpr const char* kFormat = "1";
constexpr const char* kAdvice = "delete this file and rerun the same command to train from the start";

using States = std::map<std::size_t, std::vector<std::byte>>;

std::string name_of(std::size_t number) { return fmt::format("training.{}", number); }

std::vector<std::byte> to_bytes(std::uint64_t fit, const States& states) {
  internal::SafetensorsWriter writer;
  for (const auto& [number, state] : states) writer.put(name_of(number), state);
  writer.put_text(kFormatText, kFormat);
  writer.put_text("fit", std::to_string(fit));
  writer.put_text("trainings", std::to_string(states.size()));
  return std::move(writer).finish_sealed();
}

/// The states of a checkpoint of this fit; empty for another fit. Throws kBadData if it is damaged.
States states_in(std::span<const std::byte> bytes, std::uint64_t fit) {
  const auto texts = internal::SafetensorsReader::texts_of(bytes);
  const auto format = texts.find(kFormatText);
  if (format == texts.end() || format->second != kFormat) {
    throw Error(ErrorCode::kBadData, "not a checkpoint of this version");
  }
  auto reader = internal::SafetensorsReader::sealed(bytes, "");
  (void)reader.take_text(kFormatText);
  const auto count = internal::count_of(reader.take_text("trainings"), "trainings");
  const bool is_this = reader.take_text("fit") == std::to_string(fit);
  States states;
  for (std::size_t number = 0; number < count; ++number) {
    states[number] = reader.take<std::byte>(name_of(number));
  }
  reader.expect_nothing_left();
  return is_this ? states : States();
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path file, std::uint64_t fit, const Communicator* communicator)
    : file_(std::move(file)),
      fit_(fit),
      writes_(communicator == nullptr || communicator->rank() == 0),
      kept_(Clock::now()) {
  const auto read = [&] {
    if (!writes_ || !std::filesystem::exists(file_)) return;
    try {
      states_ = states_in(internal::read_safetensors(file_, "", ""), fit);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kFile) throw;  // names the file
      refuse(error.what());
    }
  };
  if (communicator == nullptr) {
    read();
    return;
  }
  all_or_none(*communicator, read);
  // The other workers use the states of the first.
  const auto states = gather(*communicator, writes_ ? to_bytes(fit, states_) : std::vector<std::byte>());
  const auto fits = gather(*communicator, std::as_bytes(std::span(&fit, 1)));
  std::memcpy(&fit_, fits.front().data(), sizeof(fit_));
  if (!writes_) states_ = states_in(states.front(), fit_);
}

std::span<const std::byte> Checkpoint::begin() {
  const auto found = states_.find(next_++);
  return found == states_.end() ? std::span<const std::byte>() : found->second;
}

bool Checkpoint::due() const {
  constexpr auto kMin = std::chrono::milliseconds(200);
  const auto since = Clock::now() - kept_;
  return writes_ && since >= kMin && since >= 20 * cost_;
}

void Checkpoint::keep(std::vector<std::byte> state) {
  if (!writes_) return;
  const auto start = Clock::now();
  states_[next_ - 1] = std::move(state);
  internal::write_file_atomically(file_, to_bytes(fit_, states_));
  kept_ = Clock::now();
  cost_ = kept_ - start;
}

void Checkpoint::refuse(const std::string& why) const {
  throw internal::make_error(ErrorCode::kBadData, "{}: {}; {}", file_.string(), internal::harmless(why), kAdvice);
}

void Checkpoint::remove() const {
  std::error_code ignored;
  if (writes_) std::filesystem::remove(file_, ignored);
}

}  // namespace widthwise
