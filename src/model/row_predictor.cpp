#include "model/row_predictor.hpp"

#include "model/folds.hpp"
#include "model/one_model.hpp"

namespace widthwise::internal {

bool has_base(const ModelParts& parts) {
  if (parts.folds.empty()) return parts.base != nullptr;
  return parts.folds.front() != nullptr && !parts.folds.front()->needs_predictions();
}

void check_functions(const ModelParts& parts) {
  if (parts.folds.empty()) {
    check_one_model(parts);
  } else {
    check_folds(parts);
  }
}

std::shared_ptr<const RowPredictor> make_row_predictor(const ModelParts& parts, const ClusterRule& clusters) {
  if (parts.folds.empty()) return std::make_shared<const OneModel>(parts, clusters);
  return std::make_shared<const FoldModels>(parts);
}

}  // namespace widthwise::internal
