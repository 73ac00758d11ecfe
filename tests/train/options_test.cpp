#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/train/fit_options.hpp>

#include "support/errors.hpp"
#include "support/field_count.hpp"

namespace widthwise {
namespace {

std::string complaint_of(const std::function<void()>& action) {
  return message_of(action, ErrorCode::kInvalidArgument);
}

/// For every option of fit, texts of different values.
const std::map<std::string, std::vector<std::string>>& values_of_fit() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"goal", {"auto", "balanced", "even", "narrow", "0.5", "0.25"}},
      {"score_transform", {"auto", "exp", "affine", "spline", "shortest", "mixture"}},
      {"score", {"absolute", "squared", "log"}},
      {"gamma", {"0.01", "0.1", "1e-300"}},
      {"epsilon", {"0.01", "0.1"}},
      {"two_sided", {"auto", "true", "false"}},
      {"level_window", {"auto", "all", "0.8,0.95", "0.8,0.99", "0.8,0.99,0.25"}},
      {"confidence_level", {"0.9", "0.95", "0.9,0.95", "0.95,0.9"}},
      {"guarantee", {"marginal", "0.95", "0.99"}},
      {"calibration", {"split", "cross"}},
      {"calibration_size", {"0.25", "0", "0.3333333333333333", "1", "1000"}},
      {"pool_groups", {"none", "auto", "1", "1000"}},
      {"cluster_coverage", {"rows", "clusters"}},
      {"max_cluster_size", {"auto", "1", "1000"}},
      {"duplicates", {"auto", "cluster", "drop", "keep"}},
      {"folds", {"auto", "1", "2", "5", "all"}},
      {"holdout_fraction", {"0.2", "0.1"}},
      {"outcome_range", {"none", "0,", ",0", "0,100", "-1.5,100"}},
      {"outcome_step", {"none", "1", "0.5", "0.01"}},
      {"may_be_exact", {"false", "true"}},
      {"compare", {"false", "true"}},
      {"seed", {"0", "1", "18446744073709551615"}},
  };
  return all;
}

TEST(FitOptions, EveryFieldIsDescribed) {
  // outcome_space has two options.
  EXPECT_EQ(field_count<FitOptions>() + 1, FitOptions::table().fields().size())
      << "describe the new field of FitOptions in FitOptions::table()";
}

TEST(FitOptions, EveryFieldThatTrainingDependsOnIsInTheCheckpointKey) {
  for (const OptionInfo& info : FitOptions::table().infos()) {
    ASSERT_TRUE(values_of_fit().contains(info.name)) << "add values of " << info.name << " to values_of_fit()";
    const auto& values = values_of_fit().at(info.name);
    EXPECT_EQ(values.front(), info.default_value);
    std::set<std::string> keys;
    for (const std::string& value : values) {
      FitOptions options;
      FitOptions::table().set(options, info.name, value);
      keys.insert(options.to_string());
    }
    // The guarantee only chooses a quantile: `calibrate` can change it later.
    EXPECT_EQ(keys.size(), info.name == "guarantee" ? 1 : values.size()) << info.name;
  }
}

TEST(FitOptions, EveryValueIsWrittenAsItIsRead) {
  for (const auto& [name, values] : values_of_fit()) {
    for (const std::string& value : values) {
      FitOptions options;
      FitOptions::table().set(options, name, value);
      EXPECT_EQ(FitOptions::table().get(options, name), value) << name;
      EXPECT_NO_THROW(FitOptions::table().check(options)) << name << " " << value;
    }
  }
}

TEST(FitOptions, InvalidValuesAreNamedWithWhatIsExpected) {
  const std::map<std::string, std::vector<std::string>> invalid = {
      {"goal", {"", "evn", "1.5", "nan", "-0.1"}},
      {"score_transform", {"", "square"}},
      {"score", {"", "cubic"}},
      {"gamma", {"0", "-1", "nan", "inf", "x", "0.1 "}},
      {"epsilon", {"0", "inf"}},
      {"two_sided", {"", "yes"}},
      {"level_window", {"", "0.9", "0.9,0.8", "0.8,x", "0.8,0.9,2", "0.8,0.9,0.1,0.1"}},
      {"confidence_level", {"", "0.9,", "1", "0"}},
      {"guarantee", {"", "conditional", "1.5"}},
      {"calibration", {"", "cv"}},
      {"calibration_size", {"", "-1", "1.5", "nan", "inf", "x"}},
      {"pool_groups", {"", "0", "-1", "1.5", "nan", "x"}},
      {"cluster_coverage", {"", "row"}},
      {"max_cluster_size", {"", "0", "-1", "1.5", "none"}},
      {"duplicates", {"", "warn", "true", "1"}},
      {"folds", {"", "0", "-1", "2.5", "18446744073709551616"}},
      {"holdout_fraction", {"0", "1", "nan"}},
      {"outcome_range", {"", "5", "5,1", "1,1", "x,1", "nan,1", "inf,"}},
      {"outcome_step", {"", "0", "-1", "x", "nan", "inf", "1,2"}},
      {"may_be_exact", {"", "1"}},
      {"compare", {"no"}},
      {"seed", {"", "x", "-1", "1.5"}},
  };
  for (const OptionInfo& info : FitOptions::table().infos()) {
    ASSERT_TRUE(invalid.contains(info.name)) << info.name;
    for (const std::string& text : invalid.at(info.name)) {
      FitOptions options;
      const std::string message = complaint_of([&] { FitOptions::table().set(options, info.name, text, "--it"); });
      EXPECT_EQ(message, "--it is '" + text + "'; expected " + info.expected) << info.name;
    }
  }
}

TEST(FitOptions, FieldsSetInCppAreChecked) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<FitOptions> all(5);
  all[0].score_transform = "square";
  all[1].levels = {};
  all[2].calibration_size = -0.5;
  all[3].outcome_space = {kInfinity, kInfinity};
  all[4].holdout_fraction = std::numeric_limits<double>::quiet_NaN();
  for (const FitOptions& options : all) EXPECT_THROW(FitOptions::table().check(options), Error);
}

TEST(FitOptions, APercentageGetsASuggestion) {
  FitOptions options;
  EXPECT_EQ(
      complaint_of([&] { FitOptions::table().set(options, "confidence_level", "90"); }),
      "confidence_level is '90'; expected 1 to 1000 numbers between 0 and 1, such as 0.9 or 0.8,0.95; did you mean "
      "0.9?");
}

TEST(FitOptions, UnknownNamesGetASuggestion) {
  FitOptions options;
  EXPECT_EQ(complaint_of([&] { FitOptions::table().set(options, "fold", "3"); }),
            "unknown option 'fold'; did you mean 'folds'?");
}

TEST(OptionValues, ValuesMayContainCommas) {
  const OptionValues values = parse_option_values("candidates=2,4,8,max_rows=500");
  EXPECT_EQ(values, (OptionValues{{"candidates", "2,4,8"}, {"max_rows", "500"}}));
  EXPECT_EQ(to_string(values), "candidates=2,4,8,max_rows=500");
  EXPECT_TRUE(parse_option_values("").empty());
  EXPECT_EQ(complaint_of([] { (void)parse_option_values("rounds"); }),
            "'rounds' is not of the form NAME=VALUE, as in learning_rate=0.1");
}

}  // namespace
}  // namespace widthwise
