#include <numeric>
#include <utility>

#include <widthwise/cross_coverage.hpp>

#include "message.hpp"
#include "schemes/factories.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

/// CV+ and jackknife+: a bound for each calibration row, made with the model that was fitted without its fold;
/// intervals are selected from these bounds by rank.
class Folds final : public CalibrationScheme {
 public:
  Folds(SchemeOptions options, const Calibration& calibration) : CalibrationScheme(std::move(options), calibration) {}

  [[nodiscard]] bool takes_rows() const override { return false; }

  void check_roles(const GivenRoles& given, Step step) const override {
    CalibrationScheme::check_roles(given, step);
    if (given.groups) {
      refuse_parts("a cross-calibrated model has no groups; fit with split calibration (calibration 'split')");
    }
  }

  void check(const Calibration& /*calibration*/) const override {
    if (!options().group.empty() || options().pool_groups > 0) {
      refuse_parts("cross-calibration does not calibrate groups separately; use split calibration");
    }
    if (!options().cluster.empty()) refuse_parts("cross-calibration has no clusters; use split calibration");
    if (!options().weight.empty() || options().learns_weights) {
      refuse_parts("cross-calibration has no weights; use split calibration");
    }
    if (!options().guarantee.is_marginal()) {
      refuse_parts(
          fmt::format("cross-calibration has no guarantee {}; use the guarantee 'marginal', or fit with split "
                      "calibration",
                      options().guarantee.to_string()));
    }
  }

  [[nodiscard]] std::string refusal(SchemeUse use) const override {
    switch (use) {
      case SchemeUse::kStream:
        return "a cross-calibrated model cannot track a stream; fit with split calibration (calibration 'split')";
      case SchemeUse::kTimeOrder:
        return "the scores of a cross-calibrated model come from several models, so they are not exchangeable with "
               "those of new rows; fit with split calibration (calibration 'split')";
      case SchemeUse::kFold:
        return "is a cross-calibrated model; expected a model without folds";
      case SchemeUse::kQuantiles:
        return "a cross-calibrated model has no quantiles of the outcome, but an end of its interval is a one-sided "
               "bound of the same level; fit with split calibration (calibration 'split')";
    }
    return "";
  }

  [[nodiscard]] GuaranteeStatement guarantee(const Level& level) const override {
    return {.kind = "cross-calibration",
            .text = fmt::format("coverage of at least 1 - 2 alpha - d, which is {} at level {}, on average over "
                                "training sets and new rows, if new rows are exchangeable with the fitting rows; "
                                "coverage is usually about the level",
                                percent(cross_coverage(level, rows_by_fold())), level.to_string()),
            .is_marginal_for_rows = false};
  }

  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    CalibrationRanks ranks = CalibrationScheme::law(calibration, level, row_groups);
    ranks.bound =
        CoverageBound{.text = "Cross-calibration with " + count_of(rows(calibration), "row") + " in " +
                              count_of(rows_by_fold().size(), "fold") + " guarantees at least " +
                              percent(cross_coverage(level, rows_by_fold())) +
                              " on average over training sets, about 1 - 2 alpha, and usually gives about the level.",
                      .of_model = [level, folds = rows_by_fold()](double failure) {
                        return cross_coverage_of_model(level, folds, failure);
                      }};
    return ranks;
  }

  [[nodiscard]] std::uint64_t rows(const Calibration& /*calibration*/) const override {
    return std::accumulate(rows_by_fold().begin(), rows_by_fold().end(), std::uint64_t{0});
  }

  [[nodiscard]] std::uint64_t units(const Calibration& calibration) const override { return rows(calibration); }

  [[nodiscard]] std::optional<CoverageSpread> spread(const Calibration& /*calibration*/,
                                                     const Level& /*level*/) const override {
    return std::nullopt;
  }

  [[nodiscard]] std::optional<double> least_coverage(const Level& level) const override {
    return cross_coverage(level, rows_by_fold());
  }

  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    return {.summary = fmt::format("{}, each calibrates the model of its fold; {}", count_of(rows(calibration), "row"),
                                   count_of(rows_by_fold().size(), "fold"))};
  }
};

}  // namespace

SchemePointer make_folds(SchemeOptions options, const Calibration& calibration) {
  return std::make_shared<const Folds>(std::move(options), calibration);
}

}  // namespace widthwise::internal
