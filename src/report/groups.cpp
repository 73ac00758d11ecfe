#include "report/groups.hpp"

#include <algorithm>

#include "layout.hpp"
#include "text.hpp"

namespace widthwise::internal {

QuantileSizes::QuantileSizes(const Model& model, const Level& level) {
  const Calibration& calibration = model.parts().calibration;
  const std::uint64_t needed = model.parts().guarantee.min_rows(level);
  const auto add = [&](std::uint64_t rows) {
    min_rows = quantiles == 0 ? rows : std::min(min_rows, rows);
    ++quantiles;
  };
  const bool weighted = calibration.weighted();  // looks at every group
  for (const std::int64_t group : calibration.groups()) {
    const bool pooled = model.quantile_group(group) == kRestGroup;
    const std::uint64_t rows = weighted ? calibration.effective_rows(group) : model.quantile_rows(group);
    if (pooled) {
      ++pooled_groups;
      pooled_rows = rows;
    } else if (rows >= needed) {
      add(rows);
    }
    if (rows < needed) too_small.push_back(calibration.label(group));
  }
  if (pooled_rows >= needed) add(pooled_rows);
  std::ranges::sort(too_small);
}

std::string short_list(const std::vector<std::string>& labels) {
  constexpr std::size_t kShown = 10;
  if (labels.size() <= kShown) return list(labels);
  std::vector<std::string> shown(labels.begin(), labels.begin() + kShown - 1);
  shown.push_back(count(labels.size() - shown.size()) + " more");
  return list(shown);
}

std::string pooled_text(const Model& model) {
  const QuantileSizes sizes(model, model.parts().levels.front());
  if (sizes.pooled_groups == 0) return "";
  return count_of(sizes.pooled_groups, "group") + " with fewer than " + count_of(model.parts().pool_groups, "row") +
         (sizes.pooled_groups == 1 ? " is" : " are") + " pooled, with a quantile of " +
         count_of(sizes.pooled_rows, "row");
}

Json groups_json(const Model& model) {
  const Calibration& calibration = model.parts().calibration;
  Json json = Json::array();
  for (const std::int64_t group : calibration.groups()) {
    json.push_back({{"label", calibration.label(group)},
                    {"rows", calibration.rows_in(group)},
                    {"pooled", model.quantile_group(group) == kRestGroup}});
  }
  return json;
}

std::string parts_text(const Calibration& calibration) {
  if (calibration.clustered()) {
    return ", in " + count_of(calibration.clusters(), "cluster") + " of up to " +
           count_of(calibration.largest_cluster(), "row");
  }
  return calibration.grouped() ? ", in " + count_of(calibration.groups().size(), "group") : "";
}

Json clusters_json(const Calibration& calibration) {
  return calibration.clustered() ? Json(calibration.clusters()) : Json(nullptr);
}

std::string cluster_condition(const Model& model) {
  if (!model.parts().calibration.clustered()) return "";
  return model.counts_cluster_rows()
             ? ", approximately, for clusters of at most " + count_of(model.cluster_bound(), "row")
             : ", if each cluster counts as one row";
}

Json cluster_rule_json(const Model& model) {
  if (!model.clustered()) return nullptr;
  const Calibration& calibration = model.parts().calibration;
  return {{"coverage", name_of(model.parts().cluster_coverage)},
          {"count", calibration.clusters()},
          {"rows", calibration.rows_seen()},
          {"largest", calibration.largest_cluster()},
          {"effective", calibration.effective_clusters()},
          {"max_size", model.cluster_bound()}};
}

}  // namespace widthwise::internal
