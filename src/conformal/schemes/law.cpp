#include <widthwise/schemes.hpp>

namespace widthwise {

CalibrationRanks CalibrationRanks::of_level(const Level& level) {
  CalibrationRanks ranks = of_rows(level, kKnownQuantile);
  ranks.of_level_itself = true;
  return ranks;
}

CalibrationRanks CalibrationRanks::of_rows(const Level& level, std::uint64_t rows, const Guarantee& guarantee) {
  return {.groups = {{.group = 0, .rows = rows, .rank = guarantee.rank(level, rows)}},
          .min_rows = guarantee.min_rows(level)};
}

CalibrationRanks CalibrationRanks::of_folds(const Level& level, std::span<const std::uint64_t> rows_by_fold) {
  const Calibration none;
  return CalibrationScheme::of({.rows_by_fold = {rows_by_fold.begin(), rows_by_fold.end()}}, none)
      ->law(none, level, {});
}

CalibrationRanks CalibrationRanks::of(const Calibration& calibration, const Level& level,
                                      std::span<const std::int64_t> row_groups, const Guarantee& guarantee,
                                      std::uint64_t pool_below, const ClusterRule& clusters) {
  return CalibrationScheme::of({.guarantee = guarantee,
                                .pool_groups = pool_below,
                                .cluster_coverage = clusters.form,
                                .max_cluster_size = clusters.max_size},
                               calibration)
      ->law(calibration, level, row_groups);
}

}  // namespace widthwise
