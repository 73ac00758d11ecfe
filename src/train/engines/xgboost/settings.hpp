#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <widthwise/random.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/threads.hpp>

#include "base/text.hpp"
#include "train/engines/threads/waiting.hpp"
#include "train/engines/xgboost/bins.hpp"
#include "train/engines/xgboost/booster.hpp"

/// What trainings of localizers and of base models have in common.
namespace widthwise::internal {

/// The threads of one training.
class TrainingThreads {
 public:
  TrainingThreads(std::size_t requested, MatrixView x)
      : count_(training_threads(requested, x.rows(), x.columns())), waiting_(count_) {}

  [[nodiscard]] std::size_t count() const { return count_; }

  /// Add the threads to the parameters of a booster.
  [[nodiscard]] Parameters added_to(Parameters parameters) const {
    parameters.emplace_back("nthread", std::to_string(count_));
    return parameters;
  }

 private:
  std::size_t count_;
  PassiveWaiting waiting_;
};

/// A derivative as XGBoost gets it: a multiple of 2^-20, so that sums of them in double precision are exact. Their
/// order depends on the version of XGBoost and on the number of threads.
[[nodiscard]] inline float rounded_derivative(double derivative) {
  constexpr double kLastBit = 0x1.8p32;  // whose last bit is 2^-20: adding it rounds
  return static_cast<float>((derivative + kLastBit) - kLastBit);
}

/// The random choices of one training. XGBoost's differ between its versions and depend on earlier trainings of the
/// process; these depend on the seed and the number of the round alone.
class Sampling {
 public:
  template <class Options>
  explicit Sampling(const Options& options)
      : rows_(options.subsample), columns_(options.column_sample), seed_(options.seed) {}

  [[nodiscard]] double row_share() const { return rows_; }

  /// The number of columns of a round.
  [[nodiscard]] std::size_t count(std::size_t all) const {
    return std::max(std::size_t{1}, static_cast<std::size_t>(columns_ * static_cast<double>(all)));
  }

  /// The generator for a chunk of the rows of one worker in one round.
  [[nodiscard]] Random of_rows(std::size_t round, std::size_t rank, std::size_t chunk = 0) const {
    return random(round, 1 + rank + (static_cast<std::uint64_t>(chunk) << 32U));
  }

  /// A direction in the space of the outputs: all together in even rounds, with random signs in odd ones.
  [[nodiscard]] std::vector<double> signs(std::size_t round, std::size_t outputs) const {
    std::vector<double> signs(outputs, 1.0);
    if (round % 2 == 0) return signs;
    Random draws = random(round, kSigns);
    for (double& sign : signs) sign = draws.uniform() < 0.5 ? -1 : 1;
    return signs;
  }

  /// The weights of the columns of a round, for XGBoost's own sampling; none if it uses all. It draws columns by their
  /// weights, those with a weight of 0 only if the others are too few.
  [[nodiscard]] std::vector<float> column_weights(std::size_t round, std::size_t all) const {
    constexpr float kChosen = 1e9F;  // XGBoost replaces a weight of 0 by about 1e-6
    if (count(all) == all) return {};
    std::vector<std::size_t> order(all);
    std::iota(order.begin(), order.end(), std::size_t{0});
    random(round, 0).shuffle(std::span(order));
    std::vector<float> weights(all, 0.0F);
    for (std::size_t i = 0; i < count(all); ++i) weights[order[i]] = kChosen;
    return weights;
  }

  /// Add the number of columns of a tree to the parameters of a booster.
  void add_to(Parameters& parameters, std::size_t all) const {
    if (count(all) == all) return;
    const double share = (static_cast<double>(count(all)) + 0.5) / static_cast<double>(all);  // XGBoost rounds down
    parameters.emplace_back("colsample_bytree", text_of(share));
  }

 private:
  [[nodiscard]] Random random(std::size_t round, std::uint64_t purpose) const {
    return Random(mix_bits(mix_bits(seed_) + round) + purpose);
  }

  static constexpr std::uint64_t kSigns = std::uint64_t{1} << 63U;  // beyond the numbers of chunks of rows

  double rows_;     // share of the rows of a round
  double columns_;  // share of its columns
  std::uint64_t seed_;
};

template <class Options>
Parameters parameters_of(const Options& options) {
  Options::table().check(options);
  return {{"tree_method", "hist"},
          {"max_bin", std::to_string(Bins::kMost)},
          {"base_score", "0"},
          {"max_depth", std::to_string(options.max_depth)},
          {"min_child_weight", text_of(options.min_child_weight)},
          {"lambda", text_of(options.lambda)},
          {"verbosity", "0"},
          {"disable_default_eval_metric", "1"}};
}

/// Run a round with the other workers, if there are any.
template <class Round>
void collectively(const TrainingContext& context, const Round& round) {
  if (context.communicator != nullptr) {
    context.communicator->collectively(round);
  } else {
    round();
  }
}

}  // namespace widthwise::internal
