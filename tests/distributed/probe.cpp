// One of several workers, for the tests with several processes:
//   probe evaluate HOST:PORT RANK WORLD ROWS TRANSFORM exact|auto FILE   loss and gradient of its rows, as doubles
//   probe train    HOST:PORT RANK WORLD ROWS TRANSFORM ROUNDS            what a round sends and takes, as JSON
// Every worker creates the same problem and uses its part of the rows.

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/xgboost.hpp>
#include <widthwise/transform.hpp>

namespace widthwise {
namespace {

struct Place {
  std::size_t first;
  std::size_t count;
};

Place place_of(std::size_t rows, const CommunicatorOptions& options) {
  const std::size_t first = rows * options.rank / options.workers;
  return {first, rows * (options.rank + 1) / options.workers - first};
}

CommunicatorOptions options_of(const std::vector<std::string>& arguments) {
  const std::string& address = arguments[0];
  CommunicatorOptions options;
  options.host = address.substr(0, address.find(':'));
  options.port = static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
  options.rank = std::stoul(arguments[1]);
  options.workers = std::stoul(arguments[2]);
  options.timeout = std::chrono::seconds(60);
  return options;
}

std::unique_ptr<const Objective> objective_of(const std::string& transform, PairMethod method) {
  WidthOptions options;
  options.method = method;
  if (transform == "exp") options.evenness = 0.85;
  const auto phi = make_transform(transform);
  if (phi->has_spline_inverse()) return make_distribution_objective(*phi);
  return make_width_objective(phi, Score::kAbsolute, options);
}

void evaluate(const std::vector<std::string>& arguments) {
  const CommunicatorOptions options = options_of(arguments);
  const std::size_t n = std::stoul(arguments[3]);
  const auto objective = objective_of(arguments[4], arguments[5] == "exact" ? PairMethod::kExact : PairMethod::kAuto);
  const std::size_t columns = objective->parameter_count();
  Random random(1);
  std::vector<double> residuals;
  std::vector<double> parameters;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::exp(0.7 * random.normal());
    residuals.push_back(size * random.normal());
    for (std::size_t j = 0; j < columns; ++j) parameters.push_back(0.8 * std::log(size) + 0.2 * random.normal());
  }
  const auto [first, count] = place_of(n, options);
  std::vector<double> gradient(count * columns);
  Workspace workspace;
  const auto communicator = join_workers(XgboostLibrary::load(), options);
  const double loss = objective->evaluate({std::span(residuals).subspan(first, count)},
                                          {parameters.data() + first * columns, count, columns},
                                          {gradient.data(), count, columns}, {}, workspace, *communicator);
  std::ofstream out(arguments[6], std::ios::binary);
  out.write(reinterpret_cast<const char*>(&loss), sizeof(loss));
  out.write(reinterpret_cast<const char*>(gradient.data()),
            static_cast<std::streamsize>(gradient.size() * sizeof(double)));
  std::cout << communicator->bytes_shared() << "\n";
}

/// Bytes that this machine has sent to itself.
std::uint64_t loopback_bytes() {
  std::ifstream in("/proc/self/net/dev");
  for (std::string word; in >> word;) {
    std::uint64_t bytes = 0;
    if (word == "lo:" && in >> bytes) return bytes;
  }
  throw Error(ErrorCode::kFile, "/proc/self/net/dev: there is no loopback");
}

void train(const std::vector<std::string>& arguments) {
  const CommunicatorOptions options = options_of(arguments);
  const auto [first, count] = place_of(std::stoul(arguments[3]), options);
  const std::size_t rounds = std::stoul(arguments[5]);
  constexpr std::size_t kInputs = 5;
  Random random(2 + options.rank);
  std::vector<double> x;
  std::vector<double> residuals;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < kInputs; ++j) x.push_back(random.uniform());
    residuals.push_back((0.5 + x[i * kInputs]) * random.normal());
  }
  const auto library = XgboostLibrary::load();
  const auto communicator = join_workers(library, options);
  TreeOptions trees;
  trees.threads = 1;
  trees.retrain_factor = 1;
  trees.subsample = 1;
  trees.column_sample = 1;
  const auto trainer = make_tree_trainer(library, trees, {.communicator = communicator.get()});
  const auto objective = objective_of(arguments[4], PairMethod::kAuto);
  const TrainingRows rows{{x.data(), count, kInputs}, {residuals}};
  struct Cost {
    std::uint64_t bytes, network;
    double seconds;
  };
  const auto cost_of = [&](std::size_t length) -> Cost {
    const std::uint64_t bytes = communicator->bytes_shared();
    const std::uint64_t network = loopback_bytes();
    const auto start = std::chrono::steady_clock::now();
    (void)trainer->retrain(rows, *objective, length, {});
    double barrier = 0;
    communicator->sum({&barrier, 1});
    return {communicator->bytes_shared() - bytes, loopback_bytes() - network,
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  };
  // One-time costs, mainly the bins of the features, are in both trainings.
  const Cost few = cost_of(rounds);
  const Cost many = cost_of(2 * rounds);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "{\"bytes\": " << (many.bytes - few.bytes) / rounds
            << ", \"network\": " << (many.network - few.network) / rounds
            << ", \"seconds\": " << (many.seconds - few.seconds) / static_cast<double>(rounds)
            << ", \"peak_megabytes\": " << usage.ru_maxrss / 1024 << "}\n";
}

}  // namespace
}  // namespace widthwise

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  try {
    std::string(argv[1]) == "evaluate" ? widthwise::evaluate(arguments) : widthwise::train(arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
