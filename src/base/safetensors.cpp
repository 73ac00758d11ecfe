#include "base/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include <widthwise/error.hpp>

#include "base/file.hpp"
#include "base/file_contents.hpp"
#include "base/hash.hpp"
#include "base/message.hpp"
#include "base/safetensors_sax.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are copied as they stand in the file");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderAlignment = 8;
constexpr std::size_t kMaxDimensions = 8;
constexpr const char* kTextsKey = "__metadata__";
constexpr const char* kType = "dtype";
constexpr const char* kShape = "shape";
constexpr const char* kOffsets = "data_offsets";
constexpr std::size_t kFields = 3;  // these
constexpr const char* kChecksum = "checksum";
constexpr std::string_view kNoChecksum = "0000000000000000";

struct TypeEntry {
  TensorType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kTypes{
    TypeEntry{TensorType::kU8, "U8", 1},   TypeEntry{TensorType::kI32, "I32", 4}, TypeEntry{TensorType::kU32, "U32", 4},
    TypeEntry{TensorType::kI64, "I64", 8}, TypeEntry{TensorType::kU64, "U64", 8}, TypeEntry{TensorType::kF32, "F32", 4},
    TypeEntry{TensorType::kF64, "F64", 8},
};

const TypeEntry& entry_of(TensorType type) { return *std::ranges::find(kTypes, type, &TypeEntry::type); }

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, what); }

[[noreturn]] void refuse_tensor(const std::string& name, const std::string& what) {
  refuse(fmt::format("array '{}': {}", name, what));
}

/// The header entry of one array.
struct Claim {
  std::string type;
  TensorShape shape;
  TensorShape offsets;
};

struct Header {
  std::map<std::string, std::string> texts;
  std::map<std::string, Claim> claims;
  std::span<const std::byte> data;
};

/// Parses the only valid form of a header.
class HeaderSax final : public StrictSax {
 public:
  explicit HeaderSax(Header& header) : header_(header) {}

  bool start_object(std::size_t /*elements*/) override {
    if (place_ == Place::kStart) return go(Place::kTop);
    return (place_ == Place::kTexts || place_ == Place::kTensor) && !std::exchange(opened_, true);
  }

  bool key(std::string& name) override {
    key_ = name;
    switch (place_) {
      case Place::kTop:
        opened_ = false;
        if (name == kTextsKey) {
          if (std::exchange(has_texts_, true)) refuse_twice();
          return go(Place::kTexts);
        } else {
          const auto [found, is_new] = header_.claims.try_emplace(name);
          if (!is_new) refuse_twice();
          refuse_many(header_.claims.size(), "arrays");
          claim_ = &found->second;
          fields_.clear();
          return go(Place::kTensor);
        }
      case Place::kTexts:
        if (header_.texts.contains(name)) refuse_twice();
        refuse_many(header_.texts.size() + 1, "texts");
        return true;
      case Place::kTensor:
        if (!fields_.insert(name).second) refuse_twice();
        return name == kType || name == kShape || name == kOffsets;
      default:
        return false;
    }
  }

  bool string(std::string& value) override {
    if (!opened_) return false;
    if (place_ == Place::kTexts) return header_.texts.emplace(key_, std::move(value)).second;
    if (place_ != Place::kTensor || key_ != kType) return false;
    claim_->type = std::move(value);
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    return place_ == Place::kTensor && opened_ && key_ != kType && go(Place::kNumbers);
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ != Place::kNumbers) return false;
    TensorShape& numbers = key_ == kShape ? claim_->shape : claim_->offsets;
    numbers.push_back(value);
    return numbers.size() <= kMaxDimensions;
  }

  bool end_array() override { return place_ == Place::kNumbers && go(Place::kTensor); }

  bool end_object() override {
    if (place_ == Place::kTensor && fields_.size() != kFields) return false;
    return go(place_ == Place::kTop ? Place::kEnd : Place::kTop);
  }

 private:
  enum class Place { kStart, kTop, kTexts, kTensor, kNumbers, kEnd };

  bool go(Place place) {
    place_ = place;
    return true;
  }

  [[noreturn]] void refuse_twice() const { refuse(fmt::format("duplicate name '{}' in the header", key_)); }
  static void refuse_many(std::size_t entries, const char* of) {
    if (entries > kMaxHeaderEntries) {
      refuse(fmt::format("the header has more than {} {}", count(kMaxHeaderEntries), of));
    }
  }

  Header& header_;
  Claim* claim_ = nullptr;
  std::string key_;
  std::set<std::string> fields_;  // of the claim, so far
  Place place_ = Place::kStart;
  bool opened_ = false;  // the object after a key of the outermost one
  bool has_texts_ = false;
};

/// The length of the header of a file of `size` bytes, which begins with `start`.
std::uint64_t header_length(std::span<const std::byte> start, std::uint64_t size) {
  if (start.size() < kLengthBytes) {
    refuse(fmt::format("not a safetensors file: expected at least 8 bytes, found {}", start.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kLengthBytes);
  const std::uint64_t rest = size - kLengthBytes;
  if (length > rest) {
    refuse(fmt::format("not a safetensors file, or truncated: expected a header of {} bytes, found {} bytes", length,
                       rest));
  }
  if (length > kMaxHeaderBytes) {
    refuse(fmt::format("the header has {} bytes; expected at most {}", count(length), count(kMaxHeaderBytes)));
  }
  return length;
}

/// The JSON of the header, and the bytes after it.
std::pair<std::string_view, std::span<const std::byte>> parts_of(std::span<const std::byte> bytes) {
  const std::uint64_t length = header_length(bytes, bytes.size());
  const std::span<const std::byte> rest = bytes.subspan(kLengthBytes);
  return {{reinterpret_cast<const char*>(rest.data()), length}, rest.subspan(length)};
}

Header read_header(std::span<const std::byte> bytes) {
  const auto [text, data] = parts_of(bytes);
  Header header;
  header.data = data;
  if (!text.starts_with('{') || !HeaderSax(header).accepts(text)) {
    refuse("not a safetensors file: invalid JSON header");
  }
  return header;
}

/// Throw unless `size` bytes follow the header, as many as the arrays fill.
void expect_size(const Header& header, std::uint64_t size, const std::string& advice) {
  std::uint64_t end = 0;
  for (const auto& [name, claim] : header.claims) {
    if (!claim.offsets.empty()) end = std::max(end, claim.offsets.back());
  }
  if (end != size) refuse(fmt::format("damaged: expected {} bytes after the header, found {}{}", end, size, advice));
}

/// The position of the checksum digits. A quoted text after a quoted name is always a text of "__metadata__": all other
/// values are objects, numbers or types, and quotes within texts are escaped.
std::optional<std::size_t> checksum_place(std::span<const std::byte> file) {
  constexpr std::string_view kBefore = R"("checksum":")";
  const std::string_view header = parts_of(file).first;
  const std::size_t found = header.find(kBefore);
  const std::size_t digits = found + kBefore.size();
  if (found == std::string_view::npos || header.find('"', digits) != digits + kNoChecksum.size()) return std::nullopt;
  return kLengthBytes + digits;
}

std::string checksum_text(std::span<const std::byte> file, std::size_t place) {
  std::uint64_t sum =
      checksum_of({file.first(place), std::as_bytes(std::span(kNoChecksum)), file.subspan(place + kNoChecksum.size())});
  std::string text(kNoChecksum);
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, sum /= 16) *digit = "0123456789abcdef"[sum % 16];
  return text;
}

/// Throw unless the file contains the checksum of its bytes.
void verify_checksum(std::span<const std::byte> file, const std::string& advice) {
  const std::optional<std::size_t> place = checksum_place(file);
  if (!place) refuse("damaged: the checksum is missing" + advice);
  const std::string computed = checksum_text(file, *place);
  const std::string_view found(reinterpret_cast<const char*>(file.data()) + *place, kNoChecksum.size());
  if (found != computed) {
    refuse(fmt::format("damaged: checksum mismatch (stored {}, computed {}){}", found, computed, advice));
  }
}

/// Size in bytes of an array of this type and shape.
std::optional<std::uint64_t> size_of(std::size_t number_size, const TensorShape& shape) {
  std::uint64_t size = number_size;
  for (const std::uint64_t dimension : shape) {
    if (dimension != 0 && size > std::numeric_limits<std::uint64_t>::max() / dimension) return std::nullopt;
    size *= dimension;
  }
  return size;
}

std::string text_of_shape(const TensorShape& shape) {
  std::string text;
  for (const std::uint64_t dimension : shape) text += (text.empty() ? "" : " x ") + std::to_string(dimension);
  return fmt::format("[{}]", text);
}

// The header is written piece by piece, because destroying a JSON tree needs memory, which may have run out.

std::string json_of(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string("a name or text is not UTF-8: ") + error.what());
  }
}

/// Append "name":value to an object that is still open.
void append_field(std::string& object, const std::string& name, const std::string& value) {
  if (object.size() > 1) object += ',';
  object.append(json_of(name)).append(1, ':').append(value);
}

std::string text_of_texts(const std::map<std::string, std::string>& texts) {
  std::string object(1, '{');
  for (const auto& [name, text] : texts) append_field(object, name, json_of(text));
  return object += '}';
}

std::string text_of_numbers(const TensorShape& numbers) {
  std::string text(1, '[');
  for (const std::uint64_t number : numbers) {
    if (text.size() > 1) text += ',';
    text += std::to_string(number);
  }
  return text += ']';
}

std::string text_of_claim(std::string_view type, const TensorShape& shape, const TensorShape& offsets) {
  std::string object(1, '{');
  append_field(object, kType, json_of(std::string(type)));
  append_field(object, kShape, text_of_numbers(shape));
  append_field(object, kOffsets, text_of_numbers(offsets));
  return object += '}';
}

}  // namespace

// --- SafetensorsWriter
// ----------------------------------------------------------------------------------------------------

void SafetensorsWriter::put_text(const std::string& name, std::string text) {
  texts_.insert_or_assign(name, std::move(text));
}

void SafetensorsWriter::put_bytes(const std::string& name, TensorType type, TensorShape shape,
                                  std::span<const std::byte> bytes) {
  tensors_.insert_or_assign(name, Tensor{type, std::move(shape), {bytes.begin(), bytes.end()}});
}

std::vector<std::byte> SafetensorsWriter::finish() const {
  // The widest types first, so that every array is aligned to the size of its numbers.
  std::vector<std::pair<const std::string*, const Tensor*>> order;
  for (const auto& [name, tensor] : tensors_) order.emplace_back(&name, &tensor);
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    const std::size_t size_a = entry_of(a.second->type).size;
    const std::size_t size_b = entry_of(b.second->type).size;
    return size_a != size_b ? size_a > size_b : *a.first < *b.first;
  });

  std::size_t data_size = 0;
  std::string header(1, '{');
  if (!texts_.empty()) append_field(header, kTextsKey, text_of_texts(texts_));
  for (const auto& [name, tensor] : order) {
    const std::size_t begin = data_size;
    data_size += tensor->bytes.size();
    append_field(header, *name, text_of_claim(entry_of(tensor->type).name, tensor->shape, {begin, data_size}));
  }
  header += '}';
  header.resize((header.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');

  if (header.size() > kMaxHeaderBytes || std::max(texts_.size(), order.size()) > kMaxHeaderEntries) {
    throw make_error(ErrorCode::kInvalidArgument,
                     "the names and texts are too long to store: {} texts and {} arrays, {} bytes; expected at most {} "
                     "of each and {} bytes; use fewer or shorter notes, column names and categories",
                     count(texts_.size()), count(order.size()), count(header.size()), count(kMaxHeaderEntries),
                     count(kMaxHeaderBytes));
  }

  std::vector<std::byte> bytes(kLengthBytes);
  bytes.reserve(kLengthBytes + header.size() + data_size);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, kLengthBytes);
  const auto header_bytes = std::as_bytes(std::span(header));
  bytes.insert(bytes.end(), header_bytes.begin(), header_bytes.end());
  for (const auto& [name, tensor] : order) bytes.insert(bytes.end(), tensor->bytes.begin(), tensor->bytes.end());
  return bytes;
}

std::vector<std::byte> SafetensorsWriter::finish_sealed() && {
  put_text(kChecksum, std::string(kNoChecksum));
  std::vector<std::byte> file = finish();
  (void)seal(file);
  return file;
}

// --- checksum
// ----------------------------------------------------------------------------------------------------

bool seal(std::span<std::byte> file) {
  const std::optional<std::size_t> place = checksum_place(file);
  if (!place) return false;
  const std::string text = checksum_text(file, *place);
  std::memcpy(file.data() + *place, text.data(), text.size());
  return true;
}

// --- SafetensorsReader
// ----------------------------------------------------------------------------------------------------

std::vector<std::byte> read_safetensors(const std::filesystem::path& file, std::string_view kind,
                                        const std::string& advice) {
  InputFile input(file);
  std::vector<std::byte> bytes;
  (void)input.read(kLookedBytes, bytes);
  if (!kind.empty()) require_safetensors(bytes, kind);
  const std::uint64_t header_end = kLengthBytes + header_length(bytes, input.size());
  if (header_end > bytes.size()) (void)input.read(header_end - bytes.size(), bytes);
  expect_size(read_header(bytes), input.size() - header_end, advice);
  (void)input.read(input.size() - bytes.size(), bytes);
  return bytes;
}

SafetensorsReader::SafetensorsReader(std::span<const std::byte> bytes) {
  Header header = read_header(bytes);
  expect_size(header, header.data.size(), "");
  texts_ = std::move(header.texts);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const auto& [name, claim] : header.claims) {
    const auto type = std::ranges::find(kTypes, claim.type, &TypeEntry::name);
    if (type == kTypes.end()) refuse_tensor(name, "unknown dtype");
    if (claim.offsets.size() != 2) refuse_tensor(name, "expected two data_offsets");
    const std::uint64_t begin = claim.offsets[0];
    const std::uint64_t end = claim.offsets[1];
    if (begin > end || end > header.data.size()) {
      refuse_tensor(name, fmt::format("bytes {} to {} are out of range; {} bytes follow the header", begin, end,
                                      header.data.size()));
    }
    if (size_of(type->size, claim.shape) != end - begin) {
      refuse_tensor(name, fmt::format("shape {} does not match {} bytes", text_of_shape(claim.shape), end - begin));
    }
    places.emplace_back(begin, end);
    tensors_.emplace(name, Tensor{type->type, claim.shape, header.data.subspan(begin, end - begin)});
  }
  std::ranges::sort(places);
  std::uint64_t next = 0;
  for (const auto& [begin, end] : places) {
    if (begin != next) refuse(fmt::format("the arrays overlap or leave a gap at byte {} after the header", next));
    next = end;
  }
}

SafetensorsReader SafetensorsReader::sealed(std::span<const std::byte> bytes, const std::string& advice) {
  verify_checksum(bytes, advice);
  SafetensorsReader reader(bytes);
  (void)reader.take_text(kChecksum);
  return reader;
}

std::map<std::string, std::string> SafetensorsReader::texts_of(std::span<const std::byte> bytes) {
  return read_header(bytes).texts;
}

std::optional<std::string> SafetensorsReader::take_text_if_any(const std::string& name) {
  auto node = texts_.extract(name);
  if (node.empty()) return std::nullopt;
  return std::move(node.mapped());
}

std::string SafetensorsReader::take_text(const std::string& name) {
  std::optional<std::string> text = take_text_if_any(name);
  if (!text) refuse(fmt::format("the text '{}' is missing", name));
  return *std::move(text);
}

std::map<std::string, std::string> SafetensorsReader::take_texts(std::string_view beginning) {
  std::map<std::string, std::string> taken;
  auto next = texts_.lower_bound(std::string(beginning));
  while (next != texts_.end() && next->first.starts_with(beginning)) {
    taken.emplace_hint(taken.end(), next->first.substr(beginning.size()), std::move(next->second));
    next = texts_.erase(next);
  }
  return taken;
}

SafetensorsReader::Tensor SafetensorsReader::take_bytes(const std::string& name, TensorType type,
                                                        std::size_t dimensions) {
  auto node = tensors_.extract(name);
  if (node.empty()) refuse_tensor(name, "missing");
  if (node.mapped().type != type || node.mapped().shape.size() != dimensions) {
    refuse_tensor(name, fmt::format("expected {} dimensions of {}, found {} of {}", dimensions, entry_of(type).name,
                                    text_of_shape(node.mapped().shape), entry_of(node.mapped().type).name));
  }
  return std::move(node.mapped());
}

void SafetensorsReader::copy_bytes(std::span<const std::byte> bytes, void* to) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

void SafetensorsReader::expect_nothing_left() const {
  if (!texts_.empty())
    refuse(fmt::format("unknown text '{}'; a newer version may have written this file", texts_.begin()->first));
  if (!tensors_.empty())
    refuse_tensor(tensors_.begin()->first, "unknown array; a newer version may have written this file");
}

}  // namespace widthwise::internal
