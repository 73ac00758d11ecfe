#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <widthwise/calibration.hpp>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>

#include "base/words.hpp"
#include "support/calibration_rows.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

/// A sample of capacity 2 and seed 7. Every version must read and write these bytes.
constexpr std::array<std::uint8_t, 216> kGolden = {
    0x57, 0x57, 0x43, 0x41, 0x4c, 0x49, 0x42, 0x00,  // "WWCALIB"
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // format 1
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // capacity 2
    0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // seed 7
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // rows have groups
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 2 groups
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  // group -1
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 1 row seen
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 1 row kept
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // without weights
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // no label
    0xc1, 0xbd, 0xb8, 0x66, 0xcc, 0xab, 0xb5, 0x74,  // priority of row 0
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x3f,  // score 1.5
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // above
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // group 3
    0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 3 rows seen
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // 2 rows kept
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // with weights
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // no label
    0x17, 0xf1, 0xfc, 0x04, 0x7c, 0x25, 0x24, 0x05,  // priority of row 1
    0x42, 0xa3, 0x3d, 0x4d, 0x51, 0x84, 0x16, 0x8f,  // priority of row 3
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd0, 0x3f,  // score 0.25
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // score 0
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // both below
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xe0, 0x3f,  // weight 0.5
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40,  // weight 2
    0xd8, 0x8d, 0xeb, 0x31, 0x02, 0xb8, 0x42, 0xc4,  // checksum
};

std::vector<std::byte> golden_bytes() {
  std::vector<std::byte> bytes;
  for (const std::uint8_t byte : kGolden) bytes.push_back(std::byte{byte});
  return bytes;
}

TEST(CalibrationBytes, OfTheGoldenSampleNeverChange) {
  Calibration calibration({.capacity = 2, .seed = 7});
  calibration.add(0, {.score = 1.5, .above = true, .group = -1});
  calibration.add(1, {.score = 0.25, .weight = 0.5, .group = 3});
  calibration.add(2, {.score = kInfinity, .above = true, .group = 3});
  calibration.add(3, {.score = -0.0, .weight = 2, .group = 3});
  EXPECT_EQ(calibration.serialise(), golden_bytes());

  const Calibration read = Calibration::deserialise(golden_bytes());
  EXPECT_EQ(read.serialise(), golden_bytes());
  EXPECT_EQ(read.options().capacity, 2U);
  EXPECT_EQ(read.options().seed, 7U);
  EXPECT_EQ(read.rows_seen(), 4U);
  EXPECT_EQ(read.rows_kept(), 3U);
  ASSERT_EQ(read.rows(-1).size(), 1U);
  EXPECT_EQ(read.rows(-1)[0].score, 1.5);
  EXPECT_TRUE(read.rows(-1)[0].above);
  EXPECT_EQ(read.rows(-1)[0].weight, 1);
  ASSERT_EQ(read.rows(3).size(), 2U);
  EXPECT_EQ(read.rows(3)[0].score, 0.25);
  EXPECT_EQ(read.rows(3)[1].weight, 2);
}

TEST(CalibrationBytes, ReadBackTakeRowsAsIfTheyHadNeverBeenWritten) {
  Random random(6);
  for (const std::uint64_t capacity : {1U, 64U, 65U, 128U, 10'000U}) {
    const std::vector<CalibrationRow> rows = assorted_rows(1500, random);
    Calibration calibration({.capacity = capacity});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      calibration.add(i, rows[i]);
      if (i % 100 == 0) calibration = Calibration::deserialise(calibration.serialise());
    }
    EXPECT_EQ(calibration.serialise(), calibration_of(rows, {.capacity = capacity}).serialise());
  }
}

TEST(CalibrationBytes, AreRefusedWhereverTheyAreCut) {
  Random random(7);
  const std::vector<std::byte> bytes = calibration_of(assorted_rows(30, random), {.capacity = 8}).serialise();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    expect_error(ErrorCode::kBadData, "Calibration::deserialise: ", [&] { (void)Calibration::deserialise(cut); });
    if (size % 8 != 0 || size == 0) continue;
    internal::seal_words(cut);
    expect_error(ErrorCode::kBadData, "Calibration::deserialise: ", [&] { (void)Calibration::deserialise(cut); });
  }
}

/// Flip random bits; the bytes must be rejected or be written unchanged.
void expect_flips_are_survived(const std::vector<std::byte>& bytes, bool repair, int repetitions, Random& random) {
  int read = 0;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<std::byte> flipped = bytes;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      flipped[random.below(flipped.size())] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (repair) internal::seal_words(flipped);
    const std::optional<Error> error = error_of([&] {
      ASSERT_EQ(Calibration::deserialise(flipped).serialise(), flipped);
      ++read;
    });
    if (error) {
      ASSERT_EQ(error->code(), ErrorCode::kBadData) << error->what();
    }
  }
  // Scores and weights have no redundancy but the checksum.
  EXPECT_EQ(read > 0, repair);
}

TEST(CalibrationBytes, WithFlippedBitsAreRefusedOrReadConsistently) {
  Random random(8);
  for (const bool weights : {false, true}) {
    const std::vector<std::byte> bytes =
        calibration_of(assorted_rows(40, random, weights), {.capacity = 9}).serialise();
    expect_flips_are_survived(bytes, false, 10'000, random);
    expect_flips_are_survived(bytes, true, 10'000, random);
  }
}

TEST(CalibrationBytes, AreRefusedWithTheReason) {
  const auto refused = [](const std::string& part, const std::function<void(std::vector<std::byte>&)>& change) {
    std::vector<std::byte> bytes = golden_bytes();
    change(bytes);
    internal::seal_words(bytes);
    expect_error(ErrorCode::kBadData, part, [&] { (void)Calibration::deserialise(bytes); });
  };
  const auto with = [&](std::size_t index, std::uint64_t word, const std::string& part) {
    refused(part, [&](std::vector<std::byte>& bytes) { internal::store_word(bytes, index, word); });
  };
  constexpr std::uint64_t kAllBits = std::numeric_limits<std::uint64_t>::max();
  with(0, 1, "expected a calibration");
  with(1, 0, "expected format 1, found 0");
  with(1, 2, "format 2 is newer than this program (1)");
  with(2, 0, "capacity is 0");
  with(2, 1, "above the capacity");
  with(2, 3, "does not match the number of rows seen");
  with(4, 4, "invalid kind of groups");
  with(4, 0, "more than one group in a calibration without groups");
  with(4, 2, "invalid mark of weights");
  with(5, 0, "there are no groups");
  with(5, 1, "bytes after the last group");
  with(5, 3, "unexpected end");
  with(5, kAllBits, "unexpected end");
  with(6, 3, "groups are not in order");
  with(7, 0, "does not match the number of rows seen");
  with(7, 2, "does not match the number of rows seen");
  with(8, 0, "rows kept is 0");
  with(9, 2, "invalid mark of weights");
  with(10, 8, "the label is");
  with(10, kAllBits, "invalid length of the label");
  with(13, 2, "more sides than rows");
  with(15, kAllBits, "more than 2^63 rows");
  with(19, kAllBits, "priorities are not in order");
  with(19, 0x8f1684514d3da342U, "priorities are not in order");
  with(20, 0x74b5abcc66b8bdc1U, "row number 0 was added twice, to group -1 and to group 3");
  with(21, std::bit_cast<std::uint64_t>(kNaN), "a score is NaN");
  with(22, std::bit_cast<std::uint64_t>(-0.0), "a score is -0");
  for (const double weight : {0.0, -1.0, kInfinity, kNaN}) {
    with(24, std::bit_cast<std::uint64_t>(weight), "a weight is not positive and finite");
  }
  refused("all weights are 1", [](std::vector<std::byte>& bytes) {
    internal::store_word(bytes, 15, 2);
    internal::store_word(bytes, 24, std::bit_cast<std::uint64_t>(1.0));
    internal::store_word(bytes, 25, std::bit_cast<std::uint64_t>(1.0));
  });
  refused("unexpected end", [](std::vector<std::byte>& bytes) {
    // A row count that would need more memory than there is.
    internal::store_word(bytes, 2, kAllBits);
    internal::store_word(bytes, 7, std::uint64_t{1} << 62U);
    internal::store_word(bytes, 8, std::uint64_t{1} << 62U);
  });
  refused("whole 64-bit words", [](std::vector<std::byte>& bytes) { bytes.push_back(std::byte{0}); });
  std::vector<std::byte> changed = golden_bytes();
  changed[80] ^= std::byte{1};
  expect_error(ErrorCode::kBadData, "checksum", [&] { (void)Calibration::deserialise(changed); });
}

}  // namespace
}  // namespace widthwise
