#include "engines.hpp"

#include <dlfcn.h>

#include <memory>
#include <string>
#include <string_view>

#include <widthwise/error.hpp>
#include <widthwise/train/registry.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise::cli {
namespace {

#ifdef WIDTHWISE_NET_LIBRARY
using MakeNetTrainer = void(std::string_view, const TrainerRequest&, std::unique_ptr<const LocalizerTrainer>&);

/// The function of net_engine.cpp. Its library stays loaded, because trainers and networks have their code there.
MakeNetTrainer* load_net_engine() {
  void* const library = dlopen(WIDTHWISE_NET_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, "widthwise_make_net_trainer");
  if (function == nullptr) {
    throw Error(ErrorCode::kMissingEngine,
                std::string("networks cannot be trained: ") + dlerror() +
                    "; install " WIDTHWISE_NET_LIBRARY
                    " with the program and LibTorch where it was built, or use the localizer trees");
  }
  return reinterpret_cast<MakeNetTrainer*>(function);
}

void register_nets() {
  for (const char* name : {"net", "paper-net"}) {
    provide_localizer_trainer(name, [name](const TrainerRequest& request) {
      std::unique_ptr<const LocalizerTrainer> trainer;
      load_net_engine()(name, request, trainer);
      return trainer;
    });
  }
}
#endif

}  // namespace

void register_engines() {
#ifdef WIDTHWISE_WITH_XGBOOST
  register_xgboost();
#endif
#ifdef WIDTHWISE_NET_LIBRARY
  register_nets();
#endif
}

}  // namespace widthwise::cli
