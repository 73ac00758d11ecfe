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
  /// For programs: "valid", "uneven", "weak_place", "too_high", "too_low", "infinite", "not_judged" or "not_new".
  std::string code;
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

/// "p < 0.01": the usual bound next above, because a single row changes small p-values much.
[[nodiscard]] std::string p_text(double p);

/// "Coverage is uneven: 98.0% where ... and 84.5% where ...", with its p-value; empty unless coverage is uneven.
[[nodiscard]] std::string uneven_text(const LevelEvaluation& level, const std::vector<std::string>& features);

/// "1.9% by width, 2.2% by prediction, 2.4% by feature; 1.5% by chance, p < 0.05". The feature is that of the largest
/// gap. Bins of a constant are all rows, whose coverage is shown anyway. Empty without gaps.
[[nodiscard]] std::string gaps_text(const LevelEvaluation& level);

/// The mean of all intervals, or that of the finite ones if some are infinite.
[[nodiscard]] std::string mean_text(double mean, double finite_mean);

/// None without a model.
[[nodiscard]] std::optional<OverallVerdict> overall_verdict(const EvaluationReport& report);

}  // namespace widthwise::internal
