#include <widthwise/train/fit_options.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <widthwise/error.hpp>

#include "base/text.hpp"
#include "train/option_fields.hpp"

namespace widthwise {
namespace {

using internal::flag_field;
using internal::joined;
using internal::listed;
using internal::number_field;
using internal::NumberRange;
using internal::read_whole;
using internal::split;
using internal::text_of;
using Field = OptionTable<FitOptions>::Field;

constexpr const char* kAuto = "auto";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Field goal_field() {
  return {{.name = "goal",
           .form = "auto|balanced|even|narrow|0..1",
           .expected = "auto, balanced, even, narrow or a number from 0 to 1",
           .help = "what to optimise: `balanced`, the smallest interval score with nearly even coverage; `even` "
                   "coverage for all inputs; `narrow` mean width; or a number between 0 (narrow) and 1 (even); `auto` "
                   "is `balanced`, or `narrow` for a score transform that supports nothing else"},
          [](FitOptions& options, std::string_view text) {
            options.goal = text == kAuto ? std::nullopt : std::optional(Goal::parse(text));
            return true;
          },
          [](const FitOptions& options) { return options.goal ? options.goal->to_string() : kAuto; }};
}

Field transform_field() {
  std::vector<std::string> names = {kAuto};
  for (const std::string_view name : transform_names()) names.emplace_back(name);
  return {{.name = "score_transform",
           .form = joined(names, "|"),
           .expected = listed(names),
           .help = "score transform, whose parameters the localizer predicts; `auto` is `shortest`, or "
                   "`spline` if that is better on the hold-out, for the goals `balanced` and `even`, `affine` for "
                   "`narrow`, and `exp` for numbers"},
          [](FitOptions& options, std::string_view text) {
            if (text != kAuto) (void)make_transform(text);
            options.score_transform = text;
            return true;
          },
          [](const FitOptions& options) { return options.score_transform; }};
}

Field score_field() {
  return {{.name = "score",
           .form = "absolute|squared|log",
           .expected = "absolute, squared or log",
           .help = "conformity score of a residual r: |r|, r^2 or log r^2; `log` needs a score transform that accepts "
                   "negative scores"},
          [](FitOptions& options, std::string_view text) {
            options.score = score_of(text);
            return true;
          },
          [](const FitOptions& options) { return std::string(name_of(options.score)); }};
}

Field sides_field() {
  return {{.name = "two_sided",
           .form = "auto|true|false",
           .expected = "auto, true or false",
           .help = "learn the half-widths below and above the prediction separately; `auto` does so for the goals "
                   "`balanced` and `even`, and for `narrow` if that is better on the hold-out"},
          [](FitOptions& options, std::string_view text) {
            if (text != kAuto && text != "true" && text != "false") return false;
            options.sides = std::nullopt;
            if (text == "true") options.sides = Sides::kTwo;
            if (text == "false") options.sides = Sides::kOne;
            return true;
          },
          [](const FitOptions& options) {
            return std::string(!options.sides ? kAuto : *options.sides == Sides::kTwo ? "true" : "false");
          }};
}

Field window_field() {
  return {{.name = "level_window",
           .form = "auto|all|LO,HI",
           .expected = "auto, all, or two levels with the smaller one first, such as 0.8,0.95",
           .help = "confidence levels to train for; a third number is the weight of the levels outside; `auto` is a "
                   "window around the confidence levels for the goal `narrow` and the score transforms `spline` and "
                   "`shortest`, and all levels otherwise"},
          [](FitOptions& options, std::string_view text) {
            if (text == kAuto || text == "all") {
              options.level_window = text == kAuto ? std::nullopt : std::optional(LevelWindow::all());
              return true;
            }
            const auto parts = split(text);
            if (parts.size() != 2 && parts.size() != 3) return false;
            LevelWindow level_window{Level::parse(parts[0]), Level::parse(parts[1])};
            if (parts.size() == 3) {
              const auto outside = read_whole<double>(parts[2]);
              if (!outside || !(*outside >= 0 && *outside <= 1)) return false;
              level_window.outside = *outside;
            }
            if (level_window.lower > level_window.upper) return false;
            options.level_window = level_window;
            return true;
          },
          [](const FitOptions& options) {
            if (!options.level_window) return std::string(kAuto);
            const LevelWindow& level_window = *options.level_window;
            if (level_window.outside == 1) return std::string("all");
            std::vector<std::string> parts = {level_window.lower.to_string(), level_window.upper.to_string()};
            if (level_window.outside != 0) parts.push_back(text_of(level_window.outside));
            return joined(parts, ",");
          }};
}

/// The suggestion for the first level that looks like a percentage.
std::string first_suggestion(std::string_view levels) {
  for (const std::string_view part : split(levels)) {
    if (std::string text = Level::suggestion(part); !text.empty()) return text;
  }
  return "";
}

Field levels_field() {
  return {{.name = "confidence_level",
           .form = "L,...",
           .expected = "1 to " + std::to_string(kMaxLevels) + " numbers between 0 and 1, such as 0.9 or 0.8,0.95",
           .help = "default confidence levels of the intervals; the goal `narrow` trains for levels near them",
           .hint = first_suggestion},
          [](FitOptions& options, std::string_view text) {
            std::vector<Level> levels;
            for (const std::string_view part : split(text)) {
              const Level level = Level::parse(part);
              if (std::find(levels.begin(), levels.end(), level) == levels.end()) levels.push_back(level);
            }
            if (levels.size() > kMaxLevels) return false;
            options.levels = std::move(levels);
            return true;
          },
          [](const FitOptions& options) {
            std::vector<std::string> texts;
            for (const Level& level : options.levels) texts.push_back(level.to_string());
            return joined(texts, ",");
          }};
}

Field guarantee_field() {
  return {{.name = "guarantee",
           .form = "marginal|0..1",
           .expected = "marginal, or a confidence strictly between 0 and 1, such as 0.95",
           .help = "`marginal`: coverage of at least the level on average over calibration sets; a confidence such as "
                   "0.95: coverage of at least the level for that share of calibration sets",
           .in_key = false,
           .hint = Level::suggestion},
          [](FitOptions& options, std::string_view text) {
            options.guarantee = Guarantee::parse(text);
            return true;
          },
          [](const FitOptions& options) { return options.guarantee.to_string(); }};
}

Field pool_field() {
  return {
      {.name = "pool_groups",
       .form = "none|auto|ROWS",
       .expected = "none, auto or a whole number of rows of at least 1",
       .help = "calibrate groups with fewer calibration rows than this together, as one rest with marginal coverage; "
               "`auto` is the number of rows that the highest confidence level needs; `none` gives small groups "
               "infinite intervals"},
      [](FitOptions& options, std::string_view text) {
        options.pool_groups = text == kAuto ? std::nullopt : std::optional<std::uint64_t>(0);
        if (text == kAuto || text == "none") return true;
        options.pool_groups = read_whole<std::uint64_t>(text);
        return options.pool_groups && *options.pool_groups > 0;
      },
      [](const FitOptions& options) {
        if (!options.pool_groups) return std::string(kAuto);
        return *options.pool_groups == 0 ? "none" : std::to_string(*options.pool_groups);
      }};
}

Field cluster_field() {
  return {{.name = "cluster_coverage",
           .form = "rows|clusters",
           .expected = "rows or clusters",
           .help = "what counts once in the coverage of new clusters: `rows`, every row of them, for clusters of up to "
                   "`max_cluster_size` rows; or `clusters`, every cluster, whatever its size"},
          [](FitOptions& options, std::string_view text) {
            const std::optional<ClusterForm> form = cluster_form_of(text);
            if (form) options.cluster_coverage = *form;
            return form.has_value();
          },
          [](const FitOptions& options) { return std::string(name_of(options.cluster_coverage)); }};
}

Field cluster_size_field() {
  return {
      {.name = "max_cluster_size",
       .form = "auto|ROWS",
       .expected = "auto or a whole number of rows of at least 1",
       .help = "number of rows that a new cluster has at most, if rows count; `auto` is that of the largest cluster "
               "of the table and of later calibration rows"},
      [](FitOptions& options, std::string_view text) {
        options.max_cluster_size = std::nullopt;
        if (text == kAuto) return true;
        options.max_cluster_size = read_whole<std::uint64_t>(text);
        return options.max_cluster_size && *options.max_cluster_size > 0;
      },
      [](const FitOptions& options) {
        return options.max_cluster_size ? std::to_string(*options.max_cluster_size) : std::string(kAuto);
      }};
}

Field calibration_field() {
  return {{.name = "calibration_size",
           .form = "SHARE|ROWS",
           .expected = "a share of the rows below 1, or a number of rows",
           .help = "size of the calibration set: a share of the rows below 1, or a number of rows; 0 to calibrate "
                   "later"},
          [](FitOptions& options, std::string_view text) {
            const auto size = read_whole<double>(text);
            const bool valid = size && *size >= 0 && *size <= 0x1p53 && (*size < 1 || *size == std::floor(*size));
            if (valid) options.calibration_size = *size;
            return valid;
          },
          [](const FitOptions& options) { return text_of(options.calibration_size); }};
}

Field method_field() {
  return {
      {.name = "calibration",
       .form = "split|cross",
       .expected = "split or cross",
       .help = "`split` sets calibration rows aside; `cross` calibrates every row with the model of its fold (CV+), "
               "for a few hundred rows or fewer: narrower intervals, which cover at least about 1 - 2 alpha and "
               "usually about 1 - alpha of new outcomes"},
      [](FitOptions& options, std::string_view text) {
        options.calibration = text == "cross" ? CalibrationMethod::kCross : CalibrationMethod::kSplit;
        return text == "cross" || text == "split";
      },
      [](const FitOptions& options) {
        return std::string(options.calibration == CalibrationMethod::kCross ? "cross" : "split");
      }};
}

Field duplicates_field() {
  static const std::vector<std::pair<std::string, Duplicates>> kNames = {{kAuto, Duplicates::kAuto},
                                                                         {"cluster", Duplicates::kCluster},
                                                                         {"drop", Duplicates::kDrop},
                                                                         {"keep", Duplicates::kKeep}};
  return {
      {.name = "duplicates",
       .form = "auto|cluster|drop|keep",
       .expected = "auto, cluster, drop or keep",
       .help = "copies of rows in the table: `cluster` keeps all copies of a row on one side of every split, and "
               "the calibration counts each distinct row once; `drop` fits the first copy only; `keep` treats equal "
               "rows as separate observations; `auto` is `cluster` with a warning if rows repeat more than chance "
               "allows, else `keep`"},
      [](FitOptions& options, std::string_view text) {
        const auto found = std::ranges::find(kNames, text, &std::pair<std::string, Duplicates>::first);
        if (found != kNames.end()) options.duplicates = found->second;
        return found != kNames.end();
      },
      [](const FitOptions& options) {
        return std::ranges::find(kNames, options.duplicates, &std::pair<std::string, Duplicates>::second)->first;
      }};
}

Field folds_field() {
  return {{.name = "folds",
           .form = "auto|N|all",
           .expected = "auto, a whole number of at least 1, or all",
           .help = "folds for cross-fitting the base model; 1 fits it once, and its errors on further rows train the "
                   "localizer; `auto` is 5, 2 from 50,000 fitting rows and 1 from 500,000; with cross-calibration the "
                   "number of fold models, where `auto` is 5 and `all` one per row (jackknife+)"},
          [](FitOptions& options, std::string_view text) {
            options.folds = std::nullopt;
            if (text == kAuto) return true;
            options.folds = text == "all" ? kFoldPerRow : read_whole<std::uint64_t>(text).value_or(kFoldPerRow);
            return text == "all" || *options.folds != kFoldPerRow;
          },
          [](const FitOptions& options) {
            if (!options.folds) return std::string(kAuto);
            return *options.folds == kFoldPerRow ? std::string("all") : std::to_string(*options.folds);
          }};
}

Field range_field() {
  return {
      {.name = "outcome_range",
       .form = "none|LO,HI",
       .expected = "none, or two numbers with the smaller one first, such as 0,100; either may be left out",
       .help = "range that contains every outcome, such as 0,100 or 0, for at least 0; intervals are clipped to it"},
      [](FitOptions& options, std::string_view text) {
        const auto parts = split(text == "none" ? "," : text);
        if (parts.size() != 2) return false;
        OutcomeSpace space{.step = options.outcome_space.step};
        const auto read = [](std::string_view part, double& end) {
          const auto value = read_whole<double>(part);
          if (value) end = *value;
          return part.empty() || value;
        };
        if (!read(parts[0], space.low) || !read(parts[1], space.high) || !(space.low < space.high)) return false;
        options.outcome_space = space;
        return true;
      },
      [](const FitOptions& options) {
        const OutcomeSpace& space = options.outcome_space;
        const std::string first = space.low == -kInfinity ? "" : text_of(space.low);
        const std::string last = space.high == kInfinity ? "" : text_of(space.high);
        return first.empty() && last.empty() ? "none" : first + "," + last;
      }};
}

Field step_field() {
  return {{.name = "outcome_step",
           .form = "none|STEP",
           .expected = "none, or a positive number, such as 1 for whole numbers",
           .help = "number of which every outcome is a multiple, such as 1 for counts; bounds are rounded inward to "
                   "multiples, which makes intervals narrower by up to one step per side and keeps coverage"},
          [](FitOptions& options, std::string_view text) {
            const auto step = text == "none" ? std::optional(0.0) : read_whole<double>(text);
            const bool valid = step && (*step > 0 || text == "none") && std::isfinite(*step);
            if (valid) options.outcome_space.step = *step;
            return valid;
          },
          [](const FitOptions& options) {
            return options.outcome_space.has_step() ? text_of(options.outcome_space.step) : std::string("none");
          }};
}

}  // namespace

bool FitOptions::needs_localizer() const {
  return score_transform == kAuto || make_transform(score_transform)->parameter_count() > 0;
}

const OptionTable<FitOptions>& FitOptions::table() {
  static const OptionTable<FitOptions> kAll = [] {
    std::vector<Field> fields;
    internal::add_group(fields, "Data", {range_field(), step_field()});
    internal::add_group(fields, "Intervals",
                        {
                            goal_field(),
                            levels_field(),
                            guarantee_field(),
                            sides_field(),
                            transform_field(),
                            window_field(),
                            score_field(),
                            number_field("gamma", &FitOptions::gamma, NumberRange::positive(),
                                         "smallest scale of the score transform `erc`, in units of the typical error"),
                            number_field("epsilon", &FitOptions::epsilon, NumberRange::positive(),
                                         "weight of log A in the score transform `mixture`"),
                        });
    internal::add_group(
        fields, "Training",
        {
            method_field(),
            calibration_field(),
            pool_field(),
            cluster_field(),
            cluster_size_field(),
            number_field("holdout_fraction", &FitOptions::holdout_fraction, NumberRange::fraction(),
                         "share of the fitting rows held out for early stopping and the fit report"),
            folds_field(),
            duplicates_field(),
            internal::seed_field(&FitOptions::seed),
            flag_field("compare", &FitOptions::compare, "also train the opposite goal, for the fit report"),
            flag_field("may_be_exact", &FitOptions::may_be_exact,
                       "accept predictions that all equal their outcome, which otherwise suggest a model that saw the "
                       "outcomes"),
        });
    return OptionTable<FitOptions>(std::move(fields));
  }();
  return kAll;
}

Combination FitOptions::combination() const {
  return Combination()
      .add(guarantee)
      .add(Choice::kPooledGroups, pool_groups != 0)
      .add(Choice::kCrossCalibration, calibration == CalibrationMethod::kCross)
      .add(Choice::kClusterCoverage, cluster_coverage != FitOptions().cluster_coverage)
      .add(Choice::kEachClusterOnce, cluster_coverage == ClusterForm::kClusters)
      .add(Choice::kMaxClusterSize, max_cluster_size.has_value());
}

}  // namespace widthwise
