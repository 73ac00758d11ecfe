/// The kernels whose instructions are counted: `widthwise_kernels NAME` runs one of them once, between the begin and
/// the end of run_kernel, where count.py lets Callgrind count. Without a name, it prints the names.
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/widthwise.hpp>

#include "support/model_examples.hpp"

using namespace widthwise;  // NOLINT(google-build-using-namespace): a program, not a header

/// Found by its name, so it is neither inlined nor renamed.
extern "C" [[gnu::noinline]] void run_kernel(const std::function<void()>& kernel) { kernel(); }

namespace {

constexpr std::size_t kRows = 20'000;
constexpr std::size_t kFeatures = 10;

/// Rows with residuals whose size depends on x, and parameters that fit most of this dependence.
struct Data {
  Data() : x(kRows * kFeatures), predictions(kRows), residuals(kRows), scales(kRows), affine(2 * kRows) {
    Random random(1);
    for (double& number : x) number = random.normal();
    for (std::size_t i = 0; i < kRows; ++i) {
      predictions[i] = x[i * kFeatures];
      residuals[i] = std::exp(0.7 * x[i * kFeatures + 1]) * random.normal();
      scales[i] = 0.6 * x[i * kFeatures + 1];
      affine[2 * i] = scales[i];
      affine[2 * i + 1] = 0.1 * random.normal();
      outcomes.push_back(predictions[i] + residuals[i]);
      groups.push_back(static_cast<std::int64_t>(random.below(100)));
    }
  }

  [[nodiscard]] MatrixView features() const { return {x.data(), kRows, kFeatures}; }

  std::vector<double> x;
  std::vector<double> predictions;
  std::vector<double> residuals;
  std::vector<double> scales;
  std::vector<double> affine;
  std::vector<double> outcomes = {};
  std::vector<std::int64_t> groups = {};
  std::vector<double> out = std::vector<double>(20 * kRows);
};

using Kernel = std::function<void()>;

Kernel objective(Data& data, const char* transform, const WidthOptions& options, MatrixView parameters) {
  return [&data, options, parameters, transform] {
    const auto loss = make_width_objective(make_transform(transform), Score::kAbsolute, options);
    Workspace workspace;
    (void)loss->evaluate({data.residuals}, parameters, {data.out.data(), kRows, parameters.columns()}, {}, workspace,
                         SingleWorker());
  };
}

/// A model without a base model.
Model model_of(Data& data, const char* transform, std::shared_ptr<const RowFunction> localizer, bool grouped) {
  const Model bare(ModelParts{.features = examples::names(kFeatures),
                              .prediction = "f",
                              .localizer = std::move(localizer),
                              .rule = ConformalRule(make_transform(transform))});
  Calibration calibration;
  bare.calibrate(calibration,
                 {.x = data.features(),
                  .predictions = data.predictions,
                  .groups = grouped ? std::span<const std::int64_t>(data.groups) : std::span<const std::int64_t>()},
                 data.outcomes, RowNumbers(0));
  return bare.with_calibration(calibration);
}

/// Intervals in the layout of Python: rows x 2 x levels.
Kernel intervals(Data& data, Model model, std::size_t levels, bool grouped) {
  return [&data, model = std::move(model), levels, grouped] {
    std::vector<Level> at;
    for (std::size_t j = 0; j < levels; ++j) at.emplace_back(0.5 + 0.04 * static_cast<double>(j));
    std::vector<double> predictions(kRows);
    model.intervals({.x = data.features(),
                     .predictions = data.predictions,
                     .groups = grouped ? std::span<const std::int64_t>(data.groups) : std::span<const std::int64_t>()},
                    at, predictions, {data.out.data(), kRows, levels, 2 * levels},
                    {data.out.data() + levels, kRows, levels, 2 * levels});
  };
}

Kernel evaluation(Data& data, std::shared_ptr<const RowFunction> function) {
  return [&data, function = std::move(function)] {
    function->evaluate(data.features().slice(0, 2000), {data.out.data(), 2000, function->outputs()});
  };
}

std::map<std::string, std::function<Kernel(Data&)>> all_kernels() {
  return {
      {"objective_exp", [](Data& data) { return objective(data, "exp", {}, MatrixView::column(data.scales)); }},
      {"objective_affine_exact",
       [](Data& data) {
         return objective(data, "affine", {.method = PairMethod::kExact}, {data.affine.data(), kRows, 2});
       }},
      {"objective_affine_summary",
       [](Data& data) {
         return objective(data, "affine", {.method = PairMethod::kSummary}, {data.affine.data(), kRows, 2});
       }},
      {"calibration_quantiles",
       [](Data& data) {
         return [&data] {
           Calibration calibration;
           calibration.add(RowNumbers(0), data.residuals, {}, {}, {});
           const SortedScores sorted(calibration);
           data.out[0] = sorted.quantile(Level(0.9));
         };
       }},
      {"intervals_constant",
       [](Data& data) { return intervals(data, model_of(data, "identity", nullptr, false), 10, false); }},
      {"intervals_groups",
       [](Data& data) { return intervals(data, model_of(data, "identity", nullptr, true), 1, true); }},
      {"intervals_trees",
       [](Data& data) {
         return intervals(data, model_of(data, "exp", examples::trees(kFeatures + 1, 1, 20, 4, 1), false), 1, false);
       }},
      {"trees_batch", [](Data& data) { return evaluation(data, examples::trees(kFeatures, 1, 300, 4, 1)); }},
      {"net_batch", [](Data& data) { return evaluation(data, examples::net(kFeatures, 1, 1, {100, 100})); }},
      {"worst_slab",
       [](Data& data) {
         return [&data] {
           std::vector<double> lower(kRows);
           std::vector<double> upper(kRows);
           for (std::size_t i = 0; i < kRows; ++i) {
             lower[i] = data.predictions[i] - 2;
             upper[i] = data.predictions[i] + 2;
           }
           data.out[0] = worst_slab({lower, upper, data.outcomes}, data.features(), {.directions = 10}).coverage.share;
         };
       }},
  };
}

}  // namespace

int main(int argc, char** argv) {
  const auto kernels = all_kernels();
  if (argc == 1) {
    for (const auto& [name, make] : kernels) std::printf("%s\n", name.c_str());
    return 0;
  }
  const auto found = kernels.find(argv[1]);
  if (argc > 2 || found == kernels.end()) {
    std::fprintf(stderr, "usage: widthwise_kernels [NAME]\n");
    return 2;
  }
  Data data;
  run_kernel(found->second(data));
  return std::isnan(data.out[0]) ? 1 : 0;
}
