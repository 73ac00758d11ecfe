#pragma once

#include <optional>
#include <string_view>

#include <widthwise/model.hpp>

namespace widthwise {

/// The population of rows that calibrate a model with weights.
///
/// The weights of such a model are the likelihood ratios of the target population to the source population. A row of
/// the source population counts with its weight. A row of the target population has the ratio 1: with the weight w(x)
/// it would be shifted twice, and intervals may be too narrow.
enum class Population {
  kSource,  ///< that of the rows that fitted and calibrated the model
  kTarget,  ///< that of the rows to predict
};

/// "source" or "target".
[[nodiscard]] std::string_view name_of(Population population);
/// Throws kInvalidArgument for other names.
[[nodiscard]] Population population_of(std::string_view name);

/// The same model without weights, given or learnt, and without calibration rows. Its calibration rows come from the
/// population to predict.
[[nodiscard]] Model without_weights(const Model& model);

/// The model that rows of this population calibrate. A model cannot recognise the population of rows, so for a model
/// with weights it must be stated. `replace`: no earlier calibration rows are kept.
/// - source: the model itself; rows count with their weights.
/// - target: the model without weights, whose coverage is exact for these rows alone. Only with `replace`, or if there
///   are no calibration rows yet: the earlier rows are of another population.
/// For a model without weights, all rows come from the population to predict: it is `target` or not stated. Throws
/// kInvalidArgument, with the remedy.
[[nodiscard]] Model model_for_rows_of(const Model& model, std::optional<Population> population, bool replace);

}  // namespace widthwise
