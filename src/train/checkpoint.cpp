#include <widthwise/train/checkpoint.hpp>

#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/train/team.hpp>

#include "file.hpp"
#include "hash.hpp"
#include "safetensors.hpp"
#include "text.hpp"

namespace widthwise {
namespace {

constexpr const char* kFormat = "1";

std::string name_of(std::size_t number) { return "training." + std::to_string(number); }

std::vector<std::byte> to_bytes(std::uint64_t fit, const std::map<std::size_t, std::vector<std::byte>>& states) {
  internal::SafetensorsWriter writer;
  std::uint64_t sum = 0;
  for (const auto& [number, state] : states) {
    writer.put(name_of(number), state);
    sum = internal::hash_bytes(sum, state);
  }
  writer.put_text("checkpoint", kFormat);
  writer.put_text("fit", std::to_string(fit));
  writer.put_text("trainings", std::to_string(states.size()));
  writer.put_text("checksum", std::to_string(sum));
  return writer.finish();
}

/// The states of a checkpoint of this fit; none when it is another's, or damaged: training then starts anew.
std::map<std::size_t, std::vector<std::byte>> states_in(std::span<const std::byte> bytes, std::uint64_t fit) {
  try {
    internal::SafetensorsReader reader(bytes);
    if (reader.take_text("checkpoint") != kFormat || reader.take_text("fit") != std::to_string(fit)) return {};
    const auto count = internal::read_whole<std::size_t>(reader.take_text("trainings"));
    const std::string sum = reader.take_text("checksum");
    std::map<std::size_t, std::vector<std::byte>> states;
    std::uint64_t found = 0;
    for (std::size_t number = 0; count && number < *count; ++number) {
      const auto& state = states[number] = reader.take<std::byte>(name_of(number));
      found = internal::hash_bytes(found, state);
    }
    reader.expect_nothing_left();
    if (!count || sum != std::to_string(found)) return {};
    return states;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadData) throw;
    return {};
  }
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path file, std::uint64_t fit, const Team* team)
    : file_(std::move(file)), fit_(fit), writes_(team == nullptr || team->rank() == 0), kept_(Clock::now()) {
  const auto read = [&] {
    if (writes_ && std::filesystem::exists(file_)) states_ = states_in(internal::read_file(file_), fit);
  };
  if (team == nullptr) {
    read();
    return;
  }
  all_or_none(*team, read);
  // The others take the first worker's word for it.
  const auto states = gather(*team, writes_ ? to_bytes(fit, states_) : std::vector<std::byte>());
  const auto fits = gather(*team, std::as_bytes(std::span(&fit, 1)));
  std::memcpy(&fit_, fits.front().data(), sizeof(fit_));
  if (!writes_) states_ = states_in(states.front(), fit_);
}

std::span<const std::byte> Checkpoint::begin() {
  const auto found = states_.find(next_++);
  return found == states_.end() ? std::span<const std::byte>() : found->second;
}

bool Checkpoint::due() const {
  constexpr auto kLeast = std::chrono::milliseconds(200);
  const auto since = Clock::now() - kept_;
  return writes_ && since >= kLeast && since >= 20 * cost_;
}

void Checkpoint::keep(std::vector<std::byte> state) {
  if (!writes_) return;
  const auto start = Clock::now();
  states_[next_ - 1] = std::move(state);
  internal::write_file_atomically(file_, to_bytes(fit_, states_));
  kept_ = Clock::now();
  cost_ = kept_ - start;
}

void Checkpoint::remove() const {
  std::error_code ignored;
  if (writes_) std::filesystem::remove(file_, ignored);
}

}  // namespace widthwise
