#include <widthwise/train/trainer.hpp>

#include <string>

#include <widthwise/error.hpp>

namespace widthwise {

void report(const ProgressCallback& callback, const Progress& progress) {
  if (!callback || callback(progress)) return;
  throw Error(ErrorCode::kCancelled, std::string(progress.stage) + ": cancelled");
}

}  // namespace widthwise
