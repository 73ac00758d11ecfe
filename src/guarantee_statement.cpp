#include <widthwise/guarantee_statement.hpp>

#include <widthwise/cross_coverage.hpp>

#include "message.hpp"
#include "printable.hpp"
#include "text.hpp"

namespace widthwise {
namespace {

constexpr const char* kOnAverage = "on average over calibration sets and new rows";

GuaranteeStatement of_folds(const Model& model) {
  const Level& level = model.parts().levels.front();
  return {.kind = "cross-calibration",
          .text = fmt::format("coverage of at least 1 - 2 alpha - d, which is {} at level {}, on average over "
                              "training sets and new rows, if new rows are exchangeable with the fitting rows; "
                              "coverage is usually about the level",
                              internal::percent(cross_coverage(level, model.fold_rows())), level.to_string())};
}

GuaranteeStatement of_weights(const Model& model) {
  const std::string in_group = model.grouped() ? " in each group" : "";
  if (model.parts().shift != nullptr) {
    return {.kind = "approximate",
            .text = fmt::format("coverage of about the level{}, {}, as far as the learnt weights are the likelihood "
                                "ratios of the population to predict to that of the calibration rows; an error of the "
                                "learnt weights lowers it, so it is not guaranteed",
                                in_group, kOnAverage)};
  }
  return {.kind = "weighted",
          .text = fmt::format("coverage of at least the level{}, {}, if the weights are, up to one factor, the "
                              "likelihood ratios of the population to predict to that of the calibration rows, and the "
                              "outcome depends on the features in the same way in both",
                              in_group, kOnAverage)};
}

GuaranteeStatement of_clusters(const Model& model) {
  const std::string if_exchangeable =
      ", if new clusters are exchangeable with the calibration clusters, and rows within a cluster as well";
  if (!model.counts_cluster_rows()) {
    return {.kind = "marginal",
            .text =
                "coverage of at least the level, on average over calibration sets and new clusters, where each "
                "cluster counts once" +
                if_exchangeable};
  }
  const std::uint64_t bound = model.cluster_bound();
  const bool is_declared = bound > 0 && model.parts().max_cluster_size == bound;
  const std::string sizes = bound == 0 ? std::string()
                                       : fmt::format(", for clusters of at most {}{}", internal::count_of(bound, "row"),
                                                     is_declared ? "" : ", the largest known size");
  return {.kind = "marginal",
          .text =
              "coverage of at least the level, on average over calibration sets and rows of new clusters, where each "
              "row counts once" +
              sizes + if_exchangeable};
}

GuaranteeStatement of_groups(const Model& model) {
  const ModelParts& parts = model.parts();
  GuaranteeStatement statement;
  if (const auto& confidence = parts.guarantee.confidence()) {
    statement = {.kind = "training-conditional",
                 .text = fmt::format("coverage of at least the level in each group, for {} of calibration sets, if "
                                     "calibration rows and new rows of a group are independent draws of one "
                                     "distribution",
                                     internal::percent(confidence->value()))};
  } else {
    statement = {.kind = "group-conditional",
                 .text = fmt::format("coverage of at least the level in each group, {} of the group, if new rows of a "
                                     "group are exchangeable with its calibration rows",
                                     kOnAverage)};
  }
  if (parts.pool_groups > 0) {
    statement.text += fmt::format(
        "; groups with fewer than {} calibration rows are pooled, and their coverage holds on average over "
        "the rows of all pooled groups, if new rows have each of them as often as calibration rows",
        parts.pool_groups);
  }
  return statement;
}

GuaranteeStatement of_rows(const Model& model) {
  if (const auto& confidence = model.parts().guarantee.confidence()) {
    return {.kind = "training-conditional",
            .text = fmt::format("coverage of at least the level for {} of calibration sets, on average over new rows, "
                                "if calibration rows and new rows are independent draws of one distribution",
                                internal::percent(confidence->value()))};
  }
  return {.kind = "marginal",
          .text = fmt::format("coverage of at least the level, {}, if new rows are exchangeable with the calibration "
                              "rows",
                              kOnAverage)};
}

}  // namespace

std::string time_column(const Model& model) {
  const auto note = model.parts().notes.find("time");
  return note == model.parts().notes.end() ? "" : note->second;
}

GuaranteeStatement guarantee_statement(const Model& model) {
  GuaranteeStatement statement = model.cross_calibrated() ? of_folds(model)
                                 : model.weighted()       ? of_weights(model)
                                 : model.clustered()      ? of_clusters(model)
                                 : model.grouped()        ? of_groups(model)
                                                          : of_rows(model);
  if (const std::string time = time_column(model); !time.empty()) {
    statement.text += fmt::format(
        ". The rows are ordered by the time '{}', and later rows are rarely exchangeable with earlier ones: coverage "
        "of later rows is not guaranteed unless they are",
        internal::printable(time));
  }
  return statement;
}

}  // namespace widthwise
