// Stands in for widthwise::torch where it is not built: the program says what is missing.

#include <widthwise/error.hpp>
#include <widthwise/train/torch.hpp>

namespace widthwise {

NetOptions NetOptions::paper() { return {}; }

std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& /*options*/) {
  throw Error(ErrorCode::kMissingEngine,
              "this build has no LibTorch; configure with -DWIDTHWISE_TORCH=ON or use --localizer trees");
}

}  // namespace widthwise
