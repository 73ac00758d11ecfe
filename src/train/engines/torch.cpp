#include <widthwise/train/torch.hpp>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/row_function.hpp>

#include "train/engines/net/start.hpp"
#include "train/engines/net/training.hpp"
#include "train/engines/torch/outputs.hpp"

namespace widthwise {
namespace {

at::Tensor tensor_of(std::span<const float> numbers, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes, at::kFloat);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<float>());
  return tensor;
}

/// The layers of a net as tensors.
class Layers {
 public:
  explicit Layers(const DenseNetArrays& arrays) {
    for (const DenseLayer& layer : arrays.layers) {
      tensors_.push_back(tensor_of(layer.weights, {layer.outputs, layer.inputs}).set_requires_grad(true));
      tensors_.push_back(tensor_of(layer.biases, {layer.outputs}).set_requires_grad(true));
    }
  }

  /// Weights and biases, layer by layer.
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const { return tensors_; }

  /// Outputs of standardised rows.
  [[nodiscard]] at::Tensor forward(std::span<const float> rows) const {
    const std::int64_t inputs = tensors_[0].size(1);
    at::Tensor x = tensor_of(rows, {static_cast<std::int64_t>(rows.size()) / inputs, inputs});
    for (std::size_t i = 0; i < tensors_.size(); i += 2) {
      x = at::linear(x, tensors_[i], tensors_[i + 1]);
      if (i + 2 < tensors_.size()) x = at::relu_(x);
    }
    return x;
  }

  /// Outputs of standardised rows without a gradient.
  void evaluate(std::span<const float> rows, MutableMatrixView out) const {
    const at::NoGradGuard guard;
    copy(forward(rows), out);
  }

  static void copy(const at::Tensor& outputs, MutableMatrixView out) {
    const at::Tensor block = outputs.contiguous();
    const float* from = block.data_ptr<float>();
    for (std::size_t i = 0; i < out.rows(); ++i, from += out.columns()) {
      std::copy_n(from, out.columns(), out.row(i).begin());
    }
  }

  void write(DenseNetArrays& arrays) const {
    for (std::size_t l = 0; l < arrays.layers.size(); ++l) {
      const float* weights = tensors_[2 * l].data_ptr<float>();
      const float* biases = tensors_[2 * l + 1].data_ptr<float>();
      std::copy_n(weights, arrays.layers[l].weights.size(), arrays.layers[l].weights.begin());
      std::copy_n(biases, arrays.layers[l].biases.size(), arrays.layers[l].biases.begin());
    }
  }

 private:
  std::vector<at::Tensor> tensors_;
};

/// Adam with decoupled decay.
class Optimiser {
 public:
  Optimiser(std::vector<at::Tensor> tensors, const NetOptions& options)
      : tensors_(std::move(tensors)), options_(&options) {
    for (const at::Tensor& tensor : tensors_) {
      means_.push_back(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
      squares_.push_back(at::zeros_like(tensor, at::MemoryFormat::Contiguous));
      steps_.push_back(at::zeros({}, at::kFloat));
    }
  }

  /// Take one step with this share of the learning rate. Return false without a step if a gradient is not finite.
  bool step(std::vector<at::Tensor> gradients, double rate_share) {
    const at::NoGradGuard guard;
    double squares = 0;
    for (const at::Tensor& norm : at::_foreach_norm(gradients)) {
      squares += std::pow(static_cast<double>(*norm.data_ptr<float>()), 2);
    }
    const double norm = std::sqrt(squares);
    if (!std::isfinite(norm)) return false;
    if (norm > options_->clip) at::_foreach_mul_(gradients, at::Scalar(options_->clip / norm));
    for (const at::Tensor& count : steps_) *count.data_ptr<float>() += 1;
    at::_fused_adamw_(tensors_, gradients, means_, squares_, {}, steps_, options_->learning_rate * rate_share, 0.9,
                      0.999, options_->weight_decay, 1e-8, false, false);
    return true;
  }

 private:
  std::vector<at::Tensor> tensors_;
  const NetOptions* options_;
  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> squares_;
  std::vector<at::Tensor> steps_;
};

/// Convert exceptions of torch, such as out of memory, to Error.
template <class Work>
auto with_library_errors(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kMissingEngine, std::string("torch: ") + error.what_without_backtrace());
  }
}

/// Sets the number of threads of LibTorch while it exists.
class Threads {
 public:
  explicit Threads(std::size_t threads) : before_(at::get_num_threads()) {
    at::set_num_threads(static_cast<int>(threads));
  }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

class TorchEngine final : public internal::NetEngine {
 public:
  TorchEngine(const DenseNetArrays& initial, const NetOptions& options, std::size_t threads)
      : threads_(threads), layers_(initial), optimiser_(layers_.tensors(), options) {
    at::Context::setFlushDenormal(true);
  }

  void forward(std::span<const float> x, MutableMatrixView out) override {
    with_library_errors([&] {
      outputs_ = layers_.forward(x);
      Layers::copy(outputs_.detach(), out);
    });
  }

  bool step(MatrixView gradient, double rate_share) override {
    return with_library_errors([&] {
      at::Tensor d_outputs = at::empty(outputs_.sizes(), at::kFloat);
      float* to = d_outputs.data_ptr<float>();
      for (std::size_t i = 0; i < gradient.rows(); ++i) {
        to = std::ranges::transform(gradient.row(i), to, [](double d) { return static_cast<float>(d); }).out;
      }
      return optimiser_.step(torch::autograd::grad({outputs_}, layers_.tensors(), {d_outputs}), rate_share);
    });
  }

  void evaluate(std::span<const float> x, MutableMatrixView out) const override {
    with_library_errors([&] { layers_.evaluate(x, out); });
  }

  void write(DenseNetArrays& net) const override { layers_.write(net); }

 private:
  Threads threads_;
  Layers layers_;
  Optimiser optimiser_;
  at::Tensor outputs_;
};

}  // namespace

std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& options) {
  return internal::make_net_trainer(
      options, "torch " TORCH_VERSION, [](const DenseNetArrays& initial, const NetOptions& all, std::size_t threads) {
        return with_library_errors([&] { return std::make_unique<TorchEngine>(initial, all, threads); });
      });
}

namespace internal {

void evaluate_by_torch(const DenseNetArrays& net, MatrixView x, MutableMatrixView out) {
  Layers(net).evaluate(standardised_rows(net, x), out);
}

}  // namespace internal
}  // namespace widthwise
