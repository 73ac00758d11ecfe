#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/model.hpp>
#include <widthwise/row_sketch.hpp>

namespace widthwise {

/// Finds the groups of rows to predict by their labels, and counts the rows without a calibrated group.
/// Thread safety: none.
class GroupRows {
 public:
  /// `model` has to outlive this.
  explicit GroupRows(const Model& model) : model_(model), labelled_(model.parts().calibration.labelled()) {}

  /// The group of `rows` rows with a label, for Rows: kUnseenGroup if the label has no calibration rows, kNoGroup
  /// for an empty label.
  std::int64_t find(std::string_view label, std::uint64_t rows = 1);

  /// The same for a label that is an integer.
  std::int64_t find(std::int64_t label, std::uint64_t rows = 1);

  /// Count a row whose group was found before.
  void count(std::int64_t group);

  /// "12 rows have a group that was not calibrated (a and b), so their intervals are infinite". Empty if there are
  /// none.
  [[nodiscard]] std::string warning() const;

 private:
  static constexpr std::size_t kMaxLabels = 1000;

  std::int64_t counted(std::int64_t group, std::string_view label, std::uint64_t rows);

  const Model& model_;
  bool labelled_;
  std::set<std::string, std::less<>> unseen_labels_;  // at most kMaxLabels
  std::uint64_t unseen_ = 0;
  std::uint64_t unlabelled_ = 0;
};

/// A label that a model does not know.
struct UnknownLabel {
  std::string label;    ///< as the table has it
  std::string similar;  ///< the most similar label that the model knows; empty if none is similar
};

/// Values of one categorical feature whose label a model does not know, such as another spelling. The model takes them
/// as missing, so intervals of such rows can be far too narrow. Missing values are not counted.
struct UnknownLabels {
  static constexpr std::size_t kNamed = 3;  ///< maximum size of `first`

  std::string feature;                   ///< name of the column
  std::uint64_t values = 0;              ///< number of values with a label, known or not
  std::uint64_t unknown = 0;             ///< how many of these labels the model does not know
  std::vector<UnknownLabel> first = {};  ///< distinct ones, in order of appearance
  bool more = false;                     ///< whether there are others than the first

  /// Count values with a label that is not among the known ones.
  void add(std::string_view label, const Labels& known, std::uint64_t rows = 1);

  /// Count the values of other rows of the same column.
  void merge(const UnknownLabels& other);

  /// Whether there are several values and the model knows none of their labels: a mistake, not a rare category. A
  /// single value may be a new category, which must not stop a service that predicts row by row.
  [[nodiscard]] bool none_known() const { return values > 1 && unknown == values; }

  /// "column 'clarity': 817 of 2,000 values are categories that the model does not know, such as 'si1' (did you mean
  /// 'SI1'?); ...".
  [[nodiscard]] std::string to_string() const;
};

/// Finds the numbers of categories for Rows::x by their labels, and counts the labels that the model does not
/// know. Thread safety: none.
class UnknownCategories {
 public:
  /// `model` has to outlive this.
  explicit UnknownCategories(const Model& model);

  /// The number of a label of a feature of the model; NaN if the model does not know it.
  double find(std::size_t feature, std::string_view label, std::uint64_t rows = 1);

  /// The counts of a feature, which readers of tables add to.
  [[nodiscard]] UnknownLabels& of(std::size_t feature) { return features_[feature]; }

  /// The features with unknown labels.
  [[nodiscard]] std::vector<UnknownLabels> found() const;

  /// Throw kBadData if there is a feature with several values of which no label is known. The message begins with
  /// `where`.
  void require_known(const std::string& where) const;

 private:
  const Model& model_;
  std::vector<UnknownLabels> features_;
};

/// The population of rows that calibrate a model with weights.
///
/// The weights of such a model are the likelihood ratios of the target population to the source population. A row of
/// the source population counts with its weight. A row of the target population has the ratio 1: with the weight w(x)
/// it would be shifted twice, and intervals may be too narrow.
enum class Population {
  kSource,  ///< that of the rows that fitted and calibrated the model
  kTarget,  ///< that of the rows to predict
};

/// "source" or "target".
[[nodiscard]] std::string_view name_of(Population population);
/// Throws kInvalidArgument for other names.
[[nodiscard]] Population population_of(std::string_view name);

/// The same model without weights, given or learnt, and without calibration rows. Its calibration rows come from the
/// population to predict.
[[nodiscard]] Model without_weights(const Model& model);

/// The model that rows of this population calibrate. A model cannot recognise the population of rows, so for a model
/// with weights it must be stated. `replace`: no earlier calibration rows are kept.
/// - source: the model itself; rows count with their weights.
/// - target: the model without weights, whose coverage is exact for these rows alone. Only with `replace`, or if there
///   are no calibration rows yet: the earlier rows are of another population.
/// For a model without weights, all rows come from the population to predict: it is `target` or not stated. Throws
/// kInvalidArgument, with the remedy.
[[nodiscard]] Model model_for_rows_of(const Model& model, std::optional<Population> population, bool replace);

/// The verdict on intervals that were evaluated on rows seen by the model, in one word.
inline constexpr const char* kSeenVerdict = "not new";

/// The share of rows that a model has seen: rows that fitted it, and rows that calibrated it; and of their clusters, if
/// the model has clusters.
struct SeenRows {
  RowOverlap fitted;                      ///< rows in common with ModelParts::fit_sketch
  RowOverlap calibrated;                  ///< rows in common with ModelParts::calibration_sketch
  std::uint64_t clusters = 0;             ///< clusters of the rows
  std::uint64_t fitted_clusters = 0;      ///< of these, clusters that fitted the model
  std::uint64_t calibrated_clusters = 0;  ///< and clusters that calibrated it

  /// Whether there are more rows of either kind than by chance.
  [[nodiscard]] bool any_rows() const { return fitted.found() || calibrated.found(); }
  /// Whether there are such rows, or clusters that the model has seen. A cluster is known by its label, so that one is
  /// enough.
  [[nodiscard]] bool any() const { return any_rows() || fitted_clusters > 0 || calibrated_clusters > 0; }

  /// The shares as text: "74% of these rows fitted the model, 26% of them calibrated it". Empty if there are none.
  [[nodiscard]] std::string shares() const;
  /// The shares, their consequence for an evaluation on these rows, and advice; empty if there are none.
  [[nodiscard]] std::string to_string() const;
};

/// Compare rows, and their clusters if the model has clusters (one per row), with what the model has seen. A model
/// without sketches, from an older file, was fitted on no rows.
[[nodiscard]] SeenRows seen_rows(const Model& model, const RowSketch& rows,
                                 std::span<const std::int64_t> clusters = {});

/// Throw unless the rows may calibrate the model: kBadData if some of them fitted it, kDuplicateRows if some of them
/// are in `calibrated`, the sketch of the calibration set to which they are added. `replace` is the name of the option
/// that discards that set, for the message.
void require_new_rows(const Model& model, const RowSketch& rows, const RowSketch& calibrated, std::string_view replace);

/// ModelParts::fit_residuals of fitting rows with these residuals y - f(x): their absolute values, ascending, or 1024
/// quantiles of them.
[[nodiscard]] std::vector<double> residual_quantiles(std::span<const double> residuals);

/// Compare the training residuals with those of calibration rows: the one-sided Smirnov distances in both directions,
/// and the bound that equally distributed residuals exceed with a probability of at most `failure`.
struct InSampleCheck {
  double distance = 0;  ///< by which the training residuals are smaller; large if they were in-sample
  /// By which the calibration residuals are smaller; large if they are in-sample. 0 for models trained by folds, whose
  /// residuals are expected to be larger than those of the deployed model.
  double distance_below = 0;
  double bound = 0;  ///< for either distance; 0 if nothing could be compared
  [[nodiscard]] bool suspicious() const { return distance > bound; }  ///< fit may have had in-sample predictions
  /// Whether the base model may have been trained on the calibration rows.
  [[nodiscard]] bool calibration_suspicious() const { return distance_below > bound; }

  /// A warning for the user; empty if neither is suspicious.
  [[nodiscard]] std::string warning() const;
};

/// The check of calibration rows by a sample of their |y - f(x)| (CalibrationShard::residuals). Not suspicious for a
/// model with clusters, because the bound needs independent rows.
[[nodiscard]] InSampleCheck check_in_sample(const Model& model, const Calibration& residuals, double failure = 1e-6);

}  // namespace widthwise
