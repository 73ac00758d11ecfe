#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace widthwise {

/// Distinct labels, numbered in the order they were added: the categories of a column, or the groups of a calibration.
/// A label is the text of a value, so the same table gives the same labels as CSV, as Parquet and in Python: text
/// itself (see label_of_text), integers in decimal (see label_of), and the words true and false.
///
/// Invariant: labels are distinct. Thread safety: const methods may run concurrently.
class Labels {
 public:
  Labels() = default;

  /// Throws kInvalidArgument if a label occurs twice.
  explicit Labels(std::span<const std::string> labels);

  /// The number of a label, which is added if it is new.
  std::uint32_t add(std::string_view label);

  /// The number of a label; empty if it is unknown.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view label) const;

  /// The number of a label as a column of features holds it; NaN if it is unknown.
  [[nodiscard]] double number_of(std::string_view label) const;

  [[nodiscard]] std::size_t size() const { return labels_.size(); }  ///< labels have the numbers 0 to size() - 1
  /// The label with this number, which has to be below size().
  [[nodiscard]] const std::string& operator[](std::size_t number) const { return labels_[number]; }
  [[nodiscard]] std::span<const std::string> all() const { return labels_; }  ///< by number; valid until the next add

  /// The same labels in ascending order of their bytes. Numbers then do not depend on the order of the rows.
  [[nodiscard]] Labels sorted() const;

  /// Whether both have the same labels with the same numbers.
  friend bool operator==(const Labels& a, const Labels& b) { return a.labels_ == b.labels_; }

 private:
  // Finds a std::string_view without making a std::string.
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the name of the standard
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::vector<std::string> labels_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

/// The label of text: the text itself. Text that stands for another type in a CSV file gives the label of that type, in
/// every kind of table: empty text, NA, NaN and null (in upper or lower case) are missing; True is true and False is
/// false; an integer has no blanks around it, and no ".0" at its end. The label is part of `text`, or a constant.
[[nodiscard]] std::optional<std::string_view> label_of_text(std::string_view text);

/// Replace the numbers of the labels `from` in one of the columns of x (row-major) by the numbers of the same labels in
/// `to`, or NaN.
void renumber(std::span<double> x, std::size_t column, std::size_t columns, const Labels& from, const Labels& to);

/// The label of an integer.
[[nodiscard]] std::string label_of(std::int64_t value);

/// The label of a number: an integer in decimal, also if it is stored as floating point. Empty if the number is
/// missing (NaN) or not an integer below 2^53 in magnitude, which floating point may have rounded.
[[nodiscard]] std::optional<std::string> label_of(double value);

/// Maximum number of categories of a feature. A column with more is an identifier or a number, from which a model
/// learns nothing about new rows.
inline constexpr std::size_t kMaxCategories = 1000;

/// Why a column with these labels is no categorical feature, after "the column": "holds dates; ...", "holds no values"
/// or "has more than 1,000 categories; ..."; empty if it is one.
[[nodiscard]] std::string why_no_categories(const Labels& labels);

/// Whether every label is a date, such as 2013-01-31, 31/01/2013 or 2013-01-31 05:00; false if there is no label.
/// Categories of dates never recur, so features have to be derived from them.
[[nodiscard]] bool are_dates(const Labels& labels);
/// Advice for messages about a column of dates.
inline constexpr const char* kDeriveFromDates =
    "derive numbers from dates, such as the hour, the weekday or the days since the first date";

/// Several labels as one, such as "AA, JFK": the label of a row in several columns, or the name of these columns.
/// Commas and backslashes within a label are preceded by a backslash, so different lists have different texts. A single
/// label is its own text.
[[nodiscard]] std::string join_labels(std::span<const std::string> labels);

/// The labels that join_labels joined. A text without an unescaped comma and blank is a single label.
[[nodiscard]] std::vector<std::string> split_labels(std::string_view text);

/// Numbers that no group has.
inline constexpr std::int64_t kNoGroup = std::numeric_limits<std::int64_t>::min();  ///< a row without a label
inline constexpr std::int64_t kUnseenGroup = kNoGroup + 1;  ///< a label without calibration rows
inline constexpr std::int64_t kRestGroup = kNoGroup + 2;    ///< the small groups that are pooled

/// Whether a number is one of the above.
[[nodiscard]] constexpr bool is_reserved_group(std::int64_t group) { return group <= kRestGroup; }

/// The number of the group with this label: the integer, if the label is one of 64 bits in decimal, else a hash of the
/// text. It depends on the label alone, so calibrations made on several machines agree without a common list.
[[nodiscard]] std::int64_t group_number(std::string_view label);

/// The labels of some groups by number. Labels that are integers need no entry.
///
/// Invariant: distinct labels have distinct numbers. Thread safety: const methods may run concurrently.
class GroupLabels {
 public:
  /// Add a label and return its number, kNoGroup for an empty label. Throws kBadData if the label is not UTF-8 or if
  /// another label has the same number.
  std::int64_t add(std::string_view label);

  /// The same for several labels.
  [[nodiscard]] std::vector<std::int64_t> add(std::span<const std::string> labels);

  /// The label of a group; null if it was not added.
  [[nodiscard]] const std::string* find(std::int64_t group) const;

 private:
  std::unordered_map<std::int64_t, std::string> labels_;
};

}  // namespace widthwise
