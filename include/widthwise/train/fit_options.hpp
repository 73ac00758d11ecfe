#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/conformal_predictor.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/roles.hpp>
#include <widthwise/score.hpp>
#include <widthwise/train/options.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {

/// What a fit optimises: even coverage over x, a small mean width, or a trade-off.
/// - balanced, the default: the smallest interval score, with nearly even coverage (evenness 0.95)
/// - even: the same coverage everywhere (evenness 1)
/// - narrow: the smallest mean width; under-covers where intervals would be widest (transform `affine`)
/// - a number in [0, 1]: the evenness of the scale family (docs/mathematics.md)
/// balanced and even describe the distribution of the error, and take its shortest intervals, or its central ones if
/// the interval score of the hold-out says so.
class Goal {
 public:
  [[nodiscard]] static Goal even() { return Goal(1, "even"); }  ///< evenness 1
  /// Evenness 0.95: as good as even by interval score, and narrower (experiments/NOTES.md).
  [[nodiscard]] static Goal balanced() { return Goal(0.95, "balanced"); }
  [[nodiscard]] static Goal by_default() { return balanced(); }     ///< the goal if none is chosen
  [[nodiscard]] static Goal narrow() { return Goal(0, "narrow"); }  ///< evenness 0, at the levels of the model
  /// Throws kInvalidArgument outside [0, 1].
  [[nodiscard]] static Goal evenness(double value);
  /// Read "balanced", "even", "narrow" or a number.
  [[nodiscard]] static Goal parse(std::string_view text);

  [[nodiscard]] const std::string& to_string() const { return text_; }  ///< text that parse reads
  [[nodiscard]] double evenness() const { return evenness_; }           ///< in [0, 1]; 0 for narrow
  /// Whether it is `narrow` itself, not the number 0, which trains the scale family.
  [[nodiscard]] bool is_narrow() const { return text_ == "narrow"; }
  /// Whether it describes the distribution of the error: balanced and even themselves, not numbers.
  [[nodiscard]] bool is_of_distribution() const { return text_ == "balanced" || text_ == "even"; }

 private:
  Goal(double evenness, std::string text) : evenness_(evenness), text_(std::move(text)) {}

  double evenness_;
  std::string text_;
};

/// How a model is calibrated.
/// - split: a random part of the rows calibrates and fits nothing; coverage of at least 1 - alpha
/// - cross: every row calibrates the model of its fold, which is fitted to the other folds (CV+, jackknife+); for few
///   rows. Coverage of at least about 1 - 2 alpha (cross_coverage), usually about 1 - alpha
enum class CalibrationMethod {
  kSplit,  ///< set calibration rows aside
  kCross,  ///< calibrate every row with the model of its fold
};

/// What a fit does with copies of rows: rows with equal features, outcomes, groups, weights, clusters and times. Copies
/// on both sides of a split make intervals too narrow: a model has then seen the rows that calibrate it.
enum class Duplicates {
  kAuto,     ///< kCluster, with a warning, if rows repeat more than chance allows (RowRepeats), else kKeep
  kCluster,  ///< no split separates copies, all of them train, and the calibration counts each distinct row once
  kDrop,     ///< fit the first of the copies only
  kKeep,     ///< equal rows are separate observations, as by chance in discrete data
};

/// FitOptions::folds of jackknife+.
inline constexpr std::size_t kFoldPerRow = 0;

/// FitOptions::folds of one split: the base model is fitted to some of the rows, and its errors on the others train the
/// localizer. It is fitted once, where cross-fitting fits it once per fold and once to all rows.
inline constexpr std::size_t kOneSplit = 1;

/// Options of a fit. A new field is described in table(), from which the command line, Python, the checkpoint key and
/// docs/options.md take it.
struct FitOptions {
  std::optional<Goal> goal = std::nullopt;  ///< empty: Goal::by_default(), or narrow with a transform without evenness
  /// auto: shortest or spline for the goals balanced and even, affine for narrow, exp for numbers; identity, one width,
  /// if fewer than 20 rows fit. Else a name of make_transform.
  std::string score_transform = "auto";
  Score score = Score::kAbsolute;               ///< conformity score of a residual
  double gamma = TransformOptions().gamma;      ///< of the transform erc
  double epsilon = TransformOptions().epsilon;  ///< of the transform mixture
  /// Empty: one, or two if that is better on the hold-out by more than chance.
  std::optional<Sides> sides = std::nullopt;
  /// Levels to train for; empty: LevelWindow::around(levels) for the goal narrow and the transform spline, else all
  /// alike.
  std::optional<LevelWindow> level_window = std::nullopt;
  std::vector<Level> levels = {0.9};                          ///< default confidence levels of the model
  Guarantee guarantee = {};                                   ///< of the model's intervals
  CalibrationMethod calibration = CalibrationMethod::kSplit;  ///< set rows aside, or calibrate by folds
  /// Below 1: share of the rows, chosen at random, for the calibration set. From 1: number of rows, a whole number.
  /// 0: no calibration set. Rows with cv_predictions never calibrate. Not used by cross-calibration.
  double calibration_size = 0.25;
  /// Groups with fewer calibration rows are pooled (ModelParts); 0: none. Empty: as few as give infinite intervals at
  /// one of the levels.
  std::optional<std::uint64_t> pool_groups = 0;
  ClusterForm cluster_coverage = ClusterForm::kRows;  ///< what counts once, if rows have clusters
  /// Number of rows that a new cluster has at most; empty: that of the largest cluster of the table.
  std::optional<std::uint64_t> max_cluster_size = std::nullopt;
  /// Of cross-fitting the base model, or kOneSplit; of cross-calibration, if that is chosen, where kFoldPerRow means
  /// one per row. At most one per row. Empty: 5, and less for many rows, which need fewer (docs/training.md).
  std::optional<std::size_t> folds = std::nullopt;
  double holdout_fraction = 0.2;              ///< of the fitting rows, for early stopping and the fit report
  Duplicates duplicates = Duplicates::kAuto;  ///< how copies of rows are split; one process, unless auto or keep
  OutcomeSpace outcome_space = {};            ///< range and step of all outcomes; another outcome is an error
  bool may_be_exact = false;                  ///< accept predictions that all equal their outcome
  bool compare = false;                       ///< also train the opposite goal, for the fit report
  std::uint64_t seed = 0;  ///< random seed of splits, folds and the calibration sample; trainers have their own

  [[nodiscard]] static const OptionTable<FitOptions>& table();  ///< text form, range and help of every field

  /// The choices that some columns or other choices cannot come with.
  [[nodiscard]] Combination combination() const;

  /// Whether the score transform has parameters to train.
  [[nodiscard]] bool needs_localizer() const;

  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

}  // namespace widthwise
