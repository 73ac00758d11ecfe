// Hostile inputs in C++: each call gives a valid result or throws one Error with a code and a clear message. Python and
// the command line are tested in tests/hostile.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/online.hpp>
#include <widthwise/transform.hpp>

#include "support/numbers.hpp"

namespace widthwise {
namespace {

constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;
constexpr ErrorCode kData = ErrorCode::kBadData;
constexpr ErrorCode kShape = ErrorCode::kShapeMismatch;
constexpr ErrorCode kFinite = ErrorCode::kNotFinite;
constexpr ErrorCode kFew = ErrorCode::kTooFewRows;

Calibration calibration_of(const std::vector<double>& scores) {
  Calibration calibration;
  calibration.add(0, scores);
  return calibration;
}

std::vector<std::byte> bytes(std::size_t n, int value) { return std::vector<std::byte>(n, std::byte(value)); }

IntervalRows interval_rows(const std::vector<double>& outcomes, const std::vector<double>& lower,
                           const std::vector<double>& upper) {
  return {.lower = lower, .upper = upper, .outcomes = outcomes};
}

OnlineCalibration online_of(const OnlineOptions& options, std::vector<Level> levels = {0.5}) {
  return {calibration_of({1, 2, 3, 4, 5}), std::move(levels), options};
}

struct HostileCase {
  const char* name;
  std::function<void()> call;
  ErrorCode code;
  const char* words;
};

const std::vector<double> kOne = {1};
const std::vector<double> kTwo = {1, 2};

std::vector<HostileCase> cases() {
  return {
      {"level 0", [] { (void)Level(0); }, kInvalid, "found 0"},
      {"level 1", [] { (void)Level(1); }, kInvalid, "found 1"},
      {"level -1", [] { (void)Level(-1); }, kInvalid, "found -1"},
      {"level NaN", [] { (void)Level(kNaN); }, kInvalid, "found nan"},
      {"level inf", [] { (void)Level(kInfinity); }, kInvalid, "found inf"},
      {"level 90", [] { (void)Level(90); }, kInvalid, "did you mean 0.9?"},
      {"level of nothing", [] { (void)Level::parse(""); }, kInvalid, "Level"},
      {"level of text", [] { (void)Level::parse("high"); }, kInvalid, "high"},
      {"level with a blank", [] { (void)Level::parse(" 0.9"); }, kInvalid, "0.9"},
      {"level with a comma", [] { (void)Level::parse("0,9"); }, kInvalid, "0,9"},
      {"level of many digits", [] { (void)Level::parse("0." + std::string(500, '9')); }, kInvalid, "decimal places"},
      {"level below all numbers", [] { (void)Level::parse("1e-400"); }, kInvalid, "Level"},
      {"guarantee of text", [] { (void)Guarantee::parse("strong"); }, kInvalid, "'strong'"},
      {"guarantee 1", [] { (void)Guarantee::parse("1"); }, kInvalid, "'1'"},
      {"guarantee of nothing", [] { (void)Guarantee::parse(""); }, kInvalid, "''"},
      {"unknown transform", [] { (void)make_transform("square"); }, kInvalid, "unknown transform 'square'"},
      {"transform of nothing", [] { (void)make_transform(""); }, kInvalid, "unknown transform ''"},
      {"gamma 0", [] { (void)make_transform("erc", {.gamma = 0}); }, kInvalid, "gamma must be positive"},
      {"gamma NaN", [] { (void)make_transform("erc", {.gamma = kNaN}); }, kInvalid, "gamma must be positive"},
      {"rule of nothing", [] { (void)ConformalRule(nullptr); }, kInvalid, "no transform"},
      {"capacity 0", [] { (void)Calibration({.capacity = 0}); }, kInvalid, "at least 1 row"},
      {"score NaN", [] { (void)calibration_of({1, kNaN}); }, kFinite, "the score is NaN"},
      {"weight 0", [] { Calibration().add(0, {.score = 1, .weight = 0}); }, kInvalid, "positive, finite weight"},
      {"weight NaN", [] { Calibration().add(0, {.score = 1, .weight = kNaN}); }, kFinite, "positive, finite weight"},
      {"rows past 64 bits", [] { Calibration().add(~std::uint64_t{0}, kTwo); }, kInvalid, "64 bits"},
      {"row numbers too few", [] { Calibration().add(std::vector<std::uint64_t>{1}, kTwo); }, kShape, "row numbers"},
      {"row twice", [] { Calibration().add(std::vector<std::uint64_t>{1, 1}, kTwo); }, ErrorCode::kDuplicateRows,
       "twice"},
      {"merged with itself",
       [] {
         Calibration calibration = calibration_of(kTwo);
         calibration.merge(calibration_of(kTwo));
       },
       ErrorCode::kDuplicateRows, "twice"},
      {"merged with another capacity", [] { Calibration().merge(Calibration({.capacity = 7})); }, kInvalid,
       "capacity 7"},
      {"no bytes", [] { (void)Calibration::deserialise({}); }, kData, "alibration"},
      {"zeros", [] { (void)Calibration::deserialise(bytes(800, 0)); }, kData, "alibration"},
      {"ones", [] { (void)Calibration::deserialise(bytes(800, 0xFF)); }, kData, "alibration"},
      {"seven bytes", [] { (void)Calibration::deserialise(bytes(7, 1)); }, kData, "alibration"},
      {"quantile of too few",
       [] { (void)SortedScores(calibration_of(kOne)).quantile(0.9, 0, std::nullopt, WhenTooFew::kError); }, kFew,
       "needs 9"},
      {"quantiles without room",
       [] {
         std::vector<double> scores = kTwo;
         const std::vector<Level> levels = {0.5};
         conformal_quantiles(scores, levels, {});
       },
       kShape, "0 output"},
      {"online of zero bytes", [] { (void)OnlineCalibration::deserialise({}); }, kData, "nline"},
      {"online of zeros", [] { (void)OnlineCalibration::deserialise(bytes(800, 0)); }, kData, "nline"},
      {"online without levels", [] { (void)online_of({}, {}); }, kInvalid, "at least one level"},
      {"online level twice", [] { (void)online_of({}, {0.5, 0.5}); }, kInvalid, "twice"},
      {"online of many levels", [] { (void)online_of({}, std::vector<Level>(1001, 0.5)); }, kInvalid, "at most 1000"},
      {"online window 0", [] { (void)online_of({.window_rows = 0}); }, kInvalid, "window"},
      {"online step NaN", [] { (void)online_of({.step = kNaN}); }, kInvalid, "step"},
      {"online step -1", [] { (void)online_of({.step = -1}); }, kInvalid, "step"},
      {"spread of confidence 1", [] { (void)coverage_spread(0.9, 10, 1); }, kInvalid, "between 0 and 1"},
      {"spread of confidence NaN", [] { (void)coverage_spread(0.9, 10, kNaN); }, kInvalid, "between 0 and 1"},
      {"spread of too many rows", [] { (void)coverage_spread(0.9, ~std::uint64_t{0}); }, kInvalid, "rows"},
      {"tolerance 0", [] { (void)rows_for_tolerance(0.9, 0); }, kInvalid, "tolerance"},
      {"tolerance NaN", [] { (void)rows_for_tolerance(0.9, kNaN); }, kInvalid, "tolerance"},
      {"tolerance tiny", [] { (void)rows_for_tolerance(0.9, 1e-15); }, kInvalid, "needs more than"},
      {"more successes than trials", [] { (void)proportion(2, 1); }, kInvalid, "2 successes in 1 trials"},
      {"proportion of confidence 0", [] { (void)proportion(1, 2, 0); }, kInvalid, "between 0 and 1"},
      {"summary of no rows", [] { (void)summarise({}, 0.9); }, kInvalid, "expected rows"},
      {"summary of other lengths", [] { (void)summarise(interval_rows(kTwo, kOne, kTwo), 0.9); }, kShape, "outcomes"},
      {"summary of upside-down intervals", [] { (void)summarise(interval_rows(kOne, {3}, kOne), 0.9); }, kInvalid,
       "row 1"},
      {"summary of NaN", [] { (void)summarise(interval_rows({kNaN}, kOne, kOne), 0.9); }, kFinite, "row 1"},
      {"0 bins", [] { (void)coverage_by_width(interval_rows(kOne, kOne, kOne), 0); }, kInvalid, "at least 1 bin"},
      {"model of no bytes", [] { (void)deserialise({}); }, kData, "not a model file: found an empty file"},
      {"model of zeros", [] { (void)deserialise(bytes(800, 0)); }, kData, "not a model file: found other data"},
      {"model of ones", [] { (void)deserialise(bytes(800, 0xFF)); }, kData, "not a model file: found other data"},
      {"model that is missing", [] { (void)load("/nowhere/model.safetensors"); }, ErrorCode::kFile, "/nowhere/model"},
      {"model that is a folder", [] { (void)load("/"); }, ErrorCode::kFile, "Is a directory"},
  };
}

TEST(Hostile, CallsAreRefusedClearly) {
  for (const HostileCase& each : cases()) {
    try {
      each.call();
      ADD_FAILURE() << each.name << ": nothing was thrown";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.code(), each.code) << each.name << ": " << message;
      EXPECT_NE(message.find(each.words), std::string::npos) << each.name << ": " << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << each.name << ": " << message;
      EXPECT_LT(message.size(), 400U) << each.name << ": " << message;
    } catch (const std::exception& error) {
      ADD_FAILURE() << each.name << ": not an Error: " << error.what();
    }
  }
}

}  // namespace
}  // namespace widthwise
