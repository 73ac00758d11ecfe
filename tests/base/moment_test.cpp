#include <widthwise/moment.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace widthwise {
namespace {

TEST(Moment, EveryIntegerHasItsOwnPosition) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::uint64_t kHighest = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t two53 = std::int64_t{1} << 53;
  const std::uint64_t two63 = std::uint64_t{1} << 63;
  const std::vector<Moment> ascending = {
      Moment::of(kLowest),   Moment::of(kLowest + 1),      Moment::of(-two53 - 1),
      Moment::of(-two53),    Moment::of(std::int64_t{-1}), Moment::of(std::int64_t{0}),
      Moment{.number = 0.5}, Moment::of(std::uint64_t{1}), Moment::of(two53),
      Moment::of(two53 + 1), Moment::of(two53 + 2),        Moment::of(std::numeric_limits<std::int64_t>::max()),
      Moment::of(two63),     Moment::of(two63 + 1),        Moment::of(kHighest - 1),
      Moment::of(kHighest)};
  for (std::size_t i = 1; i < ascending.size(); ++i) EXPECT_LT(ascending[i - 1], ascending[i]) << i;
  EXPECT_EQ(Moment::of(std::int64_t{7}), Moment::of(std::uint64_t{7}));
  EXPECT_EQ(Moment::of(std::int64_t{7}), Moment{.number = 7});
}

TEST(Moment, ReadsDatesOfAnyYearToTheAttosecond) {
  const std::vector<std::string> ascending = {"0000-01-01",
                                              "1500-02-28",
                                              "1676-12-31T23:59:59.999999999999999999",
                                              "1677-01",
                                              "1969-12-31 23:59:59.5",
                                              "1970-01-01",
                                              "2024-01-31T05:00:30.000000000000000001+01:00",
                                              "2024-01-31 04:00:30.000000000000000002Z",
                                              "2024-01-31T05",
                                              "2262-04-12",
                                              "9999-12-31 24:00"};
  std::vector<Moment> moments;
  for (const std::string& text : ascending) {
    const auto moment = moment_of_date(text);
    ASSERT_TRUE(moment) << text;
    if (!moments.empty()) {
      EXPECT_LT(moments.back(), *moment) << text;
    }
    moments.push_back(*moment);
  }
  EXPECT_EQ(moment_of_date("1970-01-01T00:00:01.5"), Moment::of(1, 500'000'000'000'000'000));
  EXPECT_EQ(moment_of_date("2024-02-29T12:00+12:00"), moment_of_date("2024-02-29"));
  for (const std::string text : {"", "2024", "2024-13-01", "2023-02-29", "31.12.2024", "2024-01-31T25", "2024-01-31 x",
                                 "2024-01-31T05:61", "2024-01-31T05:00+", "2024-1-1"}) {
    EXPECT_FALSE(moment_of_date(text)) << text;
  }
}

TEST(Moment, RanksAreThoseOfDistinctMoments) {
  const std::int64_t two53 = std::int64_t{1} << 53;
  const std::vector<Moment> moments = {Moment::of(two53 + 1), Moment::of(two53), Moment::of(two53 + 1),
                                       Moment{.number = -1}};
  EXPECT_EQ(ranks_of(moments), (std::vector<double>{2, 1, 2, 0}));
  EXPECT_TRUE(ranks_of({}).empty());
}

}  // namespace
}  // namespace widthwise
