#include <widthwise/train/registry.hpp>
#include <widthwise/train/torch.hpp>

namespace widthwise {

void register_torch() {
  provide_localizer_trainer(
      "net", [](const TrainerRequest& request) { return make_net_trainer(requested<NetOptions>(request)); });
  provide_localizer_trainer("paper-net", [](const TrainerRequest& request) {
    return make_net_trainer(requested(request, NetOptions::paper()));
  });
}

}  // namespace widthwise
