#include <cstdio>
#include <cstring>
#include <vector>

#include <widthwise/widthwise.hpp>

int main() {
  std::printf("widthwise %s\n", widthwise::kVersion);
  if (std::strcmp(widthwise::kVersion, EXPECTED_VERSION) != 0) {
    std::fprintf(stderr, "expected version %s\n", EXPECTED_VERSION);
    return 1;
  }

  // Residuals 1 to 9: at 90 % the ninth smallest of the nine bounds the interval.
  const std::vector<double> predictions(9, 0.0);
  const std::vector<double> outcomes = {5, -1, 3, 9, -2, 4, -8, 7, 6};
  const widthwise::ConformalRule rule(widthwise::make_transform("identity"));
  widthwise::Calibration calibration;
  rule.calibrate(calibration, {predictions, {nullptr, predictions.size(), 0}}, outcomes, 0);
  const widthwise::ConformalPredictor predictor(rule, calibration);
  const widthwise::Interval interval = predictor.interval(10, {}, 0.9);
  std::printf("[%.3f, %.3f]\n", interval.lower, interval.upper);
  return interval.lower <= 1 && interval.lower > 0.999 && interval.upper >= 19 && interval.upper < 19.001 ? 0 : 1;
}
