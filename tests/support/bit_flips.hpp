#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <widthwise/error.hpp>

namespace widthwise {

/// Flip one bit at a time, 5,000 evenly spaced bits or every bit if there are fewer, and expect `load` to reject all of
/// them with kBadData.
template <class Load>
void expect_flips_are_refused(std::vector<std::byte> bytes, const Load& load) {
  const std::uint64_t bits = 8 * bytes.size();
  const std::uint64_t flips = std::min<std::uint64_t>(bits, 5000);
  ASSERT_NO_THROW(load(bytes));
  std::uint64_t loaded = 0;
  for (std::uint64_t i = 0; i < flips; ++i) {
    const std::uint64_t bit = i * bits / flips;
    std::byte& byte = bytes[bit / 8];
    const auto mask = std::byte{1} << (bit % 8);
    byte ^= mask;
    try {
      load(bytes);
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
    }
    byte ^= mask;
  }
  EXPECT_EQ(loaded, 0U) << "of " << flips;
}

}  // namespace widthwise
