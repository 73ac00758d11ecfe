#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/random.hpp>

namespace widthwise {
namespace {

using internal::nearest_name;

const std::vector<std::string> kNames = {"price", "Bedrooms", "sqft_living", "sqft_lot", "x", "y", "id"};

TEST(NearestName, IsTheNameItself) {
  for (const std::string& name : kNames) EXPECT_EQ(nearest_name(name, kNames), name);
}

TEST(NearestName, IgnoresCase) {
  EXPECT_EQ(nearest_name("PRICE", kNames), "price");
  EXPECT_EQ(nearest_name("bedrooms", kNames), "Bedrooms");
  EXPECT_EQ(nearest_name("X", kNames), "x");
}

TEST(NearestName, AcceptsOneTypoPerThreeLetters) {
  EXPECT_EQ(nearest_name("prize", kNames), "price");
  EXPECT_EQ(nearest_name("pirce", kNames), "price") << "two neighbours swapped are one slip";
  EXPECT_EQ(nearest_name("prce", kNames), "price");
  EXPECT_EQ(nearest_name("bed_rooms", kNames), "Bedrooms");
  EXPECT_EQ(nearest_name("sqft_livin", kNames), "sqft_living");
  EXPECT_EQ(nearest_name("sqftlot", kNames), "sqft_lot");
}

TEST(NearestName, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("garden", kNames), "");
  EXPECT_EQ(nearest_name("z", kNames), "") << "a name of one letter has no misspellings";
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("price", {}), "");
}

TEST(NearestName, FindsANameAfterAnySingleTypo) {
  Random random(1);
  const std::vector<std::string> names = {"temperature", "humidity", "windspeed", "season", "weekday"};
  for (int round = 0; round < 500; ++round) {
    const std::string& name = names[random.below(names.size())];
    std::string wrong = name;
    const std::size_t at = random.below(wrong.size() - 1);
    switch (random.below(4)) {
      case 0:
        wrong.erase(at, 1);
        break;
      case 1:
        wrong.insert(at, 1, 'q');
        break;
      case 2:
        wrong[at] = 'q';
        break;
      default:
        std::swap(wrong[at], wrong[at + 1]);
    }
    EXPECT_EQ(nearest_name(wrong, names), name) << wrong;
  }
}

TEST(Numbers, HaveOneFormatWhetherCountedOrMeasured) {
  using internal::significant;
  EXPECT_EQ(internal::count(3995), "3,995");
  EXPECT_EQ(significant(4058.2), "4,058");
  EXPECT_EQ(significant(-4058.2), "-4,058");
  EXPECT_EQ(significant(4058.25, 6), "4,058.25");
  EXPECT_EQ(significant(999.96), "1,000");
  EXPECT_EQ(significant(48120.3), "48,120");
  EXPECT_EQ(significant(-123456.7), "-123,457");
  EXPECT_EQ(significant(12.5), "12.5");
  EXPECT_EQ(significant(1e-9), "1e-09");
}

TEST(Numbers, CountThingsInSingularAndPlural) {
  using internal::count_of;
  EXPECT_EQ(count_of(1, "feature"), "1 feature");
  EXPECT_EQ(count_of(0, "row"), "0 rows");
  EXPECT_EQ(count_of(12384, "row"), "12,384 rows");
  EXPECT_EQ(count_of(1, "category"), "1 category");
  EXPECT_EQ(count_of(2, "category"), "2 categories");
}

TEST(Messages, NameNoFunctionsOfCppForOtherUsers) {
  using internal::without_functions;
  EXPECT_EQ(without_functions("Calibration::add: row 7 has no group"), "row 7 has no group");
  EXPECT_EQ(without_functions("m.safetensors: Calibration::deserialise: damaged"), "m.safetensors: damaged");
  EXPECT_EQ(without_functions("A::b: C::d_e: x"), "x");
  for (const std::string kept : {"", "fit: found 3 rows", "column 'a::b' is text: C::d", "a: b: c", "::x: y"}) {
    EXPECT_EQ(without_functions(kept), kept);
  }
}

}  // namespace
}  // namespace widthwise
