#include "engines.hpp"

#include <widthwise/train/knn.hpp>
#include <widthwise/train/torch.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise::cli {

std::shared_ptr<const XgboostLibrary> load_xgboost(const EngineChoice& choice) {
  return XgboostLibrary::load(choice.xgboost);
}

std::vector<std::string> base_names() { return {"trees", "knn"}; }

std::vector<std::string> localizer_names() { return {"trees", "net", "paper-net"}; }

Engines make_engines(const EngineChoice& choice, bool with_localizer, const TrainingContext& context) {
  const bool trees = with_localizer && choice.localizer == "trees";
  std::shared_ptr<const XgboostLibrary> xgboost;
  if (choice.base == "trees" || trees) xgboost = load_xgboost(choice);

  Engines engines;
  if (choice.base == "trees") {
    TreeBaseOptions options;
    options.threads = choice.threads;
    options.seed = choice.seed;
    engines.base = make_tree_base_trainer(xgboost, options, context);
  } else if (choice.base == "knn") {
    KnnOptions options;
    options.seed = choice.seed;
    engines.base = make_knn_trainer(options);
  }
  if (trees) {
    TreeOptions options;
    options.threads = choice.threads;
    options.seed = choice.seed;
    engines.localizer = make_tree_trainer(xgboost, options, context);
  } else if (with_localizer) {
    NetOptions options = choice.localizer == "paper-net" ? NetOptions::paper() : NetOptions();
    options.threads = choice.threads;
    options.seed = choice.seed;
    engines.localizer = make_net_trainer(options);
  }
  return engines;
}

}  // namespace widthwise::cli
