#pragma once

#include <cstddef>
#include <vector>
#include <widthwise/dense_net.hpp>
#include <widthwise/matrix_view.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/torch.hpp>
#include <widthwise/train/trainer.hpp>

/// What training needs before it begins, and what of it does not need torch.
namespace widthwise::internal {

/// Throw kShapeMismatch, kTooFewRows, kNotFinite or kInvalidArgument for rows that nothing can be learnt from, naming
/// them as `what`.
void check_rows(const TrainingRows& rows, const char* what);

/// Return the numbers of the rows that count: those of positive weight.
[[nodiscard]] std::vector<std::size_t> counting_rows(const ResidualRows& rows);

/// Return how many batches an epoch over n rows has: about 20 at least, but none of under 16 rows, or of more than
/// NetOptions::batch_size.
[[nodiscard]] std::size_t batch_count(std::size_t n, const NetOptions& options);

/// Return the share of the learning rate that is left when the share `done` of the schedule is over.
[[nodiscard]] double rate_share(double done, const NetOptions& options);

/// Return a net with random weights whose outputs are nearly the same for all rows, and nearly 0 where the objective
/// can be improved from there.
[[nodiscard]] DenseNetArrays initial_net(const TrainingRows& rows, const Objective& objective,
                                         const NetOptions& options, Random& random);

/// Return what the first layer of a net sees of the rows of x (n x inputs, row-major).
[[nodiscard]] std::vector<float> standardised_rows(const DenseNetArrays& net, MatrixView x);

}  // namespace widthwise::internal
