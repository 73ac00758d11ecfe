#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/trainer.hpp>

#include "support/numbers.hpp"

namespace widthwise {

/// Heteroscedastic rows: y = f(x) + s(x) noise with s = e^(x_0), x_0 in [-1, 1], and irrelevant columns; some values of
/// the last feature are missing. The last column is f(x).
struct NoisyRows {
  std::size_t columns;
  std::vector<double> x;
  std::vector<double> residuals;
  std::vector<double> log_scale;

  NoisyRows(std::size_t n, std::uint64_t seed, std::size_t features = 4) : columns(features + 1) {
    Random random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      const double first = 2 * random.uniform() - 1;
      x.push_back(first);
      for (std::size_t j = 1; j < features; ++j) {
        const bool missing = j + 1 == features && random.uniform() < 0.2;
        x.push_back(missing ? kNaN : random.normal());
      }
      x.push_back(random.normal());
      log_scale.push_back(first);
      residuals.push_back(std::exp(first) * random.normal());
    }
  }

  [[nodiscard]] std::size_t rows() const { return residuals.size(); }
  [[nodiscard]] MatrixView view() const { return {x.data(), rows(), columns}; }
  [[nodiscard]] TrainingRows training() const { return {view(), {residuals, {}}}; }
};

/// The correlation of two sequences.
[[nodiscard]] inline double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double mean_a = 0;
  double mean_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace widthwise
