// Nets that C++ trains with the torch package of Python (python/widthwise/_net.py).

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/train/registry.hpp>
#include <widthwise/train/trainer_options.hpp>

#include "base/message.hpp"
#include "bindings.hpp"
#include "train/engines/net/training.hpp"

namespace widthwise::python {
namespace {

nb::object torch_module() { return nb::module_::import_("widthwise._net"); }

/// Weights and biases, layer by layer, as arrays of Python.
nb::list tensors_of(const DenseNetArrays& net) {
  nb::list tensors;
  for (const DenseLayer& layer : net.layers) {
    tensors.append(array_of(std::span(layer.weights), {layer.outputs, layer.inputs}));
    tensors.append(array_of(std::span(layer.biases), {layer.outputs}));
  }
  return tensors;
}

void copy_outputs(const nb::object& result, MutableMatrixView out) {
  const auto outputs = nb::cast<FloatMatrix>(result);
  if (outputs.shape(0) != out.rows() || outputs.shape(1) != out.columns()) {
    throw internal::make_error(ErrorCode::kShapeMismatch, "net: outputs of {} x {}; expected {} x {}", outputs.shape(0),
                               outputs.shape(1), out.rows(), out.columns());
  }
  for (std::size_t i = 0; i < out.rows(); ++i) {
    std::copy_n(outputs.data() + i * out.columns(), out.columns(), out.row(i).begin());
  }
}

/// Calls a NetEngine of widthwise._net. Training runs without Python's lock (GIL), which every call takes.
class PythonEngine final : public internal::NetEngine {
 public:
  PythonEngine(const DenseNetArrays& initial, const NetOptions& options, std::size_t threads)
      : inputs_(initial.centre.size()) {
    const nb::gil_scoped_acquire acquire;
    engine_ = torch_module().attr("NetEngine")(tensors_of(initial), options.learning_rate, options.weight_decay,
                                               options.clip, threads);
  }
  ~PythonEngine() override {
    const nb::gil_scoped_acquire acquire;
    try {
      engine_.attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("widthwise: end of the training of a net");
    }
    engine_.reset();
  }
  PythonEngine(const PythonEngine&) = delete;
  PythonEngine& operator=(const PythonEngine&) = delete;

  void forward(std::span<const float> x, MutableMatrixView out) override {
    const nb::gil_scoped_acquire acquire;
    copy_outputs(engine_.attr("forward")(rows_of(x)), out);
  }

  bool step(MatrixView gradient, double rate_share) override {
    const nb::gil_scoped_acquire acquire;
    const std::span numbers(gradient.row(0).data(), gradient.rows() * gradient.columns());
    return nb::cast<bool>(engine_.attr("step")(array_of(numbers, {gradient.rows(), gradient.columns()}), rate_share));
  }

  void evaluate(std::span<const float> x, MutableMatrixView out) const override {
    const nb::gil_scoped_acquire acquire;
    copy_outputs(engine_.attr("evaluate")(rows_of(x)), out);
  }

  void write(DenseNetArrays& net) const override {
    const nb::gil_scoped_acquire acquire;
    const auto tensors =
        nb::cast<std::vector<nb::ndarray<const float, nb::c_contig, nb::device::cpu>>>(engine_.attr("tensors")());
    for (std::size_t l = 0; l < net.layers.size(); ++l) {
      std::copy_n(tensors.at(2 * l).data(), net.layers[l].weights.size(), net.layers[l].weights.begin());
      std::copy_n(tensors.at(2 * l + 1).data(), net.layers[l].biases.size(), net.layers[l].biases.begin());
    }
  }

 private:
  [[nodiscard]] nb::object rows_of(std::span<const float> x) const {
    return array_of(x, {x.size() / inputs_, inputs_});
  }

  std::size_t inputs_;
  nb::object engine_;
};

/// Throws ImportError without torch, before anything is trained.
std::unique_ptr<const LocalizerTrainer> make_trainer(const NetOptions& options) {
  const nb::gil_scoped_acquire acquire;
  return internal::make_net_trainer(options, nb::cast<std::string>(torch_module().attr("version")()),
                                    [](const DenseNetArrays& initial, const NetOptions& all, std::size_t threads) {
                                      return std::make_unique<PythonEngine>(initial, all, threads);
                                    });
}

}  // namespace

void register_python_nets() {
  provide_localizer_trainer("net",
                            [](const TrainerRequest& request) { return make_trainer(requested<NetOptions>(request)); });
  provide_localizer_trainer(
      "paper-net", [](const TrainerRequest& request) { return make_trainer(requested(request, NetOptions::paper())); });
}

}  // namespace widthwise::python
