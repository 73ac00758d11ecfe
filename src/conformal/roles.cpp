#include <widthwise/roles.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"

namespace widthwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kLargestFloat = std::numeric_limits<float>::max();  // engines compute in single precision

constexpr const char* kLabelled = "remove the rows without a label, or give them one";

constexpr RoleEntry kEntries[] = {
    {.role = Role::kGroup,
     .name = "group",
     .plural = "groups",
     .value = "group",
     .kind = RoleKind::kLabel,
     .steps = {Step::kFit, Step::kCalibrate, Step::kPredict, Step::kEvaluate},
     .is_feature = true,
     .missing = "an error; the interval is infinite when predicting",
     .expected = kLabelled,
     .least = -kInfinity,
     .most = kInfinity,
     .needed = "the model calibrates each group{} separately; pass a group for every row",
     .help = "column of group labels: text, integers or booleans; each group is calibrated separately (Mondrian), so "
             "coverage holds in every group. Several columns, A,B, make one group per combination of their labels. The "
             "columns are also features, unless excluded"},
    {.role = Role::kCluster,
     .name = "cluster",
     .plural = "clusters",
     .value = "cluster",
     .kind = RoleKind::kLabel,
     .steps = {Step::kFit, Step::kCalibrate, Step::kEvaluate},
     .is_feature = false,
     .missing = "an error",
     .expected = kLabelled,
     .least = -kInfinity,
     .most = kInfinity,
     .needed = "the model calibrates by the clusters{}; pass a cluster for every row",
     .help = "column of cluster labels, such as patients: rows of one cluster are dependent. No split separates them, "
             "and the calibration takes account of them, so coverage holds for rows of new clusters "
             "(--cluster-coverage). Not used as a feature unless listed in --features"},
    {.role = Role::kClusterSize,
     .name = "cluster_size",
     .plural = "cluster_sizes",
     .value = "cluster size",
     .kind = RoleKind::kNumber,
     .steps = {Step::kPredict},
     .is_feature = false,
     .missing = "an error",
     .expected = "expected a number of rows of at least 1",
     .least = 1,
     .most = kInfinity,
     .needed = "the model counts rows of clusters{}; pass the size of the cluster of every row",
     .help = "column of the number of rows of the cluster of each row, for models with clusters whose rows count; "
             "default: the largest known cluster"},
    {.role = Role::kWeight,
     .name = "weight",
     .plural = "weights",
     .value = "weight",
     .kind = RoleKind::kNumber,
     .steps = {Step::kFit, Step::kCalibrate, Step::kPredict, Step::kEvaluate},
     .is_feature = false,
     .missing = "an error",
     .expected =
         "expected a positive number, the likelihood ratio of the row; drop rows of ratio 0, which do not occur in "
         "the population to predict",
     .least = kSmallest,
     .most = kLargest,
     .needed = "the model has weights; pass the likelihood ratio of every row{}",
     .help =
         "column of likelihood ratios, for rows to predict from another population (covariate shift): how much more "
         "often a row like this occurs there, up to a factor; calibration rows count by it, and tables to predict "
         "have the column as well. Not used as a feature unless listed in --features"},
    {.role = Role::kTime,
     .name = "time",
     .plural = "times",
     .value = "time",
     .kind = RoleKind::kTime,
     .steps = {Step::kFit},
     .is_feature = false,
     .missing = "an error",
     .expected = "expected a number, or a date such as 2024-01-31 or 2024-01-31 05:00",
     .least = -kLargest,
     .most = kLargest,
     .needed = "the rows are split by time{}; pass the time of every row",
     .help =
         "column of times, numbers or dates such as 2024-01-31: the latest rows calibrate, the latest of the others "
         "are the hold-out, and folds are blocks of time. Not used as a feature unless listed in --features"},
    {.role = Role::kSampleWeight,
     .name = "sample_weight",
     .plural = "sample_weights",
     .value = "sample weight",
     .kind = RoleKind::kNumber,
     .steps = {Step::kFit},
     .is_feature = false,
     .missing = "an error",
     .expected = "expected a finite number of at least 0",
     .least = 0,
     .most = kLargestFloat,
     .needed = "the fit has sample weights{}; pass the sample weight of every row",
     .help = "column of weights for training, at least 0: base model and localizer count a row by its weight, the "
             "calibration does not. Not used as a feature unless listed in --features"},
    {.role = Role::kId,
     .name = "id",
     .plural = "ids",
     .value = "id",
     .kind = RoleKind::kText,
     .steps = {Step::kFit, Step::kCalibrate, Step::kPredict, Step::kEvaluate},
     .is_feature = false,
     .missing = "allowed; messages then give the number of the row alone",
     .expected = "",
     .least = -kInfinity,
     .most = kInfinity,
     .needed = "the rows have ids{}; pass the id of every row",
     .help =
         "column of identifiers of rows, such as order numbers: messages name rows by them, 'predict' always copies "
         "the column, and 'evaluate' lists the widest and the missed rows. Not used as a feature unless listed in "
         "--features"}};
static_assert(std::size(kEntries) == kRoles);

constexpr const char* kOneWeights =
    "{1} and {2} cannot be combined: the likelihood ratio of a row does not determine that of its cluster; use one of "
    "them";
constexpr const char* kNoConfidence =
    "{1} is not available for weighted calibration; use the guarantee 'marginal', or calibrate without weights";
constexpr const char* kNoPools =
    "weighted calibration cannot pool groups; calibrate without weights, or do not pool "
    "groups";
constexpr const char* kNoCrossWeights =
    "cross-calibration has no weights; use split calibration, or fit without "
    "weights";
constexpr const char* kNoCrossGroups =
    "cross-calibration does not calibrate groups separately; use split calibration, or fit without groups";
constexpr const char* kNoWeightedStream = "online calibration does not support weights; track a model without weights";
constexpr const char* kNoWeightedTest = "the calibration has weights; expected one without weights";
constexpr const char* kNoWeightedFold = "{1} has weights; expected a calibration without weights";

constexpr Conflict kConflicts[] = {
    {Choice::kCrossCalibration, Choice::kWorkers,
     "cross-calibration trains in one process; fit without workers, or use split calibration"},
    {Choice::kCrossCalibration, Role::kGroup, kNoCrossGroups},
    {Choice::kCrossCalibration, Choice::kPooledGroups, kNoCrossGroups},
    {Choice::kCrossCalibration, Role::kCluster, "cross-calibration has no clusters; use split calibration"},
    {Choice::kCrossCalibration, Role::kTime, "cross-calibration has no splits by time; use split calibration"},
    {Choice::kCrossCalibration, Role::kWeight, kNoCrossWeights},
    {Choice::kCrossCalibration, Choice::kLearntWeights, kNoCrossWeights},
    {Choice::kCrossCalibration, Role::kSampleWeight, kNoCrossWeights},
    {Choice::kCrossCalibration, Choice::kGuarantee,
     "cross-calibration has no {2}; use the guarantee 'marginal', or fit with split calibration"},
    {Choice::kCrossCalibration, Choice::kQuantilePredictions,
     "cross-calibration reads one column of predictions; train the quantiles here (base 'quantiles'), or use split "
     "calibration"},
    {Choice::kCrossCalibration, Choice::kCvPredictions,
     "cross-calibration needs the models of the folds, not only their predictions; let the fit train the base model, "
     "or pass predictions of the deployed model"},
    {Role::kCluster, Role::kWeight, kOneWeights},
    {Role::kCluster, Choice::kLearntWeights, kOneWeights},
    {Role::kCluster, Role::kTime,
     "{1} and {2} cannot be combined: a split by time separates the rows of a cluster; use one of them"},
    {Role::kWeight, Choice::kLearntWeights, "found both weights and shift_to; pass one of them"},
    {Choice::kGuarantee, Role::kCluster,
     "{1} is not available for calibration by clusters; use the guarantee 'marginal'"},
    {Choice::kGuarantee, Role::kTime,
     "{1} is not available with {2}: a training-conditional guarantee needs independent rows, and rows that are "
     "ordered in time are rarely independent; use the guarantee 'marginal', or fit without times if the rows are "
     "independent"},
    {Choice::kGuarantee, Role::kWeight, kNoConfidence},
    {Choice::kGuarantee, Choice::kLearntWeights, kNoConfidence},
    {Choice::kGuarantee, Choice::kPooledGroups,
     "{1} is not available for pooled groups; use the guarantee 'marginal', or do not pool groups"},
    {Role::kCluster, Choice::kPooledGroups,
     "{1} and {2} cannot be combined: a new cluster adds several rows to a small group; do not pool groups"},
    {Role::kWeight, Choice::kPooledGroups, kNoPools},
    {Choice::kLearntWeights, Choice::kPooledGroups, kNoPools},
    {Role::kTime, Choice::kWorkers, "splits by {1} need all rows in one process; fit without workers"},
    {Choice::kLearntWeights, Choice::kWorkers, "weights are learnt in one process; fit without workers"},
    {Role::kSampleWeight, Choice::kUnweightedBase,
     "the base model {2} does not take sample weights; use trees, or fit without sample weights"},
    {Choice::kMaxClusterSize, Choice::kEachClusterOnce,
     "max_cluster_size has no effect if each cluster counts once; leave it out, or use cluster_coverage 'rows'"},
    {Role::kClusterSize, Choice::kEachClusterOnce,
     "found sizes of clusters, but each cluster counts once in this model; leave them out"},
    {Choice::kStream, Role::kGroup,
     "a stream has one quantile for all rows, but this model has groups; track a model without groups"},
    {Choice::kStream, Role::kCluster,
     "a stream is tracked row by row, but this model counts clusters; track a model without clusters"},
    {Choice::kStream, Role::kWeight, kNoWeightedStream},
    {Choice::kStream, Choice::kLearntWeights, kNoWeightedStream},
    {Choice::kStream, Choice::kCrossCalibration,
     "a cross-calibrated model cannot track a stream; fit with split calibration (calibration 'split')"},
    {Choice::kOrderTest, Role::kCluster,
     "the calibration has clusters; expected one without clusters, because rows of a cluster are not independent"},
    {Choice::kOrderTest, Role::kWeight, kNoWeightedTest},
    {Choice::kOrderTest, Choice::kLearntWeights, kNoWeightedTest},
    {Choice::kOrderTest, Choice::kCrossCalibration,
     "the scores of a cross-calibrated model come from several models, so they are not exchangeable with those of new "
     "rows; fit with split calibration (calibration 'split')"},
    {Choice::kFold, Role::kGroup, "{1} has groups; expected a calibration without groups"},
    {Choice::kFold, Role::kCluster, "{1} has clusters; expected a calibration without clusters"},
    {Choice::kFold, Role::kWeight, kNoWeightedFold},
    {Choice::kFold, Choice::kLearntWeights, kNoWeightedFold},
    {Choice::kFold, Choice::kCrossCalibration, "{1} is a cross-calibrated model; expected a model without folds"},
    {Choice::kFold, Choice::kGuarantee, "{1} has a training-conditional guarantee; expected a marginal one"},
    {Choice::kOutcomeQuantiles, Choice::kCrossCalibration,
     "a cross-calibrated model has no quantiles of the outcome, but an end of its interval is a one-sided bound of the "
     "same level; fit with split calibration (calibration 'split')"},
    {Choice::kOneModel, Choice::kCrossCalibration,
     "a cross-calibrated model has no {1}; fit with split calibration (calibration 'split')"},
    {Choice::kPictures, Role::kCluster,
     "the pictures need independent rows, but this model has clusters; use 'evaluate'"},
    {Choice::kBins, Role::kCluster,
     "by: the confidence intervals of bins need independent rows, but this model has clusters; evaluate without it"},
    {Choice::kConditional, Role::kCluster,
     "conditional: the classifier needs independent rows, but this model has clusters; evaluate without it"},
};

/// What needs a column of a role.
struct Requirement {
  Part part;
  Role role;
  const char* sentence;
};

constexpr Requirement kRequirements[] = {
    {Choice::kMaxClusterSize, Role::kCluster,
     "max_cluster_size is for clusters, but the rows have none; pass their clusters"},
    {Choice::kClusterCoverage, Role::kCluster,
     "cluster_coverage is for clusters, but the rows have none; pass their clusters"},
    {Role::kClusterSize, Role::kCluster, "found sizes of clusters, but the model has no clusters; leave them out"},
};

/// How texts name a choice.
struct ChoiceName {
  Choice choice;
  const char* name;
};

constexpr ChoiceName kChoiceNames[] = {
    {Choice::kGuarantee, "training-conditional guarantee"},
    {Choice::kPooledGroups, "pooled groups"},
    {Choice::kLearntWeights, "learnt weights"},
    {Choice::kCrossCalibration, "cross-calibration"},
    {Choice::kQuantilePredictions, "upper predictions"},
    {Choice::kCvPredictions, "cross-validated predictions"},
    {Choice::kWorkers, "several workers"},
    {Choice::kStream, "streams"},
    {Choice::kOrderTest, "test in time order"},
    {Choice::kFold, "model of a fold"},
    {Choice::kOutcomeQuantiles, "quantiles of the outcome"},
    {Choice::kOneModel, "parameters of a row"},
    {Choice::kBins, "coverage by a column"},
    {Choice::kPictures, "pictures of an evaluation"},
    {Choice::kConditional, "conditional coverage"},
    {Choice::kClusterCoverage, "cluster_coverage"},
    {Choice::kMaxClusterSize, "max_cluster_size"},
    {Choice::kEachClusterOnce, "cluster_coverage 'clusters'"},
    {Choice::kUnweightedBase, "base model without sample weights"},
};
static_assert(std::size(kChoiceNames) == static_cast<std::size_t>(Choice::kEnd));

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// " in 'store'"; empty without a name.
std::string in_column(std::string_view column) {
  return column.empty() ? std::string() : fmt::format(" in '{}'", internal::printable(std::string(column)));
}

[[noreturn]] void refuse(std::string_view where, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, where.empty() ? sentence : fmt::format("{}: {}", where, sentence));
}

/// "new.csv: row 5: "
std::string at_row(const CellPlace& place, std::ptrdiff_t cell) {
  return fmt::format("{}: {}: ", place.where, place.row(static_cast<std::size_t>(cell)));
}

/// " 'w'"; empty without a name.
std::string quoted(std::string_view column) {
  return column.empty() ? std::string() : fmt::format(" '{}'", internal::printable(std::string(column)));
}

}  // namespace

std::string RoleEntry::option() const {
  std::string text = fmt::format("--{}", name);
  std::ranges::replace(text, '_', '-');
  return text;
}

bool RoleEntry::valid(double cell) const { return cell >= least && cell <= most; }

std::span<const RoleEntry> roles() { return kEntries; }

const RoleEntry& entry_of(Role role) { return kEntries[static_cast<std::size_t>(role)]; }

std::span<const Conflict> conflicts() { return kConflicts; }

std::string name_of(Part part) {
  return part.index < kRoles ? kEntries[part.index].plural : kChoiceNames[part.index - kRoles].name;
}

Combination& Combination::add(Part part, bool given, std::string_view name) {
  if (!given) return *this;
  given_[part.index] = true;
  if (names_[part.index].empty()) names_[part.index] = name;
  return *this;
}

Combination& Combination::add(const Guarantee& guarantee) {
  return add(Choice::kGuarantee, !guarantee.is_marginal(), "guarantee " + guarantee.to_string());
}

Combination& Combination::add(const Combination& other) {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    given_[i] = given_[i] || other.given_[i];
    if (names_[i].empty()) names_[i] = other.names_[i];
  }
  return *this;
}

Combination& Combination::add(const RoleNames& names) {
  for (const RoleEntry& entry : roles()) add(entry.role, names.has(entry.role), names[entry.role]);
  return *this;
}

bool Combination::has(Part part) const { return given_[part.index]; }

/// "the time in 'day'", "clusters", "guarantee 0.95".
std::string Combination::text_of(Part part) const {
  const std::string& name = names_[part.index];
  if (part.index >= kRoles) return name.empty() ? name_of(part) : internal::printable(name);
  const RoleEntry& entry = kEntries[part.index];
  if (entry.kind == RoleKind::kTime) return fmt::format("the {}{}", entry.value, in_column(name));
  return fmt::format("{}s{}", entry.value, in_column(name));
}

std::string Combination::refusal() const {
  for (const Conflict& conflict : kConflicts) {
    if (!has(conflict.first) || !has(conflict.second)) continue;
    std::string sentence = conflict.sentence;
    replace_all(sentence, "{1}", text_of(conflict.first));
    replace_all(sentence, "{2}", text_of(conflict.second));
    return sentence;
  }
  for (const Requirement& requirement : kRequirements) {
    if (has(requirement.part) && !has(requirement.role)) return requirement.sentence;
  }
  return {};
}

void Combination::check(std::string_view where) const {
  if (const std::string sentence = refusal(); !sentence.empty()) refuse(where, sentence);
}

std::string need_of(Role role, std::string_view column) {
  std::string sentence = entry_of(role).needed;
  replace_all(sentence, "{}", in_column(column));
  return sentence;
}

void check_need(Role role, bool needed, bool given, std::string_view where, std::string_view column) {
  if (needed && !given) refuse(where, need_of(role, column));
}

std::string CellPlace::row(std::size_t cell) const {
  std::string text = fmt::format("row {}", first_row + cell + 1);
  if (cell < ids.size() && !ids[cell].empty()) text += ", id " + internal::printable(ids[cell]);
  return text;
}

void check_cells(Role role, std::span<const std::int64_t> cells, const CellPlace& place) {
  const auto missing = std::ranges::find_if(cells, is_reserved_group);
  if (missing == cells.end()) return;
  const RoleEntry& entry = entry_of(role);
  const std::string what = place.column.empty() ? fmt::format("the {}", entry.value)
                                                : fmt::format("'{}'", internal::printable(std::string(place.column)));
  throw internal::make_error(ErrorCode::kBadData, "{}{} is missing; {}", at_row(place, missing - cells.begin()), what,
                             entry.expected);
}

void check_cells(Role role, std::span<const double> cells, const CellPlace& place) {
  const RoleEntry& entry = entry_of(role);
  const auto bad = std::ranges::find_if_not(cells, [&](double cell) { return entry.valid(cell); });
  if (bad == cells.end()) return;
  throw internal::make_error(ErrorCode::kBadData, "{}the {}{} is {}; {}", at_row(place, bad - cells.begin()),
                             entry.value, quoted(place.column), std::isnan(*bad) ? "missing" : fmt::format("{}", *bad),
                             entry.expected);
}

}  // namespace widthwise
