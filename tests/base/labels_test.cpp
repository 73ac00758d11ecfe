#include <widthwise/labels.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

TEST(Labels, AreNumberedInTheOrderTheyAreAdded) {
  Labels labels;
  EXPECT_EQ(labels.add("UA"), 0U);
  EXPECT_EQ(labels.add("AA"), 1U);
  EXPECT_EQ(labels.add("UA"), 0U);
  EXPECT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[1], "AA");
  EXPECT_EQ(labels.find("AA"), 1U);
  EXPECT_EQ(labels.find("aa"), std::nullopt);
  EXPECT_EQ(labels.find(""), std::nullopt);
}

TEST(Labels, SortedDoNotDependOnTheOrderOfTheRows) {
  const Labels one(std::vector<std::string>{"b", "", "ä", "a"});
  const Labels other(std::vector<std::string>{"a", "ä", "b", ""});
  EXPECT_EQ(one.sorted(), other.sorted());
  EXPECT_EQ(one.sorted(), Labels(std::vector<std::string>{"", "a", "b", "ä"}));
  EXPECT_EQ(one.sorted().find("b"), 2U);
}

TEST(Labels, RenumberAColumn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Labels from(std::vector<std::string>{"b", "c", "a"});
  std::vector<double> x{0, 7, 1, 8, nan, 9, 2, 0};  // the first of two columns
  renumber(x, 0, 2, from, Labels(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(x[0], 1);
  EXPECT_TRUE(std::isnan(x[2])) << "no c";
  EXPECT_TRUE(std::isnan(x[4]));
  EXPECT_EQ(x[6], 0);
  EXPECT_EQ((std::vector<double>{x[1], x[3], x[5], x[7]}), (std::vector<double>{7, 8, 9, 0}));
}

TEST(Labels, MayNotRepeat) {
  expect_error(ErrorCode::kInvalidArgument, "the label 'a?' occurs twice",
               [] { const Labels labels(std::vector<std::string>{"a\n", "b", "a\n"}); });
}

TEST(Labels, OfNumbersAreThoseOfTheIntegers) {
  EXPECT_EQ(label_of(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(label_of(12.0), label_of(std::int64_t{12}));
  EXPECT_EQ(label_of(-0.0), "0");
  EXPECT_EQ(label_of(9007199254740991.0), "9007199254740991");
  for (const double none :
       {0.5, 9007199254740992.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(label_of(none), std::nullopt) << none;
  }
}

TEST(Labels, OfTextAreTheTextItself) {
  for (const char* text :
       {"AA", " AA", "AA ", "a\tb", "ä", "007", "+7", "1e3", "1.5", "7.00", "-", "-01.0", "none", "N/A"}) {
    EXPECT_EQ(label_of_text(text), text);
  }
}

TEST(Labels, OfTextThatStandsForAnotherTypeAreThoseOfTheType) {
  for (const char* text : {"", "  ", "NA", "na", "NaN", "NULL", " null\t"}) {
    EXPECT_EQ(label_of_text(text), std::nullopt) << text;
  }
  for (const char* text : {"true", "True", "TRUE", " true"}) EXPECT_EQ(label_of_text(text), "true") << text;
  EXPECT_EQ(label_of_text("False"), "false");
  for (const char* text : {"12", " 12 ", "12.0"}) EXPECT_EQ(label_of_text(text), label_of(12.0)) << text;
  for (const char* text : {"0", "0.0", "-0", "-0.0"}) EXPECT_EQ(label_of_text(text), label_of(-0.0)) << text;
  EXPECT_EQ(label_of_text("-12.0"), "-12");
}

TEST(Labels, OfDatesAreRecognised) {
  const auto dates = [](std::vector<std::string> labels) { return are_dates(Labels(labels)); };
  EXPECT_TRUE(dates({"2013-01-31", "2013-02-01T05:00:00Z", "2013-1-2 05:00"}));
  EXPECT_TRUE(dates({"31/01/2013", "1.2.2013"}));
  EXPECT_FALSE(dates({}));
  EXPECT_FALSE(dates({"2013-01-31", "AA"}));
  for (const char* label :
       {"2013", "2013-01", "20-01-31", "2013-01/31", "2013-001-31", "192.168.1.1", "1.2.3", "a-b-2013"}) {
    EXPECT_FALSE(dates({label})) << label;
  }
}

}  // namespace
}  // namespace widthwise
