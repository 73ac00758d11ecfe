// Print the prediction and the 90% interval of a row: intervals MODEL NUMBER...

#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

#include <widthwise/widthwise.hpp>

int main(int argc, char** argv) {
  try {
    const widthwise::Model model = widthwise::load(argc > 1 ? argv[1] : "model.safetensors");
    std::vector<double> row;
    for (int i = 2; i < argc; ++i) row.push_back(std::atof(argv[i]));
    const auto [prediction, lower, upper] = model.predict(row, 0.9);
    std::cout << "widthwise " << widthwise::kVersion << ": " << prediction << ", 90%: " << lower << " to " << upper
              << '\n';
  } catch (const std::exception& error) {
    std::cerr << "intervals: " << error.what() << '\n';
    return 1;
  }
}
