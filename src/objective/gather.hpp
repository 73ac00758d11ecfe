#pragma once

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// Evaluate an objective that must see every row at once: hand all workers' rows to each, evaluate there as a single
/// worker, and keep the own part of the derivatives. The rows travel as sums of arrays that are zero but for the own
/// part, so any reducer will do; this is for few rows, where an approximation would be worse than the traffic.
double evaluate_gathered(const Objective& objective, const ResidualRows& rows, MatrixView parameters,
                         MutableMatrixView gradient, MutableMatrixView hessian, Workspace& workspace,
                         const Reducer& reducer);

/// The number of rows over all workers.
std::size_t total_rows(std::size_t own, const Reducer& reducer);

/// Whether an objective with this many columns of parameters is to be evaluated exactly: when it must be, or when rows
/// are few. For several workers few means that all rows are no more to send than a summary of them would be.
[[nodiscard]] bool exactly(const WidthOptions& options, std::size_t own_rows, std::size_t columns,
                           const Reducer& reducer);

}  // namespace widthwise::internal
