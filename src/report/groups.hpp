#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <widthwise/level.hpp>
#include <widthwise/model.hpp>

#include "report/json.hpp"

/// Groups and clusters of a model in reports.
namespace widthwise::internal {

/// How many calibration rows the quantiles of a model have, each group or pooled rest on its own.
struct QuantileSizes {
  std::uint64_t quantiles = 0;         ///< with finite intervals at the level
  std::uint64_t min_rows = 0;          ///< of the smallest of them
  std::vector<std::string> too_small;  ///< labels of the groups with infinite intervals
  std::uint64_t pooled_groups = 0;
  std::uint64_t pooled_rows = 0;

  QuantileSizes(const Model& model, const Level& level);
};

/// "a, b, c and 12 more".
[[nodiscard]] std::string short_list(const std::vector<std::string>& labels);

/// "of which 3 groups with fewer than 9 rows are pooled, as a rest of 15 rows"; empty if none are pooled.
[[nodiscard]] std::string pooled_text(const Model& model);

/// The number of calibration rows of each group by label.
[[nodiscard]] Json groups_json(const Model& model);

/// ", in 16 groups", ", in 40 clusters of up to 12 rows"; empty without either.
[[nodiscard]] std::string parts_text(const Calibration& calibration);

/// The number of clusters; null without clusters.
[[nodiscard]] Json clusters_json(const Calibration& calibration);

/// The condition under which the coverage of a calibration with clusters has its range, such as ", if each cluster
/// counts as one row"; empty without clusters.
[[nodiscard]] std::string cluster_condition(const Model& model);

/// How a model counts clusters: form, sizes and effective number; null without clusters.
[[nodiscard]] Json cluster_rule_json(const Model& model);

}  // namespace widthwise::internal
