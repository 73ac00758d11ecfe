#include <widthwise/train/registry.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise {

void register_xgboost() {
  provide_base_trainer("trees", [](const TrainerRequest& request) {
    return make_tree_base_trainer(XgboostLibrary::load(request.library), requested<TreeBaseOptions>(request),
                                  request.context);
  });
  provide_base_trainer("quantiles", [](const TrainerRequest& request) {
    return make_tree_base_trainer(XgboostLibrary::load(request.library),
                                  requested(request, TreeBaseOptions::quantiles()), request.context);
  });
  provide_localizer_trainer("trees", [](const TrainerRequest& request) {
    return make_tree_trainer(XgboostLibrary::load(request.library), requested<TreeOptions>(request), request.context);
  });
  provide_worker_engine(
      {.version =
           [](const std::filesystem::path& library) { return "xgboost " + XgboostLibrary::load(library)->version(); },
       .join =
           [](const std::filesystem::path& library, const CommunicatorOptions& options) {
             return join_workers(XgboostLibrary::load(library), options);
           }});
}

}  // namespace widthwise
