#include "io/table/csv_text.hpp"
#include "base/text.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

namespace widthwise::internal {
namespace {

constexpr char kQuote = '"';

bool has_newline(std::string_view text) {
  return text.find('\n') != std::string_view::npos || text.find('\r') != std::string_view::npos;
}

constexpr std::size_t kBlock = 64;

/// A bit mask of the kBlock bytes that are `letter`; the first byte is the lowest bit.
std::uint64_t places_of(const char* bytes, char letter) {
  std::uint64_t places = 0;
#if defined(__SSE2__)
  const __m128i letters = _mm_set1_epi8(letter);
  for (std::size_t i = 0; i < kBlock; i += sizeof letters) {
    __m128i part;
    std::memcpy(&part, bytes + i, sizeof part);
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(part, letters));
    places |= static_cast<std::uint64_t>(static_cast<unsigned>(found)) << i;
  }
#else
  for (std::size_t i = 0; i < kBlock; ++i) places |= std::uint64_t{bytes[i] == letter} << i;
#endif
  return places;
}

/// Bit i of the result is the parity of bits 0 to i.
std::uint64_t running_parity(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

/// The next quote, or the end.
std::size_t next_quote(std::string_view bytes, std::size_t from) {
  return std::min(bytes.find(kQuote, from), bytes.size());
}

}  // namespace

std::optional<std::uint64_t> QuoteScanner::open() const {
  return state_ == State::kInQuotes ? std::optional(opened_) : std::nullopt;
}

void QuoteScanner::scan(std::string_view bytes) {
  std::size_t place = piece_start_ == 0 && bytes.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (place < bytes.size()) {
    if (bytes.size() - place >= kBlock && scan_block(bytes, place)) {
      place += kBlock;
      continue;
    }
    if (state_ == State::kCellStart || state_ == State::kInCell) place = look_for_open(bytes, place);
    if (state_ == State::kInQuotes && place < bytes.size()) {
      const std::size_t quote = next_quote(bytes, place);
      add_breaks(static_cast<std::uint64_t>(std::ranges::count(bytes.substr(place, quote - place), '\n')));
      place = quote + 1;
      if (place <= bytes.size()) state_ = State::kAfterQuote;
    }
    if (state_ == State::kAfterQuote && place < bytes.size()) after_quote(bytes, place++);
  }
  if (state_ == State::kInQuotes || state_ == State::kAfterQuote) {
    newline_before_ = newline_before_ || has_newline(cell_in(bytes, bytes.size()));
  }
  piece_start_ += bytes.size();
}

bool QuoteScanner::scan_block(std::string_view bytes, std::size_t place) {
  const char* const block = bytes.data() + place;
  const std::uint64_t quotes = places_of(block, kQuote);
  if (quotes == 0) return false;  // the faster search continues
  const std::uint64_t newlines = places_of(block, '\n');
  const std::uint64_t ends = places_of(block, separator_) | newlines | places_of(block, '\r');
  // "" inside a cell closes and reopens it, which has the same result.
  const bool was_open = state_ == State::kInQuotes;
  const std::uint64_t open = running_parity(quotes) ^ (was_open ? ~std::uint64_t{0} : 0);
  const std::uint64_t closing = quotes & ~open;
  const std::uint64_t after_closing = closing << 1U | (state_ == State::kAfterQuote ? 1U : 0U);
  const std::uint64_t starts = ends << 1U | (state_ == State::kCellStart ? 1U : 0U);
  const std::uint64_t opening = quotes & open;
  if ((opening & ~(starts | after_closing)) != 0 || (after_closing & ~(ends | quotes)) != 0) return false;

  const std::uint64_t first = opening & ~after_closing;
  const std::uint64_t breaks = newlines & open;
  if (first != 0 && breaks != 0) return false;  // of which cell?
  if (first != 0) open_at(piece_start_ + place + static_cast<std::uint64_t>(std::bit_width(first)) - 1);
  add_breaks(static_cast<std::uint64_t>(std::popcount(breaks)));
  const auto is_last = [](std::uint64_t places) { return places >> (kBlock - 1) != 0; };
  if (is_last(open)) {
    state_ = State::kInQuotes;
  } else if (is_last(closing)) {
    state_ = State::kAfterQuote;
  } else {
    state_ = is_last(ends) ? State::kCellStart : State::kInCell;
  }
  return true;
}

std::size_t QuoteScanner::look_for_open(std::string_view bytes, std::size_t place) {
  const bool here = state_ == State::kCellStart && bytes[place] == kQuote;
  const std::size_t quote = here ? place : next_quote(bytes, place);
  if (quote == bytes.size()) {
    state_ = ends_cell(bytes.back()) ? State::kCellStart : State::kInCell;
    return quote;
  }
  const bool opens = here || (quote > place && ends_cell(bytes[quote - 1]));
  state_ = opens ? State::kInQuotes : State::kInCell;
  if (opens) open_at(piece_start_ + quote);
  return quote + 1;
}

void QuoteScanner::open_at(std::uint64_t place) {
  opened_ = place;
  newline_before_ = false;
  breaks_ = 0;
}

void QuoteScanner::add_breaks(std::uint64_t count) {
  breaks_ += count;
  if (count == 0 || breaks_ < kManyBreaks) return;
  if (!long_cell_ || long_cell_->opened == opened_) long_cell_ = {opened_, breaks_};
}

void QuoteScanner::after_quote(std::string_view bytes, std::size_t place) {
  if (bytes[place] == kQuote) {
    state_ = State::kInQuotes;
  } else if (ends_cell(bytes[place])) {
    state_ = State::kCellStart;
  } else {
    state_ = State::kInCell;
    if (!broken_ && (newline_before_ || has_newline(cell_in(bytes, place)))) broken_ = opened_;
  }
}

std::string_view QuoteScanner::cell_in(std::string_view bytes, std::size_t end) const {
  const std::size_t begin = opened_ > piece_start_ ? static_cast<std::size_t>(opened_ - piece_start_) : 0;
  return bytes.substr(begin, end - begin);
}

// ---- separators

namespace {

constexpr std::size_t kMaxLines = 100;

/// The number of cells in each of the first lines that are not empty. A last line without a line break may be cut off,
/// so it counts only if it is the header.
std::vector<std::size_t> cells_per_line(std::string_view text, char separator) {
  std::vector<std::size_t> counts;
  std::size_t cells = 1;
  bool in_quotes = false;
  bool cell_start = true;
  bool empty_line = true;
  for (const char letter : text) {
    const bool line_break = !in_quotes && (letter == '\n' || letter == '\r');
    if (line_break) {
      if (!empty_line) counts.push_back(cells);
      if (counts.size() == kMaxLines) return counts;
      cells = 1;
    } else if (letter == '"' && (in_quotes || cell_start)) {
      in_quotes = !in_quotes;
    } else if (letter == separator && !in_quotes) {
      ++cells;
    }
    empty_line = line_break;
    // "" inside quotes closes and reopens the cell, which has the same result.
    cell_start = !in_quotes && (line_break || letter == separator || letter == '"');
  }
  if (counts.empty() && !empty_line) counts.push_back(cells);
  return counts;
}

bool splits(std::string_view text, char separator) {
  const std::vector<std::size_t> counts = cells_per_line(text, separator);
  return !counts.empty() && counts.front() > 1 &&
         std::ranges::all_of(counts, [&](std::size_t cells) { return cells == counts.front(); });
}

}  // namespace

std::optional<char> guess_separator(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (splits(text, ',')) return ',';
  std::optional<char> found;
  for (const char candidate : {';', '\t', '|'}) {
    if (!splits(text, candidate)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

bool is_separator(char letter) {
  constexpr std::string_view kInNumbers = "+-.eE";
  return letter != '"' && letter != '\n' && letter != '\r' && letter != '\0' && !is_digit(letter) &&
         kInNumbers.find(letter) == std::string_view::npos;
}

}  // namespace widthwise::internal
