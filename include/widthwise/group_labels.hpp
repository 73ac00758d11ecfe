#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace widthwise {

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
