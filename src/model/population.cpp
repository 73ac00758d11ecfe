#include <widthwise/population.hpp>

#include <array>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/names.hpp"

namespace widthwise {
namespace {

constexpr std::array<internal::Named<Population>, 2> kPopulations = {{
    {Population::kSource, "source"},
    {Population::kTarget, "target"},
}};

}  // namespace

std::string_view name_of(Population population) { return internal::name_in(kPopulations, population); }

Population population_of(std::string_view name) {
  if (const auto found = internal::value_in(kPopulations, name)) return *found;
  throw internal::make_error(ErrorCode::kInvalidArgument, "population is '{}'; expected 'source' or 'target'", name);
}

Model without_weights(const Model& model) {
  ModelParts parts = model.parts();
  parts.columns[Role::kWeight].clear();
  parts.shift = nullptr;
  parts.calibration = Calibration(parts.calibration.options());
  parts.calibration_sketch = RowSketch();
  parts.notes["weights"] = "dropped: calibrated with rows of the population to predict";
  return Model(std::move(parts));
}

Model model_for_rows_of(const Model& model, std::optional<Population> population, bool replace) {
  if (!model.scheme().weighs_new_rows()) {
    if (population != Population::kSource) return model;
    throw Error(ErrorCode::kInvalidArgument,
                "population is 'source', but the model has no weights: its calibration rows must come from the "
                "population to predict. Leave population out, or fit a model with weights");
  }
  if (!population) {
    throw Error(ErrorCode::kInvalidArgument,
                "the model has weights, so the population of these rows must be stated: population 'source', that of "
                "the fitting rows, whose rows count with their weights; or population 'target', that of the rows to "
                "predict, together with replace, whose rows calibrate alone and without weights");
  }
  if (*population == Population::kSource) return model;
  if (!replace && model.parts().calibration.rows_seen() > 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "rows of the population to predict (population 'target') cannot be added to weighted calibration rows: "
                "they would be shifted twice, and intervals may be too narrow. Use replace to calibrate with these "
                "rows only, without weights, or add rows of the population of the fitting rows (population 'source')");
  }
  return without_weights(model);
}

}  // namespace widthwise
