#pragma once

#include <cstddef>
#include <vector>
#include <widthwise/matrix_view.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/random.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/train/trainer_options.hpp>

/// The initialisation of a net and of its training.
namespace widthwise::internal {

/// Throw kShapeMismatch, kTooFewRows, kNotFinite or kInvalidArgument for unusable rows, which the message calls `what`.
void check_rows(const TrainingRows& rows, const char* what);

/// Return the numbers of the rows with positive weight.
[[nodiscard]] std::vector<std::size_t> counting_rows(const ResidualRows& rows);

/// Return the number of batches of an epoch over n rows: at least about 20, with 16 to NetOptions::batch_size rows
/// each.
[[nodiscard]] std::size_t batch_count(std::size_t n, const NetOptions& options);

/// Return the factor on the learning rate after the share `done` of the schedule.
[[nodiscard]] double rate_share(double done, const NetOptions& options);

/// Return a net with random weights whose outputs are nearly the same for all rows, and nearly 0 if the objective can
/// be improved from there.
[[nodiscard]] DenseNetArrays initial_net(const TrainingRows& rows, const Objective& objective,
                                         const NetOptions& options, Random& random);

/// Return the inputs of the first layer of a net for the rows of x (n x inputs, row-major).
[[nodiscard]] std::vector<float> standardised_rows(const DenseNetArrays& net, MatrixView x);

}  // namespace widthwise::internal
