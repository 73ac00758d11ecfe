#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/report.hpp>

#include "report/sentences.hpp"

namespace widthwise::internal {

/// Something to do about a verdict. `kind` lets each interface add the command for it.
struct Advice {
  std::string kind;
  std::string text;
};

/// The verdict on all levels of an evaluation.
struct OverallVerdict {
  /// For programs: "valid", "uneven", "weak_place", "too_high", "too_low", "infinite", "not_judged" or "not_new".
  std::string code;
  std::string mood;      ///< "valid", "weak" or "broken"
  std::string word;      ///< "Valid, with a weak place"
  std::string headline;  ///< one or two sentences
  std::string evidence;  ///< the figures behind it
  std::vector<Advice> advice;
  std::size_t level = 0;  ///< index of the level that it describes
};

/// None without a model. `sentences` are those of its levels.
[[nodiscard]] std::optional<OverallVerdict> overall_verdict(const EvaluationReport& report,
                                                            const std::vector<LevelSentences>& sentences);

}  // namespace widthwise::internal
