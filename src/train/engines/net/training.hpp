#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <widthwise/interface.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/train/trainer_options.hpp>

/// The training procedure of nets, shared by all engines: batches, learning rate, early stopping, training on all rows.
namespace widthwise::internal {

/// A net during training. An engine differentiates its layers and updates them with AdamW.
/// Thread safety: none.
class NetEngine : public Interface {
 public:
  /// Compute the outputs (n x outputs) of n standardised rows x, for the next `step`, until which x stays valid.
  virtual void forward(std::span<const float> x, MutableMatrixView out) = 0;

  /// Take one step with this share of the learning rate, from the gradient of the loss (n x outputs) with respect to
  /// the outputs of `forward`. Return false without a step if the gradient of a weight is not finite.
  [[nodiscard]] virtual bool step(MatrixView gradient, double rate_share) = 0;

  /// Compute the outputs (n x outputs) of n standardised rows x.
  virtual void evaluate(std::span<const float> x, MutableMatrixView out) const = 0;

  /// Copy weights and biases to a net of the same shape.
  virtual void write(DenseNetArrays& net) const = 0;
};

/// Makes the engine of one training, which computes with this number of threads.
using NetEngineMaker = std::function<std::unique_ptr<NetEngine>(const DenseNetArrays& initial,
                                                                const NetOptions& options, std::size_t threads)>;

/// Return a trainer that runs the procedure on engines; `version` is their name and version, as in "torch 2.9".
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& options, std::string version,
                                                                       NetEngineMaker make_engine);

}  // namespace widthwise::internal
