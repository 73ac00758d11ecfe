#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/report.hpp>

namespace widthwise::internal {

/// Something to do about a verdict. `kind` lets each interface add the command for it.
struct Advice {
  std::string kind;
  std::string text;
};

/// The verdict on all levels of an evaluation.
struct OverallVerdict {
  std::string mood;      ///< "valid", "weak" or "broken"
  std::string word;      ///< "Valid, with a weak place"
  std::string headline;  ///< one or two sentences
  std::string evidence;  ///< the figures behind it
  std::vector<Advice> advice;
  std::size_t level = 0;  ///< index of the level that it describes
};

/// "90%", "99.5%": all digits that a level has.
[[nodiscard]] std::string level_name(double level);

/// Sentences to read before the verdict: labels that the model does not know, outcomes that no interval can contain.
[[nodiscard]] std::vector<std::string> remarks(const EvaluationReport& report);

/// None without a model.
[[nodiscard]] std::optional<OverallVerdict> overall_verdict(const EvaluationReport& report);

}  // namespace widthwise::internal
