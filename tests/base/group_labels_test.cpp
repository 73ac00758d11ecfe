#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

TEST(GroupLabels, AnIntegerIsItsOwnNumber) {
  EXPECT_EQ(group_number("0"), 0);
  EXPECT_EQ(group_number("-12"), -12);
  EXPECT_EQ(group_number("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
}

TEST(GroupLabels, OtherTextHasANumberThatNeverChanges) {
  for (const char* label : {"007", "+7", "7.0", " 7", "9223372036854775808", "-9223372036854775808", "a", "ä"}) {
    EXPECT_NE(group_number(label), 7) << label;
    EXPECT_FALSE(is_reserved_group(group_number(label))) << label;
  }
  // Files contain it.
  EXPECT_EQ(group_number("Nord"), -3473135444713622516);
}

TEST(GroupLabels, KeepTheTextOfEveryNumber) {
  GroupLabels labels;
  const std::vector<std::string> texts = {"b", "7", "b", ""};
  const std::vector<std::int64_t> numbers = labels.add(texts);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{group_number("b"), 7, group_number("b"), kNoGroup}));
  EXPECT_EQ(*labels.find(numbers[0]), "b");
  EXPECT_EQ(*labels.find(7), "7");
  EXPECT_EQ(labels.find(8), nullptr);
}

TEST(GroupLabels, AreUtf8) {
  GroupLabels labels;
  expect_error(ErrorCode::kBadData, "is not UTF-8", [&] { (void)labels.add("\xff"); });
  EXPECT_EQ(labels.find(group_number("\xff")), nullptr);
}

TEST(JoinedLabels, DifferentListsHaveDifferentTexts) {
  EXPECT_EQ(join_labels(std::vector<std::string>{"AA", "JFK"}), "AA, JFK");
  EXPECT_EQ(join_labels(std::vector<std::string>{"a, b"}), "a, b");
  const std::vector<std::vector<std::string>> lists = {{"a, b", "c"}, {"a", "b, c"}, {"a", "b", "c"}, {"a,", "b"},
                                                       {"a", " b"},   {"a\\", "b"},  {"a\\, b", ""},  {"", "a"}};
  std::vector<std::string> texts;
  for (const auto& list : lists) {
    texts.push_back(join_labels(list));
    EXPECT_EQ(split_labels(texts.back()), list) << texts.back();
  }
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
}

TEST(JoinedLabels, AnUnjoinedTextIsOneLabel) {
  for (const char* text : {"", "carrier", "a,b", "a\\b", "\\", "a,"}) {
    EXPECT_EQ(split_labels(text), std::vector<std::string>{text});
  }
}

}  // namespace
}  // namespace widthwise
