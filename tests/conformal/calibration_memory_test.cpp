// Adding a hundred million scores needs only the memory of the sample.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/random.hpp>

#include "support/allocation_counter.hpp"

namespace widthwise {
namespace {

/// A line of /proc/self/status, in MB; 0 where there is none.
double memory(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == line && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

/// Add scores in blocks, optionally with unordered keys, and return the maximum growth of memory in MB.
double peak_of(std::uint64_t rows, bool keyed) {
  constexpr std::size_t kBlock = 100'000;
  std::vector<double> scores(kBlock);
  std::vector<std::uint64_t> keys(keyed ? kBlock : 0);
  Random random(1);
  for (double& score : scores) score = random.uniform();
  std::ofstream("/proc/self/clear_refs") << "5";  // reset the peak
  const double before = memory("VmRSS:");
  Calibration calibration;
  for (std::uint64_t first = 0; first < rows; first += kBlock) {
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix_bits(first + i);
    if (keyed) {
      calibration.add(keys, scores);
    } else {
      calibration.add(first, scores);
    }
  }
  EXPECT_EQ(calibration.rows_seen(), rows);
  EXPECT_EQ(calibration.rows_kept(), 1'000'000U);
  return memory("VmHWM:") - before;
}

/// A sample of a million rows of 32 bytes and a quarter more, nearly as much again when it last grows, and 17 MB for
/// the table of their numbers, which half of it precedes.
constexpr double kMaxMegabytes = 100;

void expect_little_memory(std::uint64_t rows) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer's memory is its own";
  if (memory("VmHWM:") == 0) GTEST_SKIP() << "this system does not tell the memory of a process";
  for (const bool keyed : {false, true}) {
    const double peak = peak_of(rows, keyed);
    std::cout << rows << " scores" << (keyed ? " under keys" : "") << ": " << peak << " MB\n";
    EXPECT_LT(peak, kMaxMegabytes);
  }
}

TEST(CalibrationMemory, IsThatOfTheSampleForThreeMillionScores) { expect_little_memory(3'000'000); }

TEST(CalibrationMemory, AMillionRowsAreSentAs16Megabytes) {
  const std::vector<double> scores(1'000'000, 0.5);
  const std::vector<double> weights(scores.size(), 2.0);
  const auto above = std::make_unique<bool[]>(scores.size());
  Calibration plain;
  plain.add(0, scores, {above.get(), scores.size()});
  EXPECT_LT(plain.serialise().size(), 16'200'000U);
  Calibration weighted;
  weighted.add(0, scores, {above.get(), scores.size()}, weights);
  EXPECT_LT(weighted.serialise().size(), 24'200'000U);
}

TEST(SlowCalibrationMemory, IsThatOfTheSampleForAHundredMillionScores) { expect_little_memory(100'000'000); }

}  // namespace
}  // namespace widthwise
