#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <widthwise/conformal_predictor.hpp>
#include <widthwise/score.hpp>
#include <widthwise/transform.hpp>

/// The rules for parametrised tests of prediction.
namespace widthwise {

struct RuleCase {
  std::string transform;
  Score score;
  Sides sides;

  [[nodiscard]] ConformalRule rule() const { return ConformalRule(make_transform(transform), score, sides); }
};

/// Every transform with every score it supports, one- and two-sided.
[[nodiscard]] inline std::vector<RuleCase> all_rules() {
  std::vector<RuleCase> rules;
  for (const auto name : transform_names()) {
    for (const Score score : {Score::kAbsolute, Score::kSquared, Score::kLog}) {
      if (score == Score::kLog && !make_transform(name)->takes_negative_scores()) continue;
      for (const Sides sides : {Sides::kOne, Sides::kTwo}) rules.push_back({std::string(name), score, sides});
    }
  }
  return rules;
}

[[nodiscard]] inline std::string rule_name(const testing::TestParamInfo<RuleCase>& test) {
  return test.param.transform + "_" + std::string(name_of(test.param.score)) +
         (test.param.sides == Sides::kTwo ? "_two_sided" : "");
}

}  // namespace widthwise
