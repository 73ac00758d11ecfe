#include "train/engines/leaf_values.hpp"

#include <algorithm>
#include <cmath>

namespace widthwise::internal {
namespace {

// The typical error of a leaf is that of its rows and of so many rows with the typical error of all.
constexpr double kRowsOfAll = 5;

// Boosting takes a small part of the last step, so that few are enough: one where most errors count by their squares.
constexpr int kSteps = 3;
constexpr double kSquares = 1;  // smoothing

constexpr double kMinSmoothing = 1e-100;  // if all errors are 0; its square is a number

/// Sums of the rows of one leaf, which chunks and workers add as an array.
struct RootSums {
  double weight = 0;
  double roots = 0;  // of w |e|^(1/2)
};

struct StepSums {
  double slope = 0;      // of w (c e - d (1 - 2p))
  double curvature = 0;  // of w c
};

/// The sums of `count` leaves over the rows of all workers. add(i, sum) adds row i to the sum of its leaf.
template <class Sums, class Add>
std::vector<Sums> sums_of(const LeafRows& rows, std::size_t count, const Reducer& reducer, const Add& add) {
  constexpr std::size_t kNumbers = sizeof(Sums) / sizeof(double);
  const Chunks chunks = rows.chunks();
  std::vector<Sums> sums(std::max(chunks.count(), std::size_t{1}) * count);
  chunks.for_each([&](const Chunk& chunk) {
    Sums* const own = sums.data() + chunk.number * count;
    for (std::size_t i = chunk.first; i < chunk.last; ++i) add(i, own[rows.leaves[i]]);
  });
  double* const total = reinterpret_cast<double*>(sums.data());
  for (std::size_t k = count * kNumbers; k < sums.size() * kNumbers; ++k) total[k % (count * kNumbers)] += total[k];
  sums.resize(count);
  reducer.sum({total, count * kNumbers});
  return sums;
}

double squared(double x) { return x * x; }

/// The smoothing d of every leaf.
std::vector<double> smoothings_of(const LeafRows& rows, std::size_t count, double multiple, const Reducer& reducer) {
  const std::vector<RootSums> sums = sums_of<RootSums>(rows, count, reducer, [&](std::size_t i, RootSums& sum) {
    const auto weight = static_cast<double>(rows.weights[i]);
    sum.weight += weight;
    sum.roots += weight * std::sqrt(std::abs(rows.errors[i]));
  });
  RootSums all;
  for (const RootSums& sum : sums) {
    all.weight += sum.weight;
    all.roots += sum.roots;
  }
  const double typical = all.weight > 0 ? squared(all.roots / all.weight) : 0;
  std::vector<double> smoothings;
  for (const RootSums& sum : sums) {
    const double own = sum.weight > 0 ? squared(sum.roots / sum.weight) : 0;
    const double mixed = (sum.weight * own + kRowsOfAll * typical) / (sum.weight + kRowsOfAll);
    smoothings.push_back(std::max(multiple * mixed, kMinSmoothing));
  }
  return smoothings;
}

/// If all errors are about D, the smooth loss has a slope of 0 at d = D 2 (p (1 - p))^(1/2) / |1 - 2p|. A d of this
/// size would move the quantile away from all outcomes, and increase with its distance.
double bounded_smoothing(double smoothing, double p) {
  return p == 0.5 ? smoothing : std::min(smoothing, std::sqrt(p * (1 - p)) / std::abs(1 - 2 * p));
}

}  // namespace

LeafValues::LeafValues(double probability, double smoothing, double penalty)
    : tilt_(1 - 2 * probability), smoothing_(bounded_smoothing(smoothing, probability)), penalty_(penalty) {}

std::vector<double> LeafValues::of(const LeafRows& rows, std::size_t count, const Reducer& reducer) const {
  const std::vector<double> smoothings = smoothings_of(rows, count, smoothing_, reducer);
  std::vector<double> values(count, 0.0);
  const int steps = smoothing_ >= kSquares ? 1 : kSteps;
  for (int step = 0; step < steps; ++step) {
    const std::vector<StepSums> sums = sums_of<StepSums>(rows, count, reducer, [&](std::size_t i, StepSums& sum) {
      const std::size_t leaf = rows.leaves[i];
      const double d = smoothings[leaf];
      const double error = rows.errors[i] - values[leaf];
      const double c = d / std::sqrt(error * error + d * d);
      const auto weight = static_cast<double>(rows.weights[i]);
      sum.slope += weight * (c * error - d * tilt_);
      sum.curvature += weight * c;
    });
    for (std::size_t leaf = 0; leaf < count; ++leaf) {
      const double divisor = sums[leaf].curvature + penalty_;
      if (divisor > 0) values[leaf] += sums[leaf].slope / divisor;
    }
  }
  return values;
}

}  // namespace widthwise::internal
