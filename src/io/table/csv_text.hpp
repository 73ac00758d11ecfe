#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace widthwise::internal {

/// May precede the first cell of a CSV file.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Finds unclosed quotes of a CSV file while the file is read, in pieces of any size. The rules are those of Arrow's
/// parser: a quote opens only at the start of a cell, and "" inside is a quote.
/// Thread safety: none.
class QuoteScanner {
 public:
  explicit QuoteScanner(char separator = ',') : separator_(separator) {}

  /// Process the next bytes of the file.
  void scan(std::string_view bytes);

  /// The position of the opening quote of the currently open cell, if any.
  [[nodiscard]] std::optional<std::uint64_t> open() const;

  /// The position of the opening quote of the first cell that spans several lines and is followed by text: its closing
  /// quote is actually the opening quote of another cell.
  [[nodiscard]] std::optional<std::uint64_t> broken() const { return broken_; }

  /// A quoted cell with line breaks.
  struct LongCell {
    std::uint64_t opened = 0;  ///< position of its opening quote
    std::uint64_t breaks = 0;  ///< number of line breaks
  };

  /// The first cell with kManyBreaks line breaks or more. A quote that was opened by mistake and is closed by that of a
  /// later cell makes such a cell of all rows between.
  [[nodiscard]] const std::optional<LongCell>& long_cell() const { return long_cell_; }

 private:
  static constexpr std::uint64_t kManyBreaks = 10;

  enum class State { kCellStart, kInCell, kInQuotes, kAfterQuote };

  [[nodiscard]] bool ends_cell(char letter) const { return letter == separator_ || letter == '\n' || letter == '\r'; }
  /// Process 64 bytes at once, unless they contain no quote or a misplaced one.
  bool scan_block(std::string_view bytes, std::size_t place);
  /// Both start at a position in the piece; the first returns the position to continue at.
  std::size_t look_for_open(std::string_view bytes, std::size_t place);
  void after_quote(std::string_view bytes, std::size_t place);
  /// Start a quoted cell.
  void open_at(std::uint64_t place);
  /// Count line breaks of the open cell.
  void add_breaks(std::uint64_t count);
  /// The part of the last quoted cell in this piece, up to `end`.
  [[nodiscard]] std::string_view cell_in(std::string_view bytes, std::size_t end) const;

  char separator_;
  State state_ = State::kCellStart;
  std::uint64_t piece_start_ = 0;  // in the file
  std::uint64_t opened_ = 0;       // likewise
  bool newline_before_ = false;    // in the quoted cell, in pieces before this one
  std::uint64_t breaks_ = 0;       // in the quoted cell
  std::optional<std::uint64_t> broken_;
  std::optional<LongCell> long_cell_;
};

// ---- separators

/// The separator of a CSV file, from the beginning of its text: the header and the first rows. A comma if it splits all
/// of these lines into the same number of cells, at least two; otherwise the only one of semicolon, tab and vertical
/// bar that does. Empty if there is none, or more than one.
[[nodiscard]] std::optional<char> guess_separator(std::string_view text);

/// Whether a character can separate cells: not a quote, a line break or NUL, nor a part of numbers.
[[nodiscard]] bool is_separator(char letter);

}  // namespace widthwise::internal
