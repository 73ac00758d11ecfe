#include "engines.hpp"

#include <widthwise/train/torch.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise::cli {

void register_engines() {
#ifdef WIDTHWISE_WITH_XGBOOST
  register_xgboost();
#endif
#ifdef WIDTHWISE_WITH_TORCH
  register_torch();
#endif
}

}  // namespace widthwise::cli
