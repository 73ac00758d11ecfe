#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace widthwise::internal {

/// Finds quotes of a CSV file that are not closed, while the file is read, in pieces of any size. Cells are quoted as
/// Arrow's parser has it: a quote opens only at the start of a cell, and "" inside is a quote.
/// Thread safety: none.
class QuoteScanner {
 public:
  /// Go on with the next bytes of the file.
  void scan(std::string_view bytes);

  /// The byte of the file at which the cell that is open now was quoted, if one is.
  [[nodiscard]] std::optional<std::uint64_t> open() const;

  /// The byte at which the first cell was quoted that runs over several lines and is followed by text: its closing
  /// quote is the opening one of another cell.
  [[nodiscard]] std::optional<std::uint64_t> broken() const { return broken_; }

 private:
  enum class State { kCellStart, kInCell, kInQuotes, kAfterQuote };

  /// Go over 64 bytes at once, unless they hold no quote or one that is out of place.
  bool scan_block(std::string_view bytes, std::size_t place);
  /// Both start at a place in the piece; the first returns where to go on.
  std::size_t look_for_open(std::string_view bytes, std::size_t place);
  void after_quote(std::string_view bytes, std::size_t place);
  /// What the piece holds of the cell that was quoted last, up to `end`.
  [[nodiscard]] std::string_view cell_in(std::string_view bytes, std::size_t end) const;

  State state_ = State::kCellStart;
  std::uint64_t piece_start_ = 0;  // in the file
  std::uint64_t opened_ = 0;       // likewise
  bool newline_before_ = false;    // in the quoted cell, in pieces before this one
  std::optional<std::uint64_t> broken_;
};

}  // namespace widthwise::internal
