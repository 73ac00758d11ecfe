#pragma once

#include <optional>
#include <span>
#include <vector>

#include <widthwise/objective.hpp>

namespace widthwise::python {

/// Evaluates an objective for XGBoost, which has numbers of 32 bits. Keeps its memory from round to round, because
/// taking fresh memory costs a third of a round.
class Boosting {
 public:
  /// This worker's rows in one round.
  struct Round {
    std::span<const float> labels;   ///< n residuals
    std::span<const float> weights;  ///< n, or empty
    std::span<const float> outputs;  ///< n x P
    std::optional<double> unit;      ///< of the residuals; by default near the mean absolute residual of all workers
  };

  struct Result {
    double loss = 0;
    double unit = 0;
  };

  /// Fills gradient and Hessian (n x P, or empty) with derivatives of a sum over rows, as XGBoost's settings expect.
  Result evaluate(const Objective& objective, const Round& round, const Reducer& reducer, std::span<float> gradient,
                  std::span<float> hessian);

 private:
  std::vector<double> residuals_;
  std::vector<double> weights_;
  std::vector<double> parameters_;
  std::vector<double> gradient_;
  std::vector<double> hessian_;
  Workspace workspace_;
};

}  // namespace widthwise::python
