#include <widthwise/group_rows.hpp>

#include <vector>

#include <widthwise/labels.hpp>

#include "base/layout.hpp"
#include "base/text.hpp"

namespace widthwise {
namespace {

using internal::count_of;

std::string rows_have(std::uint64_t rows) { return count_of(rows, "row") + (rows == 1 ? " has" : " have"); }

}  // namespace

std::int64_t GroupRows::counted(std::int64_t group, std::string_view label, std::uint64_t rows) {
  if (group == kNoGroup) unlabelled_ += rows;
  if (group == kUnseenGroup) {
    unseen_ += rows;
    if (unseen_labels_.size() < kMaxLabels && !unseen_labels_.contains(label)) unseen_labels_.emplace(label);
  }
  return group;
}

std::int64_t GroupRows::find(std::string_view label, std::uint64_t rows) {
  return counted(model_.parts().calibration.find_group(label), label, rows);
}

std::int64_t GroupRows::find(std::int64_t label, std::uint64_t rows) {
  // Without texts, the label is the number.
  if (!labelled_ && !is_reserved_group(label) && model_.quantile_group(label) == label) return label;
  return find(label_of(label), rows);
}

void GroupRows::count(std::int64_t group) {
  if (group == kNoGroup) ++unlabelled_;
  if (group == kUnseenGroup) ++unseen_;
}

std::string GroupRows::warning() const {
  constexpr std::size_t kShown = 10;
  std::string text;
  if (unseen_ > 0) {
    std::vector<std::string> shown;
    for (const std::string& label : unseen_labels_) {
      if (shown.size() == kShown) break;
      shown.push_back(label);
    }
    if (unseen_labels_.size() > kShown) shown.emplace_back("others");
    text = rows_have(unseen_) + " a group without calibration rows (" + internal::list(shown) + ")" +
           (model_.parts().pool_groups > 0 ? ", which is predicted like the pooled groups"
                                           : ", so the intervals are infinite");
  }
  if (unlabelled_ == 0) return text;
  return text + (text.empty() ? "" : "; ") + rows_have(unlabelled_) + " no group, so the intervals are infinite";
}

}  // namespace widthwise
