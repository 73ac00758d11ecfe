// A service under load: threads predict rows with a model file that is continuously replaced and reloaded.
//
//   widthwise_load MODEL_A MODEL_B SECONDS THREADS
//
// Every result is compared bit for bit with that of the same model before the load. Prints one line of JSON: requests,
// latencies in microseconds, reloads, wrong answers, memory in kB.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <widthwise/error.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/random.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using widthwise::Interval;
using widthwise::Level;
using widthwise::Model;

constexpr std::size_t kRows = 2000;
constexpr std::uint64_t kMinReloads = 5;  // even if the machine is too busy for them in the given time

/// Rows of features in (-2, 2), each with a prediction for models that need one.
struct Requests {
  std::size_t features;
  std::vector<double> x;
  std::vector<double> predictions;

  explicit Requests(std::size_t columns) : features(columns), x(kRows * columns), predictions(kRows) {
    std::uint64_t state = 1;
    const auto next = [&] { return static_cast<double>(widthwise::mix_bits(++state) >> 11U) * 0x1p-51 - 2; };
    for (double& number : x) number = next();
    for (double& number : predictions) number = next();
  }
  [[nodiscard]] Interval answer(const Model& model, const Level& level, std::size_t row) const {
    std::optional<widthwise::RowPrediction> prediction;
    if (model.needs_predictions()) prediction = predictions[row];
    return model.interval({x.data() + row * features, features}, level, prediction);
  }
};

/// A model and its expected results.
struct Served {
  Model model;
  std::shared_ptr<const std::vector<Interval>> answers;
};

/// Counts of latencies, in steps of 2 %.
class Latencies {
 public:
  void add(Clock::duration taken) {
    const double ns = static_cast<double>(std::chrono::nanoseconds(taken).count()) + 1;
    const auto step = static_cast<std::size_t>(std::log(ns) / kStep);
    ++counts_[std::min(step, counts_.size() - 1)];
  }
  void merge(const Latencies& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t one : counts_) sum += one;
    return sum;
  }
  /// In microseconds.
  [[nodiscard]] double quantile(double share) const {
    const double wanted = share * static_cast<double>(count());
    std::uint64_t sum = 0;
    std::size_t i = 0;
    while (i < counts_.size() && static_cast<double>(sum += counts_[i]) < wanted) ++i;
    return std::exp(kStep * static_cast<double>(i + 1)) / 1000;
  }

 private:
  static constexpr double kStep = 0.02;
  std::array<std::uint64_t, 1400> counts_{};
};

std::uint64_t resident_kb() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

bool same_bits(const Interval& a, const Interval& b) {
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  return bits(a.lower) == bits(b.lower) && bits(a.upper) == bits(b.upper);
}

struct Load {
  Level level{0.9};
  std::atomic<std::shared_ptr<const Served>> served;
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::uint64_t reloads = 0;

  /// Predict rows until stopped.
  void answer(const Requests& requests, std::size_t thread, Latencies& latencies) {
    for (std::size_t row = thread * 97 % kRows; !stop; row = (row + 1) % kRows) {
      const auto begin = Clock::now();
      const std::shared_ptr<const Served> now = served;
      const Interval found = requests.answer(now->model, level, row);
      latencies.add(Clock::now() - begin);
      if (!same_bits(found, (*now->answers)[row])) ++wrong;
    }
  }

  /// Replace the model file, as a deployment does, and serve the new model.
  void reload(const std::filesystem::path& from, const std::filesystem::path& live,
              const std::shared_ptr<const std::vector<Interval>>& answers) {
    const std::filesystem::path fresh = live.string() + ".new";
    std::filesystem::copy_file(from, fresh, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(fresh, live);
    served = std::make_shared<const Served>(Served{widthwise::load(live), answers});
    ++reloads;
  }
};

int run(const std::array<std::filesystem::path, 2>& files, double seconds, std::size_t threads) {
  Load load;
  std::array<std::shared_ptr<const std::vector<Interval>>, 2> answers;
  const Requests requests(widthwise::load(files[0]).parts().features.size());
  for (std::size_t i = 0; i < 2; ++i) {
    const Model model = widthwise::load(files[i]);
    std::vector<Interval> right;
    for (std::size_t row = 0; row < kRows; ++row) right.push_back(requests.answer(model, load.level, row));
    answers[i] = std::make_shared<const std::vector<Interval>>(std::move(right));
  }
  const std::filesystem::path live = files[0].string() + ".live";
  load.reload(files[0], live, answers[0]);
  std::vector<Latencies> latencies(threads);
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::uint64_t early = 0;  // memory after a quarter of the time
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < threads; ++i) {
      workers.emplace_back([&, i] { load.answer(requests, i, latencies[i]); });
    }
    for (std::size_t i = 1; passed() < seconds || load.reloads < kMinReloads; i ^= 1U) {
      load.reload(files[i], live, answers[i]);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (early == 0 && passed() > seconds / 4) early = resident_kb();
    }
    load.stop = true;
  }
  std::filesystem::remove(live);
  Latencies all;
  for (const Latencies& one : latencies) all.merge(one);
  std::cout << "{\"requests\": " << all.count() << ", \"per_second\": " << static_cast<double>(all.count()) / passed()
            << ", \"p50_us\": " << all.quantile(0.5) << ", \"p99_us\": " << all.quantile(0.99)
            << ", \"reloads\": " << load.reloads << ", \"wrong\": " << load.wrong << ", \"early_kb\": " << early
            << ", \"end_kb\": " << resident_kb() << "}\n";
  return load.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: widthwise_load MODEL_A MODEL_B SECONDS THREADS\n";
    return 2;
  }
  try {
    return run({argv[1], argv[2]}, std::atof(argv[3]), std::strtoul(argv[4], nullptr, 10));
  } catch (const std::exception& error) {
    std::cerr << "widthwise_load: " << error.what() << '\n';
    return 1;
  }
}
