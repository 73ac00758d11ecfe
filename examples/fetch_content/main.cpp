// Print the 80% and 90% intervals of several rows, which follow each other: intervals MODEL NUMBER...

#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

#include <widthwise/widthwise.hpp>

int main(int argc, char** argv) {
  try {
    const widthwise::Model model = widthwise::load(argc > 1 ? argv[1] : "model.safetensors");
    std::vector<double> x;
    for (int i = 2; i < argc; ++i) x.push_back(std::atof(argv[i]));
    const std::size_t columns = model.parts().features.size();
    const std::size_t n = x.size() / columns;
    const std::vector<widthwise::Level> levels{0.8, 0.9};
    std::vector<double> predictions(n), lower(2 * n), upper(2 * n);
    model.intervals({.x = {x.data(), n, columns}}, levels, predictions, {lower.data(), n, 2}, {upper.data(), n, 2});
    for (std::size_t i = 0; i < n; ++i) {
      std::cout << predictions[i] << ", 80%: " << lower[2 * i] << " to " << upper[2 * i]
                << ", 90%: " << lower[2 * i + 1] << " to " << upper[2 * i + 1] << '\n';
    }
  } catch (const std::exception& error) {
    std::cerr << "intervals: " << error.what() << '\n';
    return 1;
  }
}
