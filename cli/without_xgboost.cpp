// Stands in for widthwise::xgboost where it is not built: the program says what is missing.

#include <widthwise/error.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kMissingEngine,
              "this build has no XGBoost; configure with -DWIDTHWISE_XGBOOST=ON or use --base knn --localizer net");
}

}  // namespace

struct XgboostLibrary::Functions {};

XgboostLibrary::XgboostLibrary() = default;
XgboostLibrary::~XgboostLibrary() = default;

std::shared_ptr<const XgboostLibrary> XgboostLibrary::load(const std::filesystem::path& /*path*/) { refuse(); }

const std::string& XgboostLibrary::version() const { refuse(); }
const std::filesystem::path& XgboostLibrary::path() const { refuse(); }

std::unique_ptr<const LocalizerTrainer> make_tree_trainer(std::shared_ptr<const XgboostLibrary> /*library*/,
                                                          const TreeOptions& /*options*/,
                                                          const TrainingContext& /*context*/) {
  refuse();
}

std::unique_ptr<const BaseTrainer> make_tree_base_trainer(std::shared_ptr<const XgboostLibrary> /*library*/,
                                                          const TreeBaseOptions& /*options*/,
                                                          const TrainingContext& /*context*/) {
  refuse();
}

std::unique_ptr<const Communicator> join_workers(std::shared_ptr<const XgboostLibrary> /*library*/,
                                                 const CommunicatorOptions& /*options*/) {
  refuse();
}

}  // namespace widthwise
