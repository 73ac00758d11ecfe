#include <algorithm>
#include <cmath>
#include <set>

#include "base/message.hpp"
#include "base/text.hpp"
#include "report/page/figures.hpp"
#include "report/sentences.hpp"

namespace widthwise::internal {
namespace {

/// Bins that are ranges of finite numbers.
std::vector<Bin> ranges_of(std::vector<Bin> bins) {
  std::erase_if(
      bins, [](const Bin& bin) { return !bin.label.empty() || !std::isfinite(bin.low) || !std::isfinite(bin.high); });
  return bins;
}

/// Whether rounded ends of ranges still differ where the ends do.
bool tell_apart(const std::vector<Bin>& ranges, int decimals) {
  const double scale = std::pow(10, decimals);
  const auto rounded = [&](double end) { return std::nearbyint(end * scale); };
  std::set<double> lows;
  std::set<double> rounded_lows;
  for (const Bin& bin : ranges) {
    if (bin.low != bin.high && rounded(bin.low) == rounded(bin.high)) return false;
    lows.insert(bin.low);
    rounded_lows.insert(rounded(bin.low));
  }
  return lows.size() == rounded_lows.size();
}

/// "47.10", or "12,384.5" with commas.
std::string with_decimals(double x, int decimals, bool commas) {
  const std::string text = fmt::format("{:.{}f}", x, decimals);
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto whole = read_whole<std::uint64_t>(std::string_view(text).substr(sign, point - sign));
  return whole && commas ? text.substr(0, sign) + count(*whole) + text.substr(point) : text;
}

/// Labels, or ranges with the fewest decimals that tell them apart: "47.10 to 47.17".
std::vector<std::string> names_of(const std::vector<Bin>& bins) {
  constexpr int kMaxDecimals = 6;
  constexpr double kLarge = 1e9;
  constexpr double kGrouped = 1e4;  // years have no commas
  const std::vector<Bin> ranges = ranges_of(bins);
  int decimals = 0;
  while (decimals <= kMaxDecimals && !tell_apart(ranges, decimals)) ++decimals;
  const bool commas = std::ranges::any_of(
      ranges, [](const Bin& bin) { return std::max(std::abs(bin.low), std::abs(bin.high)) >= kGrouped; });
  const auto text = [&](double end) {
    const bool rounds = decimals <= kMaxDecimals && std::abs(end) < kLarge;
    return rounds ? with_decimals(end, decimals, commas) : significant(end);
  };
  std::vector<std::string> names;
  for (const Bin& bin : bins) {
    const bool is_range = bin.label.empty() && !std::isnan(bin.low);
    names.push_back(!is_range             ? name_of_bin(bin)
                    : bin.low == bin.high ? text(bin.low)
                                          : text(bin.low) + " to " + text(bin.high));
  }
  return names;
}

double share_of(const Bin& bin) { return bin.coverage.share; }

std::string caption_of(const std::vector<Bin>& bins, const BinsFigure& figure) {
  if (bins.size() == 1) return "All rows are of one kind: " + figure.y_name + " is " + figure.names.front() + ".";
  const auto text = [&](std::vector<Bin>::const_iterator bin) {
    return percent(share_of(*bin)) + " (" + figure.names[static_cast<std::size_t>(bin - bins.begin())] + ")";
  };
  const auto weak = static_cast<std::size_t>(std::ranges::count_if(bins, &Bin::weak));
  const std::string found = weak == 0   ? "no bin lies"
                            : weak == 1 ? "one bin lies"
                                        : count(weak) + " of " + count(bins.size()) + " bins lie";
  return "Coverage ranges from " + text(std::ranges::min_element(bins, {}, share_of)) + " to " +
         text(std::ranges::max_element(bins, {}, share_of)) + "; " + found + " below the level by more than chance.";
}

}  // namespace

BinsFigure bins_figure(const std::vector<Bin>& bins, const Level& level, const std::string& called,
                       const std::string& name) {
  constexpr std::size_t kBinsShown = 15;
  BinsFigure figure;
  figure.x_name = "coverage";
  figure.y_name = name;
  figure.names = names_of(bins);
  figure.shown = lowest_bins(bins, kBinsShown);
  figure.heading = "Coverage by " + called;
  figure.caption = caption_of(bins, figure);
  figure.legend = {"95% confidence", "below the level", "level " + written(LevelName{level.value()})};
  if (std::ranges::any_of(bins, [](const Bin& bin) { return !bin.label.empty(); })) {
    std::ranges::stable_sort(figure.shown, {}, [&](std::size_t i) { return share_of(bins[i]); });
    figure.heading += ", the lowest first";
  }
  if (figure.shown.size() < bins.size()) {
    const std::string shown = count(figure.shown.size()) + " of " + count_of(bins.size(), "bin");
    figure.heading += " (" + shown + ")";
    figure.notes = {shown};
  }
  double left = level.value();
  for (const std::size_t i : figure.shown) {  // the confidence intervals of a few rows would take most of the axis
    const Proportion& coverage = bins[i].coverage;
    left = std::min(left, coverage.trials < kMinBinRows ? coverage.share : coverage.low);
  }
  figure.x_low = std::max(left - 0.04 * (1 - left), 0.0);
  figure.x_high = 1 + 0.02 * (1 - figure.x_low);
  for (const Bin& bin : bins) {
    const bool some_finite = bin.infinite < bin.coverage.trials;
    figure.widths.push_back(significant(some_finite ? bin.finite_mean_width : bin.mean_width, 3));
  }
  return figure;
}

}  // namespace widthwise::internal
