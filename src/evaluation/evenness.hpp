#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/evaluation.hpp>

#include "evaluation/diagnostics/bins.hpp"
#include "evaluation/places.hpp"

namespace widthwise::internal {

/// Tests whether coverage is the same everywhere: the places and gaps of one level, with one family-wise error. Each
/// bin is tested once, in both directions; the corrected p-values decide which bins are weak and by what coverage is
/// uneven.
class EvennessTest {
 public:
  /// `levels` are evaluated together and share the error rate.
  EvennessTest(const PlaceTest& test, const Level& level, std::size_t levels)
      : test_(test), level_(level), levels_(static_cast<double>(levels)) {}

  /// Add the bins of one variable, chosen without regard to outcomes; row numbers are looked up in `numbers` unless it
  /// is empty. Returns the smallest p-value. The bins must not move until `finish`.
  double add(PlaceKind kind, std::size_t feature, std::span<BinRows> bins, std::span<const std::size_t> numbers);

  /// Test a place that was chosen on one half of the rows; return whether it is weak.
  bool add_searched_range(Place place, std::span<const std::size_t> search, std::span<const std::size_t> measured);
  bool add_searched_slab(Place place, std::span<const std::size_t> search, std::span<const std::size_t> measured);

  /// Mark the weak bins, and set the places and gaps of the result, whose verdict is known.
  void finish(LevelEvaluation& result) &&;

 private:
  /// A tested bin, where its mark is stored, and the index of its variable in gaps_.
  struct TestedBin {
    Place place;
    Tails tails;
    Bin* bin;
    std::size_t gap;
  };

  bool add_searched(Place place, double error, std::span<const std::size_t> search,
                    std::span<const std::size_t> measured);
  void decide();

  const PlaceTest& test_;
  const Level& level_;
  double levels_;
  std::vector<TestedBin> bins_;
  std::vector<CoverageGap> gaps_;
  std::uint64_t searched_ = 0;
  std::vector<WeakPlace> weak_;
};

}  // namespace widthwise::internal
