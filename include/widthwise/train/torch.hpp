#pragma once

#include <memory>
#include <string_view>

#include <widthwise/train/registry.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/train/trainer_options.hpp>

namespace widthwise {

/// Train networks with any objective of this library.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& options = {});

/// The trainer `net` or `paper-net` of a request.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_net_trainer(std::string_view name,
                                                                       const TrainerRequest& request);

/// Register the trainers `net` and `paper-net` (train/registry.hpp).
void register_torch();

}  // namespace widthwise
