#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <widthwise/guarantee.hpp>

namespace widthwise {

/// What a column says about a row, other than a feature, a prediction or an outcome. roles() describes each role; its
/// column is a field of Rows (rows.hpp).
enum class Role { kGroup, kCluster, kClusterSize, kWeight, kTime, kSampleWeight, kId };
inline constexpr std::size_t kRoles = 7;  ///< number of roles

/// What the cells of a column are.
enum class RoleKind {
  kLabel,   ///< text, integers or booleans
  kNumber,  ///< numbers
  kTime,    ///< numbers or dates, of which only the order counts
  kText,    ///< text or numbers, kept as they are written
};

/// A step that reads rows.
enum class Step { kFit, kCalibrate, kPredict, kEvaluate };

/// Some steps.
class Steps {
 public:
  /// {Step::kFit, Step::kPredict}
  constexpr Steps(std::initializer_list<Step> steps) {
    for (const Step step : steps) bits_ |= bit(step);
  }

  [[nodiscard]] constexpr bool has(Step step) const { return (bits_ & bit(step)) != 0; }  ///< whether it is one of them

 private:
  static constexpr unsigned bit(Step step) { return 1U << static_cast<unsigned>(step); }

  unsigned bits_ = 0;
};

/// One role. Its sentences and rules are in this table and nowhere else.
struct RoleEntry {
  Role role;             ///< which one
  const char* name;      ///< "sample_weight": in model files and, with dashes, as an option of the command line
  const char* plural;    ///< "sample_weights": as a keyword argument
  const char* value;     ///< "sample weight": one value, in messages
  RoleKind kind;         ///< of its cells
  Steps steps;           ///< that read it
  bool is_feature;       ///< whether the column is also a feature, unless it is excluded
  const char* missing;   ///< what a missing cell does
  const char* expected;  ///< the rule for a cell: "expected a positive number", "remove the rows without a label"
  double least;          ///< the smallest valid number
  double most;           ///< the largest valid number
  const char* needed;    ///< why rows need the column, and a remedy; {} is its name, such as " in 'store'"
  const char* help;      ///< help of the option

  [[nodiscard]] bool reads(Step step) const { return steps.has(step); }  ///< whether the step reads the column
  [[nodiscard]] std::string option() const;                              ///< "--sample-weight"
  [[nodiscard]] bool valid(double cell) const;  ///< whether a number is a valid cell; NaN is not
};

/// All roles, in the order of Role.
[[nodiscard]] std::span<const RoleEntry> roles();
[[nodiscard]] const RoleEntry& entry_of(Role role);  ///< the entry of a role

/// The names of columns by role; empty without a column.
class RoleNames {
 public:
  RoleNames() = default;
  /// {{Role::kGroup, "store"}}
  RoleNames(std::initializer_list<std::pair<Role, std::string>> names) {
    for (const auto& [role, name] : names) (*this)[role] = name;
  }

  /// The name of the column of this role.
  [[nodiscard]] std::string& operator[](Role role) { return names_[static_cast<std::size_t>(role)]; }
  /// The same.
  [[nodiscard]] const std::string& operator[](Role role) const { return names_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] bool has(Role role) const { return !(*this)[role].empty(); }  ///< whether there is a column

  bool operator==(const RoleNames&) const = default;  ///< whether all names are equal

 private:
  std::array<std::string, kRoles> names_;
};

/// What a fit, a model or a use of a model may have besides columns by role.
enum class Choice {
  kGuarantee,            ///< a training-conditional guarantee
  kPooledGroups,         ///< groups with few rows share a quantile
  kLearntWeights,        ///< likelihood ratios learnt from rows of the population to predict
  kCrossCalibration,     ///< CV+ or jackknife+
  kQuantilePredictions,  ///< predictions in two columns, of lower and upper quantiles
  kCvPredictions,        ///< cross-validated predictions
  kWorkers,              ///< several processes
  kStream,               ///< online calibration
  kOrderTest,            ///< the test of exchangeability of rows in time order
  kFold,                 ///< the model of one fold of a cross-calibrated model
  kOutcomeQuantiles,     ///< quantiles of the outcome
  kOneModel,             ///< what needs one model per row; its name is what
  kBins,                 ///< coverage by the values of a column
  kPictures,             ///< the pictures of an evaluation
  kConditional,          ///< the estimate of conditional coverage
  kClusterCoverage,      ///< a choice of what counts once
  kMaxClusterSize,       ///< a declared size of clusters
  kEachClusterOnce,      ///< each cluster counts once
  kUnweightedBase,       ///< a base model without sample weights; its name
  kEnd                   ///< number of choices
};

/// A role or a choice.
struct Part {
  /// Implicit, so that functions accept a role where they expect a part.
  constexpr Part(Role role) : index(static_cast<std::size_t>(role)) {}  // NOLINT
  /// Likewise for a choice.
  constexpr Part(Choice choice) : index(kRoles + static_cast<std::size_t>(choice)) {}  // NOLINT

  bool operator==(const Part&) const = default;  ///< whether both are the same

  std::size_t index;  ///< of the role, or after all roles
};

/// Two parts that cannot come together.
struct Conflict {
  Part first;   ///< {1} in the sentence
  Part second;  ///< {2} in it
  /// Why, and the remedy: "{1} and {2} cannot be combined; use one of them", where {1} and {2} are the parts.
  const char* sentence;
};

/// All conflicts. There is one sentence for each.
[[nodiscard]] std::span<const Conflict> conflicts();
/// "guarantee", "several workers": a part in tables of documents.
[[nodiscard]] std::string name_of(Part part);

/// What comes together in a fit, a model or a use of one.
class Combination {
 public:
  /// Add a part if `given`, with the name of its column, or of what it is. A name that is known stays.
  Combination& add(Part part, bool given = true, std::string_view name = {});

  /// Add a guarantee, unless it is the marginal one.
  Combination& add(const Guarantee& guarantee);

  /// Add the parts of another one.
  Combination& add(const Combination& other);

  /// Add the columns with these names.
  Combination& add(const RoleNames& names);

  [[nodiscard]] bool has(Part part) const;  ///< whether the part was added

  /// Why these parts cannot come together, the first of conflicts(); empty if they can.
  [[nodiscard]] std::string refusal() const;

  /// Throw kInvalidArgument with the refusal, after `where` and a colon unless it is empty.
  void check(std::string_view where) const;

 private:
  [[nodiscard]] std::string text_of(Part part) const;

  std::array<bool, kRoles + static_cast<std::size_t>(Choice::kEnd)> given_{};
  std::array<std::string, kRoles + static_cast<std::size_t>(Choice::kEnd)> names_;
};

/// Why rows need a column of this role, with the name of the column if known: "the model calibrates each group in
/// 'store' separately; pass a group for every row".
[[nodiscard]] std::string need_of(Role role, std::string_view column = {});

/// Throw kInvalidArgument with need_of, after `where` and a colon, if a column is `needed` but not `given`.
void check_need(Role role, bool needed, bool given, std::string_view where, std::string_view column = {});

/// Where the cells of a column are, for messages.
struct CellPlace {
  std::string_view where;                 ///< "fit", "new.csv"
  std::string_view column = {};           ///< its name; may be empty
  std::uint64_t first_row = 0;            ///< the row of the first cell, from 0
  std::span<const std::string> ids = {};  ///< of the rows of the cells (Rows::ids); or empty

  /// "row 17", or "row 17, id A-204": the row of a cell, in messages.
  [[nodiscard]] std::string row(std::size_t cell) const;
};

/// Throw kBadData for the first label that is missing, or the first number outside the rule of the role: "new.csv: row
/// 5: 'patient' is missing; remove the rows without a label, or give them one".
void check_cells(Role role, std::span<const std::int64_t> cells, const CellPlace& place);
void check_cells(Role role, std::span<const double> cells, const CellPlace& place);  ///< likewise
/// Texts have no rule.
inline void check_cells(Role /*role*/, std::span<const std::string> /*cells*/, const CellPlace& /*place*/) {}

}  // namespace widthwise
