#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <widthwise/diagnostics.hpp>
#include <widthwise/evaluation.hpp>
#include <widthwise/exchangeability.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/model.hpp>
#include <widthwise/online.hpp>
#include <widthwise/row_checks.hpp>
#include <widthwise/train/fit.hpp>

// Reports as the command line and Python print them: `to_text` returns lines of at most 100 characters, `to_json` one
// JSON object.
namespace widthwise {

/// How `to_json` writes infinities and NaN, which JSON has no numbers for.
enum class NonFinite {
  kNull,  ///< null: strict JSON
  kName,  ///< Infinity, -Infinity and NaN: as Python's json module reads and writes them
};

// ---- small values

/// Object with share, confidence interval, successes and trials.
[[nodiscard]] std::string to_json(const Proportion& proportion, NonFinite non_finite = NonFinite::kNull);
/// Object with the rows and, for each loss, the excess risk and its parts with standard errors.
[[nodiscard]] std::string to_json(const Ert& ert, NonFinite non_finite = NonFinite::kNull);
/// Object with the rows and the mean and bounds of coverage.
[[nodiscard]] std::string to_json(const CoverageSpread& spread, NonFinite non_finite = NonFinite::kNull);
/// Array with one object per bin.
[[nodiscard]] std::string to_json(const std::vector<Bin>& bins, NonFinite non_finite = NonFinite::kNull);

/// Array with one object per feature: its name, the numbers of values and of unknown ones, and the first labels.
[[nodiscard]] std::string to_json(const std::vector<UnknownLabels>& unknown, NonFinite non_finite = NonFinite::kNull);

// ---- evaluation

/// Describe the range: "sqft_living is at least 4,000". `name` is the name of the feature.
[[nodiscard]] std::string summary(const FeatureSlab& slab, std::string_view name);

/// Describe any place: "grade is 10 to 13", "shop is 'north'", "group is 3". A slab is described by the features with
/// the largest weights.
[[nodiscard]] std::string summary(const WeakPlace& place, const LevelEvaluation& evaluation,
                                  std::span<const std::string> features);

/// Describe between which bins coverage differs: "98.0% where intervals are narrow (12.1 to 14) and 84.5% where they
/// are wide (31 to 52.2)".
[[nodiscard]] std::string summary(const CoverageGap& gap, const LevelEvaluation& evaluation,
                                  std::span<const std::string> features);

/// Rows whose outcome is not in the outcome space of the model: outside its range, so that they are missed at every
/// level, or not a multiple of its step.
struct MissedByRange {
  std::uint64_t rows = 0;  ///< number of such rows
  std::string text = {};   ///< a sentence with the number, examples and the remedy; empty if there are none

  /// Count the outcomes outside the space of the model. Examples are numbered from `first_row`.
  [[nodiscard]] static MissedByRange of(const Model& model, std::span<const double> outcomes,
                                        std::uint64_t first_row = 1);
};

/// Advice on the outcome space of a model that the outcomes and bounds of one level suggest.
struct OutcomeAdvice {
  std::string option;  ///< "outcome_range" or "outcome_step"
  std::string text;    ///< a sentence with the figures and the option

  /// Compare n outcomes with their bounds; empty if the outcomes suggest nothing that the model does not have.
  [[nodiscard]] static std::vector<OutcomeAdvice> of(const Model& model, std::span<const double> outcomes,
                                                     std::span<const double> lower, std::span<const double> upper);
};

/// The properties of a model that the verdict on it depends on.
struct EvaluatedModel {
  Level level;                           ///< the first of the model
  std::uint64_t calibration_rows = 0;    ///< or clusters; of weighted rows, the effective sample size
  std::string approximate_because = {};  ///< see CalibrationScheme; empty if verdicts are not approximate
  std::string goal = {};                 ///< empty when unknown
  bool one_width = false;                ///< for all rows
  std::string unit = "row";              ///< what calibration_rows counts
  bool takes_rows = true;                ///< whether rows can be added to the calibration
  std::string guarantee = {};            ///< in words, see GuaranteeStatement; empty when unknown
  bool predictions_given = false;        ///< fitted to predictions whose model may have seen the rows
  bool is_known = true;                  ///< false for intervals of any origin

  /// The properties of this model, which need not outlive the result.
  [[nodiscard]] static EvaluatedModel of(const Model& model);
};

/// LevelEvaluation of intervals on rows with outcomes, at one or several levels.
struct EvaluationReport {
  std::string table = {};                    ///< name of the table; empty when it has none
  std::uint64_t rows = 0;                    ///< number of evaluated rows
  Guarantee guarantee = {};                  ///< of the evaluated intervals
  std::optional<EvaluatedModel> model = {};  ///< for an overall verdict with advice
  SeenRows seen = {};  ///< rows that fitted or calibrated the model; these make every verdict "not new"
  std::vector<UnknownLabels> unknown_categories = {};  ///< features with labels that the model does not know
  MissedByRange missed_by_range = {};                  ///< outcomes that no interval can contain
  std::vector<OutcomeAdvice> outcome_advice = {};      ///< a range or step that the outcomes suggest
  /// Names of the columns in which places were searched, in the order of their numbers.
  std::vector<std::string> features = {};
  std::vector<LevelEvaluation> levels = {};                    ///< one per level, in the order of the request
  std::optional<ExchangeabilityMonitor> exchangeability = {};  ///< of rows in time order
  std::optional<CrpsSummary> crps = {};                        ///< of the model's quantiles, see Crps
  bool conditional = false;                                    ///< LevelEvaluation::ert was requested
};

/// What `widthwise evaluate` prints: the verdict, then coverage, width and weak places of each level.
[[nodiscard]] std::string to_text(const EvaluationReport& report);
/// The same as JSON, with all bins.
[[nodiscard]] std::string to_json(const EvaluationReport& report, NonFinite non_finite = NonFinite::kNull);

// ---- fit

/// Files of a fit, named in its report.
struct FitFiles {
  std::string model;                  ///< written
  std::string table;                  ///< read
  std::vector<std::string> left_out;  ///< columns that do not hold numbers
};

/// What `widthwise fit` prints: numbers of rows, error of the base model, and the goals on the hold-out.
[[nodiscard]] std::string to_text(const FitResult& result, const std::optional<FitFiles>& files = std::nullopt);
/// The same as JSON.
[[nodiscard]] std::string to_json(const FitResult& result, const std::optional<FitFiles>& files = std::nullopt,
                                  NonFinite non_finite = NonFinite::kNull);

// ---- calibration

/// A model after rows were added to its calibration set.
struct CalibrationReport {
  const Model& model;                                  ///< after the rows were added; borrowed
  std::string file;                                    ///< written
  std::uint64_t rows_added = 0;                        ///< number of new rows; the model may have had others
  std::vector<UnknownLabels> unknown_categories = {};  ///< in the new rows
  bool weights_dropped = false;                        ///< the model had weights before, see model_for_rows_of
};

/// What `widthwise calibrate` and `widthwise merge` print: rows, and the coverage to expect at each level.
[[nodiscard]] std::string to_text(const CalibrationReport& report);
/// The same as JSON.
[[nodiscard]] std::string to_json(const CalibrationReport& report);

/// The size of a calibration set and the coverage to expect with it.
struct CalibrationPlan {
  Level level;                            ///< nominal coverage to plan for
  Guarantee guarantee = {};               ///< meaning of the level
  double confidence = kSpreadConfidence;  ///< probability that coverage lies in the range of `spread`
  std::optional<double> tolerance = {};   ///< that the number of rows follows from
  CoverageSpread spread = {};             ///< number of rows, and the coverage that they give

  /// The least number of rows whose coverage stays within `tolerance` of the level. Throws as rows_for_tolerance does.
  [[nodiscard]] static CalibrationPlan for_tolerance(const Level& level, double tolerance, double confidence,
                                                     const Guarantee& guarantee);
  /// The coverage that `rows` calibration rows give. Throws as coverage_spread does.
  [[nodiscard]] static CalibrationPlan for_rows(const Level& level, std::uint64_t rows, double confidence,
                                                const Guarantee& guarantee);

  /// One or two sentences.
  [[nodiscard]] std::string summary() const;
};

/// The summary, wrapped: what `widthwise plan` prints for one level.
[[nodiscard]] std::string to_text(const CalibrationPlan& plan);
/// One object for one plan, else an array.
[[nodiscard]] std::string to_json(const std::vector<CalibrationPlan>& plans, NonFinite non_finite = NonFinite::kNull);

// ---- model files and streams

/// The contents of a model file.
struct ModelReport {
  const Model& model;       ///< contents of the file; borrowed
  std::string file;         ///< name of the file, for the report
  std::uint64_t bytes = 0;  ///< size of the file
};

/// What `widthwise inspect` prints: parts, calibration, coverage to expect at each level, stream and notes.
[[nodiscard]] std::string to_text(const ModelReport& report);
/// The same as JSON.
[[nodiscard]] std::string to_json(const ModelReport& report);

/// Method, rows and coverage of a stream. An empty stream has a coverage of NaN.
[[nodiscard]] std::string to_json(const OnlineCalibration& online, NonFinite non_finite = NonFinite::kNull);

/// Rows of a table that a stream issued or observed.
struct TrackReport {
  const OnlineCalibration& before;           ///< state before the first row of the table; borrowed
  const OnlineCalibration& after;            ///< state after its last row; borrowed
  std::string table;                         ///< read
  std::string output = {};                   ///< written with intervals; empty when outcomes alone were observed
  std::string saved = {};                    ///< model file written, or empty
  std::uint64_t rows = 0;                    ///< read
  std::vector<std::string> added = {};       ///< columns written
  std::vector<std::uint64_t> infinite = {};  ///< intervals written, per level
  std::optional<std::uint64_t> issued = {};  ///< the batch whose outcomes are pending
  std::string order = {};                    ///< which outcomes were known at each interval, in words
  std::vector<UnknownLabels> unknown_categories = {};  ///< in these rows

  /// Rows of the table whose outcomes were observed.
  [[nodiscard]] std::uint64_t observed() const { return after.rows() - before.rows(); }
};

/// What `widthwise track` prints: the files written, and coverage of the table and of the stream at each level.
[[nodiscard]] std::string to_text(const TrackReport& report);
/// The same as JSON.
[[nodiscard]] std::string to_json(const TrackReport& report);

/// Levels of the picture "coverage at every level": 0.05 to 0.99 and the evaluated ones, ascending.
[[nodiscard]] std::vector<Level> page_levels(std::span<const Level> evaluated);

/// Results of `fit` on its hold-out.
struct PageFit {
  std::vector<GoalReport> goals;  ///< the one of the model first
  double base_error = 0;          ///< FitReport::base_error
  std::string summary = {};       ///< FitReport::summary
};

/// The contents of an HTML report: an evaluation, and the rows that the pictures show.
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

/// The goal that a model was fitted for: "even: the same coverage everywhere", "0.5, where 0 is narrow and 1 is even",
/// "not known".
[[nodiscard]] std::string goal_summary(const Model& model);

}  // namespace widthwise
