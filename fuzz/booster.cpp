// Read bytes as a model saved by XGBoost: an error, or trees that can be evaluated.
#include <limits>
#include <vector>

#include <widthwise/train/xgboost.hpp>

#include "target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)widthwise::fuzz::accepted([&] {
    const auto trees = widthwise::read_trees(std::as_bytes(std::span(data, size)));
    constexpr std::size_t kMaxNumbers = 1'000'000;  // larger models are valid, but evaluating them tests nothing more
    if (trees->inputs() > kMaxNumbers || trees->outputs() > kMaxNumbers) return;
    std::vector<double> row(trees->inputs(), 0.5);
    if (!row.empty()) row[0] = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> out(trees->outputs());
    trees->evaluate({row.data(), 1, row.size()}, {out.data(), 1, out.size()});
  });
  return 0;
}
