/// Compare each task of the library with a minimal kernel on the same data, in one process and on one thread. Ratios of
/// times are comparable on a noisy machine. Prints a table; `--smoke` runs everything once on few rows.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <widthwise/random.hpp>
#include <widthwise/widthwise.hpp>

#include "base/vector_math.hpp"
#include "task.hpp"

namespace {

using namespace widthwise;  // NOLINT(google-build-using-namespace): a program, not a header

/// n rows with residuals whose size depends on x, and parameters that fit most of this dependence.
struct Data {
  explicit Data(std::size_t n) : residuals(n), log_scales(n), affine(2 * n), out(2 * n), out2(2 * n), scratch(n) {
    Random random(1);
    for (std::size_t i = 0; i < n; ++i) {
      const double x = 0.7 * random.normal();
      residuals[i] = std::exp(x) * random.normal();
      log_scales[i] = 0.8 * x + 0.1 * random.normal();
      affine[2 * i] = log_scales[i];
      affine[2 * i + 1] = 0.5 * x + 0.1 * random.normal();
    }
  }

  std::vector<double> residuals;
  std::vector<double> log_scales;
  std::vector<double> affine;
  std::vector<double> out;
  std::vector<double> out2;
  std::vector<double> scratch;
};

/// One vectorised pass of exp and sum over the arrays that the scale objective reads.
WIDTHWISE_VECTORISED void exp_and_sum(const double* u, const double* r, std::size_t n, double* sums) {
  internal::LaneSum scales;
  internal::LaneSum ratios;
  double scale[internal::kBlock];
  double ratio[internal::kBlock];
  for (std::size_t first = 0; first < n; first += internal::kBlock) {
    const std::size_t count = std::min(internal::kBlock, n - first);
    for (std::size_t i = 0; i < count; ++i) {
      scale[i] = internal::bounded_exp(u[first + i]);
      ratio[i] = r[first + i] / scale[i];
    }
    scales.add(scale, count);
    ratios.add(ratio, count);
  }
  sums[0] = scales.total();
  sums[1] = ratios.total();
}

std::vector<Task> make_tasks(Data& data) {
  const std::size_t n = data.residuals.size();
  std::vector<Task> tasks;
  const auto objective_task = [&](const char* transform, const WidthOptions& options, MatrixView parameters) {
    return [&data, n,
            objective = std::shared_ptr(make_width_objective(make_transform(transform), Score::kAbsolute, options)),
            parameters, workspace = std::make_shared<Workspace>()] {
      const std::size_t columns = parameters.columns();
      return seconds([&] {
        benchmark::DoNotOptimize(objective->evaluate({data.residuals}, parameters, {data.out.data(), n, columns}, {},
                                                     *workspace, SingleWorker()));
      });
    };
  };
  const auto sort_task = [&data] {
    std::copy(data.residuals.begin(), data.residuals.end(), data.scratch.begin());
    return seconds([&] { std::sort(data.scratch.begin(), data.scratch.end()); });
  };
  const auto quantile_task = [&data](std::vector<Level> levels) {
    return [&data, levels = std::move(levels)] {
      std::copy(data.residuals.begin(), data.residuals.end(), data.scratch.begin());
      std::vector<double> quantiles(levels.size());
      return seconds([&] {
        conformal_quantiles(data.scratch, levels, quantiles);
        benchmark::DoNotOptimize(quantiles.data());
      });
    };
  };

  tasks.push_back({"scale l_all, with gradient", "exp and sum", 2.0,
                   objective_task("exp", {}, MatrixView::column(data.log_scales)), [&data, n] {
                     double sums[2];
                     return seconds([&] {
                       exp_and_sum(data.log_scales.data(), data.residuals.data(), n, sums);
                       benchmark::DoNotOptimize(sums);
                     });
                   }});
  tasks.push_back({"affine l_all exact, with gradient", "std::sort", 1.3,
                   objective_task("affine", {.method = PairMethod::kExact}, {data.affine.data(), n, 2}), sort_task});
  tasks.push_back({"affine l_all by summary, with gradient", "std::sort", 1.0,
                   objective_task("affine", {.method = PairMethod::kSummary}, {data.affine.data(), n, 2}), sort_task});
  tasks.push_back({"calibration, 1 level", "std::nth_element", 1.1, quantile_task({Level(0.9)}), [&data, n] {
                     std::copy(data.residuals.begin(), data.residuals.end(), data.scratch.begin());
                     const auto place = data.scratch.begin() + static_cast<std::ptrdiff_t>(Level(0.9).rank(n) - 1);
                     return seconds([&] { std::nth_element(data.scratch.begin(), place, data.scratch.end()); });
                   }});
  std::vector<Level> levels;
  for (int percent = 1; percent <= 99; ++percent) levels.emplace_back(percent / 100.0);
  tasks.push_back({"calibration, 99 levels", "std::sort", 1.1, quantile_task(levels), sort_task});

  const ConformalRule rule(make_transform("density"));
  Calibration calibration;
  rule.calibrate(calibration, {std::span(data.scratch).first(1000), MatrixView(data.log_scales.data(), 1000, 1)},
                 std::span(data.residuals).first(1000), 0);
  const auto predictor = std::make_shared<ConformalPredictor>(rule, calibration);
  tasks.push_back({"intervals, 1 level", "memcpy of the same bytes", 1.5,
                   [&data, n, predictor] {
                     const Level level(0.9);
                     return seconds([&] {
                       predictor->intervals({data.residuals, MatrixView::column(data.log_scales)}, {&level, 1},
                                            {data.out.data(), n, 1}, {data.out2.data(), n, 1});
                       benchmark::ClobberMemory();
                     });
                   },
                   [&data, n] {
                     return seconds([&] {
                       std::memcpy(data.out.data(), data.residuals.data(), n * sizeof(double));
                       std::memcpy(data.out2.data(), data.log_scales.data(), n * sizeof(double));
                       benchmark::ClobberMemory();
                     });
                   }});
  return tasks;
}

/// Collects the seconds of every repetition, by benchmark name.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration) times[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
    }
  }

  std::map<std::string, std::vector<double>> times;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Number of runs of a task over n rows for each of the nine measurements.
struct Effort {
  std::size_t n;
  std::size_t iterations;
  int repetitions;
};

/// Run a task and its baseline alternately, and print their line of the table.
void measure(const Task& task, const Effort& effort) {
  // Alternate, so that a slow moment of the machine affects both.
  const auto run = [](const std::function<double()>& once) {
    return [&once](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(once());
    };
  };
  task.ours();  // first touch of the memory
  task.bare();
  for (const auto& [name, once] : {std::pair{"ours", &task.ours}, std::pair{"bare", &task.bare}}) {
    benchmark::RegisterBenchmark(name, run(*once))
        ->UseManualTime()
        ->Unit(benchmark::kSecond)
        ->Iterations(static_cast<std::int64_t>(effort.iterations))
        ->Repetitions(effort.repetitions);
  }
  std::string program = "widthwise_bench";
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments{program.data(), interleave.data()};
  int count = 2;
  benchmark::Initialize(&count, arguments.data());
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();

  const auto& ours = collector.times["ours"];
  const auto& bare = collector.times["bare"];
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / bare[i]);
  std::printf("| %s | %.0e | %.4f | %s | %.4f | %.2f | %.2f to %.2f | %.1f |\n", task.name.c_str(),
              static_cast<double>(effort.n), median(ours), task.bare_name.c_str(), median(bare), median(ratios),
              *std::min_element(ratios.begin(), ratios.end()), *std::max_element(ratios.begin(), ratios.end()),
              task.aim);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string(argv[1]) == "--smoke";
  if (argc > (smoke ? 2 : 1)) {
    std::fprintf(stderr, "usage: widthwise_bench [--smoke]\n");
    return 2;
  }
  const std::vector<std::size_t> sizes =
      smoke ? std::vector<std::size_t>{2000} : std::vector<std::size_t>{1'000'000, 10'000'000};
  const int repetitions = smoke ? 1 : 9;
  std::printf("| task | rows | seconds | baseline | seconds | ratio | min to max | target |\n");
  std::printf("|---|---|---|---|---|---|---|---|\n");
  for (const std::size_t n : sizes) {
    Data data(n);
    const std::size_t iterations = smoke ? 1 : std::max<std::size_t>(1, 4'000'000 / n);
    for (const Task& task : make_tasks(data)) measure(task, {n, iterations, repetitions});
  }
  // Each row passes 300 trees, so fewer rows suffice.
  const std::size_t tree_rows = smoke ? 200 : 20'000;
  for (const Task& task : make_tree_tasks(tree_rows)) measure(task, {tree_rows, 1, repetitions});
  return 0;
}
