#include <widthwise/train/trainer_options.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "train/option_fields.hpp"

namespace widthwise {
namespace {

using internal::count_field;
using internal::number_field;
using internal::NumberRange;

/// The fields that localizers and base models share, then `own`, then threads and seed.
template <class Options>
OptionTable<Options> tree_table(std::vector<typename OptionTable<Options>::Field> own) {
  std::vector<typename OptionTable<Options>::Field> fields = {
      number_field("learning_rate", &Options::learning_rate, NumberRange::share(), "shrinkage per tree"),
      count_field("max_depth", &Options::max_depth, 1, "maximum depth of a tree", 30),
      number_field("min_child_weight", &Options::min_child_weight, NumberRange::at_least(0),
                   "minimum sum of Hessians in a leaf, about its number of rows"),
      number_field("subsample", &Options::subsample, NumberRange::share(), "share of the rows used per iteration"),
      number_field("column_sample", &Options::column_sample, NumberRange::share(),
                   "share of the columns used per tree"),
      number_field("lambda", &Options::lambda, NumberRange::at_least(0), "L2 penalty on the values of leaves")};
  std::ranges::move(own, std::back_inserter(fields));
  fields.push_back(internal::threads_field(&Options::threads));
  fields.push_back(internal::seed_field(&Options::seed));
  return OptionTable<Options>(std::move(fields));
}

}  // namespace

const OptionTable<TreeOptions>& TreeOptions::table() {
  using Options = TreeOptions;
  static const OptionTable<Options> kAll = tree_table<Options>({
      count_field("max_rounds", &Options::max_rounds, 1, "maximum number of iterations; training stops early"),
      count_field("patience", &Options::patience, 1, "iterations without a lower hold-out loss before training stops"),
      number_field("retrain_factor", &Options::retrain_factor, NumberRange::at_least(1),
                   "iterations of the final training on all rows, relative to the best number on the hold-out"),
  });
  return kAll;
}

const OptionTable<TreeBaseOptions>& TreeBaseOptions::table() {
  using Options = TreeBaseOptions;
  static const OptionTable<Options> kAll = tree_table<Options>(
      {count_field("rounds", &Options::rounds, 1, "number of iterations"),
       number_field("smoothing", &Options::smoothing, NumberRange::positive(),
                    "errors below about this many typical errors count by their squares, larger ones by their size: "
                    "0.1 fits medians, 100 means"),
       number_field("lower", &Options::lower, NumberRange::fraction(),
                    "probability of the lower quantile; 0.5 for both: the median alone"),
       number_field("upper", &Options::upper, NumberRange::fraction(), "probability of the upper quantile")});
  return kAll;
}

NetOptions NetOptions::paper() {
  NetOptions options;
  options.batch_size = 16;
  options.learning_rate = 1e-4;
  options.weight_decay = 0;
  options.clip = std::numeric_limits<double>::infinity();
  options.cosine = false;
  return options;
}

const OptionTable<NetOptions>& NetOptions::table() {
  using internal::count_field;
  using internal::number_field;
  using internal::NumberRange;
  static const OptionTable<NetOptions> kAll({
      count_field("layers", &NetOptions::layers, 0, "number of hidden layers", 100),
      count_field("width", &NetOptions::width, 1, "units per hidden layer", 65536),
      count_field("batch_size", &NetOptions::batch_size, 1, "rows per step of the optimiser"),
      number_field("learning_rate", &NetOptions::learning_rate, NumberRange::positive(),
                   "learning rate of the optimiser (AdamW)"),
      number_field("weight_decay", &NetOptions::weight_decay, NumberRange::at_least(0),
                   "weight decay, decoupled from the gradient"),
      number_field("clip", &NetOptions::clip, {.low = 0, .includes_low = false, .includes_infinity = true},
                   "maximum norm of a gradient; `inf` for no limit"),
      internal::flag_field("cosine", &NetOptions::cosine,
                           "decrease the learning rate to 0 along a half cosine over max_epochs"),
      count_field("max_epochs", &NetOptions::max_epochs, 1, "maximum number of epochs; training stops early"),
      count_field("patience", &NetOptions::patience, 1, "epochs without a lower hold-out loss before training stops"),
      internal::threads_field(&NetOptions::threads),
      internal::seed_field(&NetOptions::seed),
  });
  return kAll;
}

}  // namespace widthwise
