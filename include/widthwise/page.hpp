#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/level.hpp>
#include <widthwise/model.hpp>
#include <widthwise/plan.hpp>
#include <widthwise/report.hpp>
#include <widthwise/train/fit.hpp>

namespace widthwise {

/// Levels of the picture "coverage at every level": 0.05 to 0.99 and the evaluated ones, ascending.
[[nodiscard]] std::vector<Level> page_levels(std::span<const Level> evaluated);

/// Results of `fit` on its hold-out.
struct PageFit {
  std::vector<GoalReport> goals;  ///< the one of the model first
  double base_error = 0;          ///< FitReport::base_error
  std::string summary = {};       ///< FitReport::summary
};

/// An evaluation, with the rows that the pictures of its report show.
struct EvaluationPage {
  const Model& model;                         ///< that made the intervals; borrowed
  const EvaluationReport& report;             ///< with EvaluationReport::model
  std::vector<IntervalRows> rows;             ///< one per level of the report
  std::span<const double> predictions;        ///< f(x) (n)
  std::vector<Level> levels = {};             ///< page_levels; empty for no such picture
  std::vector<std::uint64_t> covered = {};    ///< number of covered rows at each of them
  std::vector<CoverageSpread> expected = {};  ///< expected coverage at each of them, of all together in 99% of cases
  SearchRows search = {};                     ///< rows for the picture over a feature; empty for no such picture
  std::string title = {};                     ///< by default with the name of the outcome
  std::string estimator = {};                 ///< type of the base model, if it is not part of the model
  std::vector<std::string> advice = {};       ///< with code between backquotes; by default that of the command line
  std::optional<PageFit> fit = {};            ///< if known
};

/// The report as one self-contained HTML file without scripts: the verdict with advice, numbers and pictures. Throws
/// kInvalidArgument for an evaluation without a model.
[[nodiscard]] std::string to_html(const EvaluationPage& page);

/// Throw kInvalidArgument unless the name of a file for a report ends in .html or .htm, or is a pipe or device. Call it
/// before the evaluation.
void require_html_name(const std::filesystem::path& file);

/// The first sentence of the report: whether intervals are valid, and where coverage is low. Throws likewise.
[[nodiscard]] std::string headline(const EvaluationReport& report);

/// The goal that a model was fitted for: "even: the same coverage everywhere", "balanced (default): 0.85, where 0 is
/// narrow and 1 is even", "not known".
[[nodiscard]] std::string goal_summary(const Model& model);

}  // namespace widthwise
