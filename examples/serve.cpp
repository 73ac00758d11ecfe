// Serve intervals from a model file. Links only widthwise::core.
//
//   serve MODEL LEVEL < rows.csv
//
// Each input line holds the features in the order of the model file (an empty cell is a missing value) and, if the
// model has no base model, the prediction. Each output line is: prediction,lower,upper.

#include <array>
#include <charconv>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>

namespace {

void read_numbers(std::string_view line, std::vector<double>& out) {
  out.clear();
  while (true) {
    const auto comma = line.find(',');
    const std::string_view cell = line.substr(0, comma);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (!cell.empty() && std::from_chars(cell.data(), cell.data() + cell.size(), value).ec != std::errc()) {
      throw widthwise::Error(widthwise::ErrorCode::kBadData, "'" + std::string(cell) + "' is not a number");
    }
    out.push_back(value);
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

std::string text_of(double x) {
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr};
}

int serve(const char* file, const char* level_text) {
  const widthwise::Model model = widthwise::load(file);
  const widthwise::Level level = widthwise::Level::parse(level_text);
  std::vector<double> numbers;
  std::string line;
  while (std::getline(std::cin, line)) {
    read_numbers(line, numbers);
    std::optional<double> prediction;
    if (model.needs_predictions()) {
      prediction = numbers.back();
      numbers.pop_back();
    }
    const widthwise::Interval interval = model.interval(numbers, level, prediction);
    double f = prediction.value_or(0);
    if (!prediction) model.predictions({{numbers.data(), 1, numbers.size()}}, {&f, 1});
    std::cout << text_of(f) << ',' << text_of(interval.lower) << ',' << text_of(interval.upper) << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: serve MODEL LEVEL < rows.csv\n";
    return 2;
  }
  try {
    return serve(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "serve: " << error.what() << '\n';
    return 1;
  }
}
