#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/level.hpp>
#include <widthwise/random.hpp>

#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

std::string refusal(const std::function<void()>& make) { return message_of(make, ErrorCode::kInvalidArgument); }

std::string refusal_of(double value) {
  return refusal([value] { return Level(value); });
}

std::string refusal_of_text(const std::string& text) {
  return refusal([&] { return Level::parse(text); });
}

TEST(Level, IsTheDecimalThatWasWritten) {
  EXPECT_EQ(Level(0.9).numerator(), 9U);
  EXPECT_EQ(Level(0.9).denominator(), 10U);
  EXPECT_EQ(Level(0.95).numerator(), 19U);
  EXPECT_EQ(Level(0.95).denominator(), 20U);
  EXPECT_EQ(Level(0.5).to_string(), "0.5");
  EXPECT_EQ(Level::parse("0.9500").to_string(), "0.95");
  EXPECT_EQ(Level::parse(".5"), Level(0.5));
  EXPECT_EQ(Level::parse("00.25"), Level(0.25));
}

TEST(Level, ReadsExponents) {
  EXPECT_EQ(Level(1e-05).to_string(), "0.00001");
  EXPECT_EQ(Level(2.5e-07).to_string(), "0.00000025");
  EXPECT_EQ(Level::parse("1e-3"), Level(0.001));
  EXPECT_EQ(Level::parse("95E-2"), Level(0.95));
  EXPECT_EQ(Level::parse("0.00095e+3"), Level(0.95));
  EXPECT_EQ(Level::parse("0.00095e3"), Level(0.95));
}

TEST(Level, TakesDoublesWithoutAShortDecimal) {
  EXPECT_EQ(Level(2.0 / 3).to_string(), "0.6666666666666666");
  EXPECT_EQ(Level(1 - 0.95).to_string(), "0.050000000000000044");
  EXPECT_EQ(Level(1 - 0.999).to_string(), "0.0010000000000000009");
  EXPECT_EQ(Level(std::nextafter(1.0, 0.0)).to_string(), "0.9999999999999999");
}

TEST(Level, ValueIsTheDoubleItWasMadeFrom) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = 0.001 + 0.998 * random.uniform();
    const Level level(value);
    ASSERT_EQ(level.value(), value);
    ASSERT_EQ(Level::parse(level.to_string()), level);
  }
}

TEST(Level, RefusesValuesOutsideZeroToOne) {
  for (const double value : {0.0, -0.0, 1.0, -0.5, 1.5, 100.0, 1e300, -90.0}) {
    const std::string message = refusal_of(value);
    EXPECT_NE(message.find("strictly between 0 and 1"), std::string::npos) << message;
    EXPECT_EQ(message.find("did you mean"), std::string::npos) << message;
  }
  EXPECT_NE(refusal_of(kNaN).find("nan"), std::string::npos);
  EXPECT_NE(refusal_of(kInfinity).find("inf"), std::string::npos);
}

TEST(Level, SuggestsTheLevelWhenGivenAPercentage) {
  EXPECT_NE(refusal_of(90).find("found 90; did you mean 0.9?"), std::string::npos);
  EXPECT_NE(refusal_of(99.9).find("found 99.9; did you mean 0.999?"), std::string::npos);
  EXPECT_NE(refusal_of(5).find("did you mean 0.05?"), std::string::npos);
  EXPECT_NE(refusal_of_text("95.0").find("found 95.0; did you mean 0.95?"), std::string::npos);
  EXPECT_NE(refusal_of_text("90%").find("found 90%; did you mean 0.9?"), std::string::npos);
  EXPECT_NE(refusal_of_text("0.1%").find("did you mean 0.001?"), std::string::npos);
  for (const char* text : {"%", "0%", "100%", "1e-99999%", "0.9", "1", "x%"})
    EXPECT_EQ(Level::suggestion(text), "") << text;
}

TEST(Level, RefusesTextThatIsNotANumber) {
  for (const char* text : {"", ".", "e", "e-1", "0.9x", "0.9 ", " 0.9", "0,9", "0..9", "0.9.", "0.9e", "0.9e-",
                           "0.9e+-1", "90%", "nan", "+0.5", "-0.5", "0x1p-1", "9e-99999999999"}) {
    EXPECT_NE(refusal_of_text(text).find("expected a number"), std::string::npos) << text;
  }
}

TEST(Level, RefusesMoreDigitsThanItCanHold) {
  EXPECT_EQ(Level::parse("0.1234567890123456789").numerator(), 1234567890123456789U);
  EXPECT_EQ(Level::parse("0.50000000000000000000000000000"), Level(0.5));
  EXPECT_NE(refusal_of_text("0.12345678901234567891").find("at most 19 decimal places, found 20"), std::string::npos);
  EXPECT_NE(refusal_of_text("1e-20").find("found 20"), std::string::npos);
  EXPECT_NE(refusal_of_text("1e-2000000000").find("found 2000000000"), std::string::npos);
  EXPECT_NE(refusal_of(5e-324).find("at most 19 decimal places"), std::string::npos);
}

// Nothing of the library's arithmetic: the rank grows with n, by counting.
TEST(Level, RanksAreExactForEveryLevelOfThreeDecimals) {
  std::uint64_t cases = 0;
  std::uint64_t mismatches = 0;
  for (std::uint64_t thousandths = 1; thousandths < 1000; ++thousandths) {
    const Level level(static_cast<double>(thousandths) / 1000);
    std::string digits = std::to_string(thousandths);
    ASSERT_EQ(level, Level::parse("0." + std::string(3 - digits.size(), '0') + digits));
    std::uint64_t rank = 0;
    std::uint64_t min_rows = 0;
    for (std::uint64_t n = 1; n <= 1000; ++n) {
      while (1000 * rank < thousandths * (n + 1)) ++rank;
      if (min_rows == 0 && rank <= n) min_rows = n;
      if (level.rank(n) != rank) ++mismatches;
      ++cases;
    }
    EXPECT_EQ(level.min_rows(), min_rows) << level.to_string();
    EXPECT_GT(level.rank(level.min_rows() - 1), level.min_rows() - 1) << level.to_string();
  }
  EXPECT_EQ(cases, 999'000U);
  EXPECT_EQ(mismatches, 0U);
}

TEST(Level, RanksWhereDoublesGoWrong) {
  EXPECT_EQ(Level(0.9).rank(9), 9U);
  EXPECT_EQ(Level(0.95).rank(19), 19U);
  // In doubles ceil(0.07 * 100) is 8 and ceil(0.55 * 100) is 56.
  EXPECT_GT(std::ceil(0.07 * 100), 7);
  EXPECT_EQ(Level(0.07).rank(99), 7U);
  EXPECT_GT(std::ceil(0.55 * 100), 55);
  EXPECT_EQ(Level(0.55).rank(99), 55U);
}

TEST(Level, RanksOfNoRowsAndOfTooFewRowsAreOneTooMany) {
  EXPECT_EQ(Level(0.9).rank(0), 1U);
  EXPECT_EQ(Level(0.9).rank(8), 9U);
  EXPECT_EQ(Level(0.9).min_rows(), 9U);
  EXPECT_EQ(Level(0.5).min_rows(), 1U);
  EXPECT_EQ(Level(0.1).min_rows(), 1U);
  EXPECT_EQ(Level::parse("0.9999999999999999999").min_rows(), 9'999'999'999'999'999'999U);
}

TEST(Level, RanksAreExactForHugeNumbersOfRows) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63U;
  EXPECT_EQ(Level(0.5).rank(kHalf), (kHalf >> 1U) + 1);
  EXPECT_EQ(Level(0.5).rank(kHalf - 1), kHalf >> 1U);
  // 2^63 + 1 = 9223372036854775809; nine tenths of it end in ...228.1.
  EXPECT_EQ(Level(0.9).rank(kHalf), 8'301'034'833'169'298'229U);
  EXPECT_EQ(Level::parse("0.9999999999999999999").rank(kHalf), kHalf + 1);
  EXPECT_EQ(Level::parse("0.0000000000000000001").rank(kHalf), 1U);
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Level(0.5).rank(kAll), kHalf);
  EXPECT_EQ(Level::parse("0.9999999999999999999").rank(kAll), kAll);
}

TEST(Level, ComplementGoesFromLevelToAlphaAndBack) {
  EXPECT_EQ(Level(0.95).complement(), Level(0.05));
  EXPECT_EQ(Level(0.9).complement().to_string(), "0.1");
  EXPECT_EQ(Level(0.5).complement(), Level(0.5));
  for (int i = 1; i < 1000; ++i) {
    const Level level(i / 1000.0);
    EXPECT_EQ(level.complement().complement(), level);
    EXPECT_EQ(level.complement(), Level((1000 - i) / 1000.0));
  }
}

TEST(Level, IsOrderedByValue) {
  std::vector<Level> levels;
  for (int i = 1; i < 1000; ++i) levels.emplace_back(i / 1000.0);
  for (std::size_t i = 1; i < levels.size(); ++i) {
    EXPECT_LT(levels[i - 1], levels[i]);
    EXPECT_GT(levels[i], levels[i - 1]);
    EXPECT_NE(levels[i], levels[i - 1]);
  }
  EXPECT_LT(Level::parse("0.9999999999999999998"), Level::parse("0.9999999999999999999"));
  EXPECT_EQ(Level(0.5) <=> Level::parse("0.50"), std::strong_ordering::equal);
}

}  // namespace
}  // namespace widthwise
