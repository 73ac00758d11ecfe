// The trainers of networks as a library that the program loads when it trains a network. A program that is linked to
// LibTorch takes half a second to start instead of 20 ms, for every command.
#include <memory>
#include <string_view>

#include <widthwise/train/torch.hpp>

extern "C" __attribute__((visibility("default"))) void widthwise_make_net_trainer(
    std::string_view name, const widthwise::TrainerRequest& request,
    std::unique_ptr<const widthwise::LocalizerTrainer>& trainer) {
  trainer = widthwise::make_net_trainer(name, request);
}
