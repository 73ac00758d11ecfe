#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>

#include "base/values.hpp"

/// Sentences that text, JSON, the page and the verdict share.
namespace widthwise::internal {

/// The sentences on one level.
struct LevelSentences {
  std::string word;     ///< "valid", "not new"
  std::string verdict;  ///< on coverage and on its evenness
  /// "Coverage is uneven: 98.0% where ... and 84.5% where ...", with its p-value; empty unless coverage is uneven.
  std::string uneven;
  std::string difference;  ///< "98.0% where ... and 84.5% where ..."; likewise
  /// "1.9% by width, 2.2% by prediction, 2.4% by feature; 1.5% by chance, p < 0.05". The feature is that of the largest
  /// gap. Bins of a constant are all rows, whose coverage is shown anyway. Empty without gaps.
  std::string gaps;
  std::vector<std::string> weak_places;  ///< where each of them is: "grade is 10 to 13"
};

/// Of each level.
[[nodiscard]] std::vector<LevelSentences> level_sentences(const EvaluationReport& report);

/// Sentences to read before the verdict: labels that the model does not know, outcomes that no interval can contain.
[[nodiscard]] std::vector<std::string> remarks(const EvaluationReport& report);

/// "p < 0.01": the usual bound next above, because a single row changes small p-values much.
[[nodiscard]] std::string p_text(double p);

/// A level as "90%", "99.5%": with all digits that it has.
struct LevelName {
  double level;
};
[[nodiscard]] std::string written(const LevelName& name);

/// A mean over intervals, or that of the finite ones if others are infinite.
struct Mean {
  double of_all;
  double of_finite;

  /// Whether infinite intervals are left out.
  [[nodiscard]] bool is_of_finite() const;
  [[nodiscard]] double value() const { return is_of_finite() ? of_finite : of_all; }
};
[[nodiscard]] std::string written(const Mean& mean);

// ---- bins

/// "north", "3 to 5", "missing".
[[nodiscard]] std::string name_of_bin(const Bin& bin);

/// The numbers of at most `max` bins, ascending: the weak ones, then those with the lowest coverage.
[[nodiscard]] std::vector<std::size_t> lowest_bins(std::span<const Bin> bins, std::size_t max);

// ---- models

/// The name of a goal in reports: "one width", "balanced (shortest)", "goal 0.5 (exp)".
[[nodiscard]] std::string goal_name(const GoalReport& goal);

/// Whether a model was fitted to predictions as given, whose model may have seen the rows.
[[nodiscard]] bool has_given_predictions(const ModelParts& parts);

/// What is known of the errors that a model was fitted to: "out of sample", "of cross-validated predictions" or "of the
/// predictions as given".
[[nodiscard]] std::string kind_of_errors(const ModelParts& parts);

}  // namespace widthwise::internal
