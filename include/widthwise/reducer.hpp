#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <widthwise/interface.hpp>

namespace widthwise {

/// Sum over the workers that train one model together; each worker has its own rows. Objectives communicate with other
/// workers only through this interface.
class Reducer : public Interface {
 public:
  /// Replace values by their sum over all workers. Every worker calls it with the same length, in the same order.
  virtual void sum(std::span<double> values) const = 0;

  [[nodiscard]] virtual std::size_t rank() const = 0;     ///< number of this worker, from 0
  [[nodiscard]] virtual std::size_t workers() const = 0;  ///< number of workers; ranks are below it
};

/// A single worker: sums are unchanged.
class SingleWorker final : public Reducer {
 public:
  void sum(std::span<double> /*values*/) const override {}
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t workers() const override { return 1; }
};

}  // namespace widthwise
