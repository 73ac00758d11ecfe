#include "report/bins.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::internal {

std::string name_of_bin(const Bin& bin) {
  if (!bin.label.empty()) return printable(bin.label);
  if (std::isnan(bin.low)) return "missing";
  return bin.low == bin.high ? significant(bin.low) : significant(bin.low) + " to " + significant(bin.high);
}

std::vector<std::size_t> lowest_bins(std::span<const Bin> bins, std::size_t max) {
  std::vector<std::size_t> order(bins.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (bins.size() <= max) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(!bins[i].weak, bins[i].coverage.share); });
  order.resize(max);
  std::ranges::sort(order);
  return order;
}

}  // namespace widthwise::internal
