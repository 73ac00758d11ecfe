#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <widthwise/train/options.hpp>

namespace widthwise {

/// Settings of a fully connected network with ReLU.
struct NetOptions {
  std::size_t layers = 5;         ///< hidden layers
  std::size_t width = 100;        ///< units per hidden layer, 1 to 65,536
  std::size_t batch_size = 1024;  ///< rows per step of the optimiser
  double learning_rate = 2e-3;    ///< step size of AdamW; with `cosine`, of the first step
  double weight_decay = 1;        ///< decoupled from the gradient
  double clip = 1;                ///< maximum norm of a gradient; infinity for none
  bool cosine = true;             ///< decrease the learning rate to 0 along a half cosine over max_epochs
  std::size_t max_epochs = 60;    ///< maximum; training stops early on the hold-out loss
  std::size_t patience = 20;      ///< epochs without a better hold-out loss before it stops
  std::size_t threads = 1;        ///< 0: automatic, by the rows of a batch; see training_threads
  std::uint64_t seed = 0;         ///< random seed of initial weights and batches

  /// The paper's network and training: 5 x 100, Adam at 1e-4, batches of 16, the number of epochs chosen on a
  /// validation part  [paper, Experiments].
  [[nodiscard]] static NetOptions paper();

  [[nodiscard]] static const OptionTable<NetOptions>& table();  ///< text form, range and help of every field
  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

}  // namespace widthwise
