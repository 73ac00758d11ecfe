#include "base/file_contents.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/message.hpp"

namespace widthwise::internal {
namespace {

constexpr std::size_t kLengthBytes = 8;  // before the header, which is a JSON object

/// What a file holds that begins with these bytes, in the words of a user.
std::string_view contents_of(std::string_view bytes) {
  struct Kind {
    std::string_view beginning;
    std::string_view name;
  };
  constexpr std::array kKinds{Kind{"PAR1", "a Parquet table"},    Kind{"ARROW1", "an Arrow table"},
                              Kind{"\x1f\x8b", "a gzip archive"}, Kind{"PK\x03\x04", "a zip archive"},
                              Kind{"\x80", "a pickle"},           Kind{"%PDF", "a PDF document"}};
  if (bytes.empty()) return "an empty file";
  for (const Kind& kind : kKinds) {
    if (bytes.starts_with(kind.beginning)) return kind.name;
  }
  constexpr std::string_view kBlanks = "\t\n\r";
  const std::string_view looked = bytes.substr(0, kLookedBytes);
  const auto is_text = [&](char letter) {
    return static_cast<unsigned char>(letter) >= ' ' || kBlanks.find(letter) != std::string_view::npos;
  };
  const auto ascii =
      std::ranges::count_if(looked, [](char letter) { return static_cast<unsigned char>(letter) < 0x80; });
  const bool is_mostly_ascii = 2 * static_cast<std::size_t>(ascii) >= looked.size();
  return is_mostly_ascii && std::ranges::all_of(looked, is_text) ? "text, such as a CSV table" : "other data";
}

}  // namespace

void require_safetensors(std::span<const std::byte> bytes, std::string_view kind) {
  if (bytes.size() == kLengthBytes) return;  // may be cut
  if (bytes.size() > kLengthBytes && bytes[kLengthBytes] == std::byte{'{'}) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    if (length <= kMaxHeaderBytes) return;
  }
  throw make_error(ErrorCode::kBadData, "not {}: found {}; expected a safetensors file that widthwise wrote", kind,
                   contents_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

}  // namespace widthwise::internal
