#include <string>

#include <widthwise/train/registry.hpp>
#include <widthwise/train/torch.hpp>

namespace widthwise {

std::unique_ptr<const LocalizerTrainer> make_net_trainer(std::string_view name, const TrainerRequest& request) {
  return make_net_trainer(requested(request, name == "paper-net" ? NetOptions::paper() : NetOptions()));
}

void register_torch() {
  for (const char* name : {"net", "paper-net"}) {
    provide_localizer_trainer(name, [name](const TrainerRequest& request) { return make_net_trainer(name, request); });
  }
}

}  // namespace widthwise
