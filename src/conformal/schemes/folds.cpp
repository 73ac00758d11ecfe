#include <numeric>
#include <utility>

#include <widthwise/guarantee.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "conformal/schemes/factories.hpp"

namespace widthwise::internal {
namespace {

/// CV+ and jackknife+: a bound for each calibration row, made with the model that was fitted without its fold;
/// intervals are selected from these bounds by rank.
class Folds final : public CalibrationScheme {
 public:
  Folds(SchemeOptions options, const Calibration& calibration) : CalibrationScheme(std::move(options), calibration) {}

  [[nodiscard]] bool takes_rows() const override { return false; }

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
