#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <widthwise/train/options.hpp>

namespace widthwise {

/// Settings of the trees of a localizer.
struct TreeOptions {
  double learning_rate = 0.1;     ///< shrinkage per tree, in (0, 1]
  std::size_t max_depth = 4;      ///< maximum number of splits from root to leaf, 1 to 30
  double min_child_weight = 10;   ///< minimum sum of Hessians in a leaf, about its number of rows
  double subsample = 0.7;         ///< share of rows per round
  double column_sample = 0.7;     ///< share of columns per tree
  double lambda = 5;              ///< L2 penalty on leaves
  std::size_t max_rounds = 2000;  ///< maximum; training stops early on the hold-out loss
  std::size_t patience = 20;      ///< rounds without a better hold-out loss before it stops
  double retrain_factor = 1.15;   ///< factor on the rounds found, for retrain
  std::size_t threads = 0;        ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;         ///< random seed of the samples of rows and columns

  [[nodiscard]] static const OptionTable<TreeOptions>& table();  ///< text form, range and help of every field
  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

/// Settings of a base model of trees.
struct TreeBaseOptions {
  double learning_rate = 0.05;  ///< shrinkage per tree, in (0, 1]
  std::size_t max_depth = 6;    ///< maximum number of splits from root to leaf, 1 to 30
  double min_child_weight = 5;  ///< minimum sum of Hessians in a leaf, about its number of rows
  double subsample = 0.8;       ///< share of rows per round
  double column_sample = 0.8;   ///< share of columns per tree
  double lambda = 1;            ///< L2 penalty on leaves
  std::size_t rounds = 400;     ///< maximum number of boosting rounds; fit chooses it out of fold
  double smoothing = 4;         ///< errors below about this many typical errors count by their squares
  double lower = 0.5;           ///< probability of the lower quantile; 0.5 with upper 0.5: the median alone
  double upper = 0.5;           ///< of the upper one
  std::size_t threads = 0;      ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;       ///< random seed of the samples of rows and columns

  /// A base model of two quantiles, with 90% of the outcomes in between.
  [[nodiscard]] static TreeBaseOptions quantiles() { return {.lower = 0.05, .upper = 0.95}; }

  [[nodiscard]] static const OptionTable<TreeBaseOptions>& table();  ///< text form, range and help of every field
  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

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
