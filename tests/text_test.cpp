#include "text.hpp"

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

TEST(NearestName, DoesNotMindUpperAndLowerCase) {
  EXPECT_EQ(nearest_name("PRICE", kNames), "price");
  EXPECT_EQ(nearest_name("bedrooms", kNames), "Bedrooms");
  EXPECT_EQ(nearest_name("X", kNames), "x");
}

TEST(NearestName, ForgivesOneSlipInEveryThreeLetters) {
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

TEST(NearestName, FindsANameAfterAnyOneSlip) {
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

}  // namespace
}  // namespace widthwise
