#include <widthwise/train/torch.hpp>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include <widthwise/dense_net.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/threads.hpp>

#include "message.hpp"
#include "train/engines/threads/waiting.hpp"
#include "train/engines/torch/outputs.hpp"
#include "train/engines/torch/start.hpp"

namespace widthwise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Maximum number of consecutive steps skipped because of non-finite values before training fails.
constexpr std::size_t kMaxBadSteps = 50;

/// Number of rows evaluated at once without a gradient.
constexpr std::int64_t kEvaluatedAtOnce = 8192;

constexpr std::chrono::milliseconds kBetweenReports{250};

/// Sets the number of threads and flushing of denormals for training, and restores them at the end.
class TrainingEnvironment {
 public:
  explicit TrainingEnvironment(std::size_t threads) : threads_(at::get_num_threads()), waiting_(threads) {
    std::fegetenv(&floating_point_);
    at::set_num_threads(static_cast<int>(threads));
    // Dead units leave denormal moments, which are slow.
    at::Context::setFlushDenormal(true);
  }
  ~TrainingEnvironment() {
    at::set_num_threads(threads_);
    std::fesetenv(&floating_point_);
  }
  TrainingEnvironment(const TrainingEnvironment&) = delete;
  TrainingEnvironment& operator=(const TrainingEnvironment&) = delete;

 private:
  int threads_;
  internal::PassiveWaiting waiting_;
  std::fenv_t floating_point_{};
};

at::Tensor tensor_of(std::span<const float> numbers, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes, at::kFloat);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<float>());
  return tensor;
}

at::Tensor inputs_of(const DenseNetArrays& arrays, MatrixView x) {
  return tensor_of(internal::standardised_rows(arrays, x),
                   {static_cast<std::int64_t>(x.rows()), static_cast<std::int64_t>(x.columns())});
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

  [[nodiscard]] at::Tensor forward(at::Tensor x) const {
    for (std::size_t i = 0; i < tensors_.size(); i += 2) {
      x = at::linear(x, tensors_[i], tensors_[i + 1]);
      if (i + 2 < tensors_.size()) x = at::relu_(x);
    }
    return x;
  }

  /// Outputs of all rows, as doubles, without a gradient.
  void evaluate(const at::Tensor& x, MutableMatrixView out, const std::function<void()>& between) const {
    const at::NoGradGuard guard;
    for (std::int64_t first = 0; first < x.size(0); first += kEvaluatedAtOnce) {
      const std::int64_t count = std::min(kEvaluatedAtOnce, x.size(0) - first);
      const at::Tensor block = forward(x.narrow(0, first, count)).contiguous();
      const float* from = block.data_ptr<float>();
      for (std::int64_t i = 0; i < count; ++i, from += out.columns()) {
        std::copy_n(from, out.columns(), out.row(static_cast<std::size_t>(first + i)).begin());
      }
      between();
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

/// A batch of copied rows, and the objective over them.
struct Batch {
  const Objective* objective = nullptr;
  std::vector<double> residuals;
  std::vector<double> weights;
  Workspace workspace;

  double evaluate(MatrixView parameters, MutableMatrixView gradient) {
    return objective->evaluate({residuals, weights}, parameters, gradient, {}, workspace, SingleWorker());
  }
};

/// A core objective in torch's graph: the loss forward, its exact gradient backward.
class ObjectiveFunction : public torch::autograd::Function<ObjectiveFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& outputs, Batch* batch) {
    const at::Tensor parameters = outputs.to(at::kDouble).contiguous();
    at::Tensor gradient = at::empty(parameters.sizes(), at::kDouble);
    const auto n = static_cast<std::size_t>(parameters.size(0));
    const auto columns = static_cast<std::size_t>(parameters.size(1));
    const double loss =
        batch->evaluate({parameters.data_ptr<double>(), n, columns}, {gradient.data_ptr<double>(), n, columns});
    context->save_for_backward({gradient.to(at::kFloat)});
    return at::scalar_tensor(loss, at::kDouble);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& d_loss) {
    return {context->get_saved_variables()[0].mul(d_loss[0].to(at::kFloat)), at::Tensor()};
  }
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
  bool step(const at::Tensor& loss, double rate_share) {
    std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, tensors_);
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

/// Calls the progress callback at intervals.
class Reporter {
 public:
  Reporter(const ProgressCallback& callback, std::string_view stage, std::size_t total)
      : callback_(&callback), progress_{stage, 0, total, kNaN} {
    report_now();
  }

  void epoch_done(double loss) {
    ++progress_.done;
    progress_.loss = loss;
    report_now();
  }

  void maybe_report() {
    if (std::chrono::steady_clock::now() - last_ >= kBetweenReports) report_now();
  }

 private:
  void report_now() {
    report(*callback_, progress_);
    last_ = std::chrono::steady_clock::now();
  }

  const ProgressCallback* callback_;
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
};

/// A net during training.
class Training {
 public:
  Training(const TrainingRows& rows, const Objective& objective, const NetOptions& options, Reporter& reporter)
      : options_(options),
        reporter_(reporter),
        random_(options.seed),
        arrays_(internal::initial_net(rows, objective, options, random_)),
        layers_(arrays_),
        optimiser_(layers_.tensors(), options),
        x_(inputs_of(arrays_, rows.x)),
        residuals_(rows.residuals),
        order_(internal::counting_rows(rows.residuals)),
        batches_(internal::batch_count(order_.size(), options)) {
    batch_.objective = &objective;
  }

  /// Train one epoch; the learning rate is that after `epochs_done` of `epochs`.
  void epoch(std::size_t epochs_done, std::size_t epochs) {
    random_.shuffle(std::span(order_));
    for (std::size_t i = 0; i < batches_; ++i) {
      const std::size_t first = i * order_.size() / batches_;
      const std::size_t last = (i + 1) * order_.size() / batches_;
      const double done = static_cast<double>(epochs_done) + static_cast<double>(i) / static_cast<double>(batches_);
      step(std::span(order_).subspan(first, last - first),
           internal::rate_share(done / static_cast<double>(epochs), options_));
      reporter_.maybe_report();
    }
  }

  /// The objective over other rows; NaN if it is not finite.
  class Holdout {
   public:
    Holdout(const Training& training, const TrainingRows& holdout)
        : x_(inputs_of(training.arrays_, holdout.x)),
          rows_(holdout.residuals),
          objective_(training.batch_.objective),
          outputs_(holdout.x.rows() * objective_->parameter_count()) {}

    double loss(const Training& training) {
      const MutableMatrixView outputs(outputs_.data(), rows_.residuals.size(), objective_->parameter_count());
      training.layers_.evaluate(x_, outputs, [&] { training.reporter_.maybe_report(); });
      try {
        return objective_->evaluate(rows_, outputs, {}, {}, workspace_, SingleWorker());
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotFinite) throw;
        return kNaN;
      }
    }

   private:
    at::Tensor x_;
    ResidualRows rows_;
    const Objective* objective_;
    std::vector<double> outputs_;
    Workspace workspace_;
  };

  [[nodiscard]] DenseNetArrays arrays() const {
    DenseNetArrays arrays = arrays_;
    layers_.write(arrays);
    return arrays;
  }

 private:
  void step(std::span<const std::size_t> rows, double rate_share) {
    at::Tensor x = at::empty({static_cast<std::int64_t>(rows.size()), x_.size(1)}, at::kFloat);
    const auto columns = static_cast<std::size_t>(x_.size(1));
    const float* from = x_.data_ptr<float>();
    float* to = x.data_ptr<float>();
    batch_.residuals.clear();
    batch_.weights.clear();
    for (const std::size_t row : rows) {
      to = std::copy_n(from + row * columns, columns, to);
      batch_.residuals.push_back(residuals_.residuals[row]);
      if (!residuals_.weights.empty()) batch_.weights.push_back(residuals_.weights[row]);
    }
    try {
      const at::Tensor loss = ObjectiveFunction::apply(layers_.forward(x), &batch_);
      const double value = loss.item<double>();
      // All residuals of the batch are 0, so all parameters are equally good.
      if (value == -kInfinity) return;
      if (std::isfinite(value) && optimiser_.step(loss, rate_share)) {
        bad_steps_ = 0;
        return;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFinite) throw;
    }
    if (++bad_steps_ < kMaxBadSteps) return;
    throw internal::make_error(ErrorCode::kNotFinite,
                               "net trainer: the loss or gradient was not finite in {} consecutive batches; use a "
                               "smaller learning_rate or clip, or rescale the residuals to about 1",
                               bad_steps_);
  }

  const NetOptions& options_;
  Reporter& reporter_;
  Random random_;
  DenseNetArrays arrays_;
  Layers layers_;
  Optimiser optimiser_;
  at::Tensor x_;
  ResidualRows residuals_;
  std::vector<std::size_t> order_;
  std::size_t batches_;
  Batch batch_;
  std::size_t bad_steps_ = 0;
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

class NetTrainer final : public LocalizerTrainer {
 public:
  explicit NetTrainer(const NetOptions& options) : options_(options) { NetOptions::table().check(options_); }

  [[nodiscard]] std::string_view name() const override { return "net"; }
  [[nodiscard]] std::string engine() const override { return "torch " TORCH_VERSION; }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& progress) const override {
    internal::check_rows(rows, "training rows");
    internal::check_rows(holdout, "hold-out");
    if (holdout.x.columns() != rows.x.columns()) {
      throw internal::make_error(ErrorCode::kShapeMismatch,
                                 "net trainer: training rows have {} columns but the hold-out has {}", rows.x.columns(),
                                 holdout.x.columns());
    }
    return with_library_errors([&] {
      const TrainingEnvironment environment(threads_for(rows));
      Reporter reporter(progress, "training the net", options_.max_epochs);
      Training training(rows, objective, options_, reporter);
      Training::Holdout held_out(training, holdout);
      // The untrained net is a valid result, and the best if widths do not depend on x.
      DenseNetArrays best = training.arrays();
      double minimum = held_out.loss(training);
      std::size_t iterations = 0;
      for (std::size_t done = 0; done < options_.max_epochs && done < iterations + options_.patience; ++done) {
        training.epoch(done, options_.max_epochs);
        const double loss = held_out.loss(training);
        if (loss < minimum || (std::isnan(minimum) && !std::isnan(loss))) {
          best = training.arrays();
          minimum = loss;
          iterations = done + 1;
        }
        reporter.epoch_done(loss);
      }
      return Trained{std::make_shared<const DenseNet>(std::move(best)), iterations, minimum};
    });
  }

  // The learning rate follows the schedule of train, so that the net stops at the same stage; more rows mean more steps
  // per epoch.
  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                const ProgressCallback& progress) const override {
    internal::check_rows(rows, "training rows");
    return with_library_errors([&] {
      const TrainingEnvironment environment(threads_for(rows));
      Reporter reporter(progress, "training the net on all rows", iterations);
      Training training(rows, objective, options_, reporter);
      for (std::size_t done = 0; done < iterations; ++done) {
        training.epoch(done, options_.max_epochs);
        reporter.epoch_done(kNaN);
      }
      return Trained{std::make_shared<const DenseNet>(training.arrays()), iterations, kNaN};
    });
  }

 private:
  /// Threads divide the rows of a batch in each layer.
  [[nodiscard]] std::size_t threads_for(const TrainingRows& rows) const {
    const std::size_t n = rows.x.rows();
    return training_threads(options_.threads, n / internal::batch_count(n, options_), options_.width);
  }

  NetOptions options_;
};

}  // namespace

std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& options) {
  return std::make_unique<const NetTrainer>(options);
}

namespace internal {

void evaluate_by_torch(const DenseNetArrays& net, MatrixView x, MutableMatrixView out) {
  Layers(net).evaluate(inputs_of(net, x), out, [] {});
}

}  // namespace internal
}  // namespace widthwise
