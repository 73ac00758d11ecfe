#pragma once

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// Evaluate an objective that needs all rows at once: send the rows of all workers to each worker, evaluate there as a
/// single worker, and keep the derivatives of the worker's own rows. Rows are sent as sums of arrays that are zero
/// except for the own rows, so any reducer works. For few rows, where an approximation would be worse than the traffic.
double evaluate_gathered(const Objective& objective, const ResidualRows& rows, MatrixView parameters,
                         MutableMatrixView gradient, MutableMatrixView hessian, Workspace& workspace,
                         const Reducer& reducer);

/// The number of rows of all workers.
std::size_t total_rows(std::size_t own, const Reducer& reducer);

/// Whether to evaluate an objective with this many columns of parameters exactly: if requested, or if there are few
/// rows. With several workers, few means that sending all rows takes no more bytes than a summary.
[[nodiscard]] bool exactly(const WidthOptions& options, std::size_t own_rows, std::size_t columns,
                           const Reducer& reducer);

}  // namespace widthwise::internal
