#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/safetensors.hpp"
#include "base/words.hpp"

/// Corrects the checksums of bytes that a test has changed, so that the code after the checksum test is reached.
namespace widthwise::examples {

/// For a model, shard or checkpoint in memory: the checksums of its calibration, online state and sketches, then that
/// of the whole file. Other bytes are unchanged.
inline void seal_file(std::span<std::byte> file) {
  constexpr std::size_t kLengthBytes = 8;
  if (file.size() < kLengthBytes) return;
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const auto rest = file.subspan(kLengthBytes);
  if (length > rest.size()) return;
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), length);
  const auto header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object()) return;
  const auto data = rest.subspan(length);
  for (const char* name : {"calibration", "online", "fit_sketch", "calibration_sketch", "fit_clusters", "sketch"}) {
    const auto claim = header.find(name);
    if (claim == header.end() || !claim->is_object() || !claim->contains("data_offsets")) continue;
    const auto& offsets = (*claim)["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned()) continue;
    if (!offsets[1].is_number_unsigned()) continue;
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (begin <= end && end <= data.size()) internal::seal_words(data.subspan(begin, end - begin));
  }
  (void)internal::seal(file);
}

}  // namespace widthwise::examples
