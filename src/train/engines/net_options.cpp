#include <widthwise/train/net_options.hpp>

#include <limits>

#include "train/option_fields.hpp"

namespace widthwise {

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
