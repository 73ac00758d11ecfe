#pragma once

#include <cstddef>
#include <vector>

#include <widthwise/diagnostics.hpp>

namespace widthwise {

/// Intervals with their own memory.
struct Intervals {
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> outcomes;

  [[nodiscard]] IntervalRows rows() const { return {lower, upper, outcomes}; }
  [[nodiscard]] std::size_t size() const { return outcomes.size(); }
  [[nodiscard]] double width(std::size_t i) const { return upper[i] - lower[i]; }
  [[nodiscard]] bool covered(std::size_t i) const { return !(outcomes[i] < lower[i]) && !(outcomes[i] > upper[i]); }

  void add(double low, double high, double outcome) {
    lower.push_back(low);
    upper.push_back(high);
    outcomes.push_back(outcome);
  }
};

}  // namespace widthwise
