#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/train/options.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// The base model of the paper  [paper, Experiments].
struct KnnOptions {
  std::vector<std::size_t> candidates = {2, 4, 8, 16, 32};  ///< values of k to try, by error on a hold-out
  double holdout_fraction = 0.2;                            ///< share of the rows to compare candidates on, in (0, 1)
  std::size_t max_rows = 1000;  ///< maximum number of stored rows, chosen at random; 0 for all
  std::uint64_t seed = 0;       ///< random seed of the stored rows and of the hold-out

  [[nodiscard]] static const OptionTable<KnnOptions>& table();  ///< text form, range and help of every field
  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

/// Train a Knn without another library. Throws kInvalidArgument for invalid options.
[[nodiscard]] std::unique_ptr<const BaseTrainer> make_knn_trainer(const KnnOptions& options = {});

}  // namespace widthwise
