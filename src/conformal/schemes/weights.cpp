#include <algorithm>
#include <utility>
#include <vector>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "conformal/schemes/wrapped.hpp"

namespace widthwise::internal {
namespace {

/// How many rows without weights estimate coverage at this level as well as the weighted rows of a group: the variance
/// of a weighted mean of coverage, which is larger than that of the effective sample size if rows of large weight have
/// large scores.
std::uint64_t comparable_rows(const Calibration& calibration, std::int64_t group, const Level& level) {
  std::vector<CalibrationRow> rows = calibration.rows(group);
  std::ranges::sort(rows, {}, &CalibrationRow::score);
  double total = 0;
  for (const CalibrationRow& row : rows) total += row.weight;
  double below = 0;
  double variance = 0;
  for (const CalibrationRow& row : rows) {
    const double inside = below < level.value() * total ? 1 : 0;
    below += row.weight;
    const double share = row.weight / total * (inside - level.value());
    variance += share * share;
  }
  const double rows_alike = level.value() * level.complement().value() / variance;
  return std::min(calibration.effective_rows(group), static_cast<std::uint64_t>(rows_alike));
}

/// A calibration row has the weight of its likelihood ratio, given or learnt, and so has the new row.
class Weights final : public WrappedScheme {
 public:
  Weights(SchemePointer inner, const Calibration& calibration) : WrappedScheme(std::move(inner), calibration) {}

  [[nodiscard]] bool reads(Role role, Step step) const override {
    return role == Role::kWeight ? is_given() : inner().reads(role, step);
  }

  [[nodiscard]] bool weighs_new_rows() const override { return true; }

  [[nodiscard]] std::string approximate_because() const override { return "calibration rows have weights"; }

  [[nodiscard]] Combination combination() const override {
    return inner().combination().add(Role::kWeight, !options().learns_weights);
  }

  void check_rows(const Calibration& calibration) const override {
    WrappedScheme::check_rows(calibration);
    if (options().learns_weights || is_given()) return;
    refuse_parts("the calibration has weights, but the model has none; fit with weights, or calibrate without");
  }

  [[nodiscard]] std::string refuses(const Calibration& /*calibration*/) const override { return {}; }

  [[nodiscard]] GuaranteeStatement guarantee(const Level& /*level*/) const override {
    if (options().learns_weights) {
      return {.kind = "approximate",
              .text = fmt::format("coverage of about the level{}, {}, as far as the learnt weights are the likelihood "
                                  "ratios of the population to predict to that of the calibration rows; an error of "
                                  "the learnt weights lowers it, so it is not guaranteed",
                                  scope(), kOnAverage),
              .is_marginal_for_rows = false};
    }
    return {.kind = "weighted",
            .text = fmt::format("coverage of at least the level{}, {}, if the weights are, up to one factor, the "
                                "likelihood ratios of the population to predict to that of the calibration rows, and "
                                "the outcome depends on the features in the same way in both",
                                scope(), kOnAverage),
            .is_marginal_for_rows = false};
  }

  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    if (!calibration.has_weights()) return inner().law(calibration, level, row_groups);
    const Guarantee& guarantee = options().guarantee;
    CalibrationRanks ranks{.row_groups = row_groups,
                           .min_rows = guarantee.min_rows(level),
                           .approximate_because = approximate_because(),
                           .infinite_because =
                               "the weights of these rows are too large compared with those of the "
                               "calibration rows"};
    for (const std::int64_t group : calibration.groups()) {
      // Intervals of rows with small weights are finite even if the effective sample size is below the minimum.
      const std::uint64_t rows = std::max(comparable_rows(calibration, group, level), ranks.min_rows);
      ranks.groups.push_back(
          {.group = group, .rows = rows, .rank = guarantee.rank(level, rows), .label = calibration.label(group)});
    }
    return ranks;
  }

  [[nodiscard]] bool spread_is_exact() const override { return false; }

  [[nodiscard]] std::string infinite_warning(const Calibration& calibration, const Level& level) const override {
    std::string text = inner().infinite_warning(calibration, level);
    const bool counts_rows = !text.empty() && calibration.keys() != RowKeys::kGroups;
    return counts_rows ? text + ", the effective sample size of its weighted rows" : text;
  }

  [[nodiscard]] std::string uncertainty(const Calibration& calibration, const Level& level) const override {
    constexpr std::uint64_t kFew = 10;  // times as many rows as the level needs
    if (calibration.rows_kept() == 0) return "";
    const std::uint64_t effective = calibration.effective_rows();
    if (effective >= kFew * options().guarantee.min_rows(level)) return "";
    return fmt::format(
        "the weights leave an effective sample size of {} of {} calibration rows, so coverage at level {} varies "
        "widely from calibration set to calibration set. Add rows of the population of the fitting rows, with their "
        "weights, or replace the calibration set by rows of the population to predict (population 'target'), which "
        "need no weights",
        effective, calibration.rows_kept(), level.to_string());
  }

  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    SchemeDescription description = inner().describe(calibration);
    if (!calibration.has_weights()) return description;
    description.weights = ", weighted (effective sample size " + count(calibration.effective_rows()) + ")";
    description.summary += description.weights;
    return description;
  }

 private:
  [[nodiscard]] bool is_given() const { return options().columns.has(Role::kWeight); }
};

}  // namespace

SchemePointer make_weights(SchemePointer inner, const Calibration& calibration) {
  return std::make_shared<const Weights>(std::move(inner), calibration);
}

}  // namespace widthwise::internal
