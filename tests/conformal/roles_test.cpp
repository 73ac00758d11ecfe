#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <widthwise/error.hpp>
#include <widthwise/roles.hpp>
#include <widthwise/rows.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

constexpr Step kSteps[] = {Step::kFit, Step::kCalibrate, Step::kPredict, Step::kEvaluate};

TEST(Roles, HaveAnEntryEachInTheOrderOfTheEnumeration) {
  ASSERT_EQ(roles().size(), kRoles);
  for (std::size_t i = 0; i < kRoles; ++i) {
    const RoleEntry& entry = roles()[i];
    EXPECT_EQ(static_cast<std::size_t>(entry.role), i);
    EXPECT_TRUE(std::ranges::any_of(kSteps, [&](Step step) { return entry.reads(step); })) << entry.name;
    EXPECT_EQ(&entry_of(entry.role), &entry);
  }
  EXPECT_EQ(entry_of(Role::kSampleWeight).option(), "--sample-weight");
}

TEST(Roles, HaveAColumnEachInRows) {
  std::vector<bool> found(kRoles);
  const Rows rows;
  for_each_column(rows, [&](Role role, const auto&) { found[static_cast<std::size_t>(role)] = true; });
  for (const RoleEntry& entry : roles()) EXPECT_TRUE(found[static_cast<std::size_t>(entry.role)]) << entry.name;
}

TEST(Roles, AreRefusedByOneSentenceInEachOrder) {
  for (const Conflict& conflict : conflicts()) {
    const std::string sentence = Combination().add(conflict.first).add(conflict.second).refusal();
    EXPECT_EQ(sentence, Combination().add(conflict.second).add(conflict.first).refusal());
    EXPECT_EQ(sentence.find('{'), std::string::npos) << sentence;
    EXPECT_FALSE(name_of(conflict.first).empty());
    int same = 0;
    for (const Conflict& other : conflicts()) {
      same += (other.first == conflict.first && other.second == conflict.second) ||
              (other.first == conflict.second && other.second == conflict.first);
    }
    EXPECT_EQ(same, 1) << sentence;
  }
}

TEST(Roles, RefusalsNameTheColumns) {
  const RoleNames names = {{Role::kCluster, "patient"}, {Role::kTime, "day"}};
  EXPECT_EQ(
      message_of([&] { Combination().add(names).check("fit"); }, ErrorCode::kInvalidArgument),
      "fit: clusters in 'patient' and the time in 'day' cannot be combined: a split by time separates the rows of "
      "a cluster; use one of them");
  EXPECT_EQ(Combination().add(RoleNames{{Role::kCluster, "patient"}}).refusal(), "");
  EXPECT_EQ(Combination().add(Role::kClusterSize).refusal(),
            "found sizes of clusters, but the model has no clusters; leave them out");
  EXPECT_EQ(need_of(Role::kGroup, "store"),
            "the model calibrates each group in 'store' separately; pass a group for every row");
}

TEST(Roles, RefuseCellsByTheRuleOfTheRole) {
  const std::vector<std::int64_t> groups = {1, kNoGroup};
  EXPECT_EQ(
      message_of([&] { check_cells(Role::kGroup, groups, {.where = "a.csv", .column = "store", .first_row = 10}); },
                 ErrorCode::kBadData),
      "a.csv: row 12: 'store' is missing; remove the rows without a label, or give them one");
  const std::vector<double> weights = {1, 0};
  const std::vector<std::string> ids = {"", "A-204\n"};
  EXPECT_NE(message_of([&] { check_cells(Role::kWeight, weights, {.where = "a.csv", .column = "w", .ids = ids}); },
                       ErrorCode::kBadData)
                .find("a.csv: row 2, id A-204?: the weight 'w' is 0; expected a positive number"),
            std::string::npos);
}

const char* name_of_kind(RoleKind kind) {
  switch (kind) {
    case RoleKind::kLabel:
      return "label";
    case RoleKind::kNumber:
      return "number";
    case RoleKind::kTime:
      return "time";
    case RoleKind::kText:
      return "text";
  }
  return "";
}

const char* name_of_step(Step step) {
  switch (step) {
    case Step::kFit:
      return "fit";
    case Step::kCalibrate:
      return "calibrate";
    case Step::kPredict:
      return "predict";
    case Step::kEvaluate:
      return "evaluate";
  }
  return "";
}

/// The table of docs/options.md.
std::string table_of_roles() {
  std::string text =
      "| C++, Python | command line | cells | read by | a missing cell is | not with |\n|---|---|---|---|---|---|\n";
  for (const RoleEntry& entry : roles()) {
    std::string steps;
    for (const Step step : kSteps) {
      if (entry.reads(step)) steps += (steps.empty() ? "" : ", ") + std::string(name_of_step(step));
    }
    std::string others;
    for (const Conflict& conflict : conflicts()) {
      const Part own = entry.role;
      if (!(conflict.first == own) && !(conflict.second == own)) continue;
      others += (others.empty() ? "" : ", ") + name_of(conflict.first == own ? conflict.second : conflict.first);
    }
    text += std::string("| `") + entry.plural + "` | `" + entry.option() + "` | " + name_of_kind(entry.kind) + " | " +
            steps + " | " + entry.missing + " | " + others + " |\n";
  }
  return text;
}

/// WIDTHWISE_UPDATE=1 writes the table instead of comparing it.
TEST(Roles, AreThoseOfTheDocuments) {
  const std::filesystem::path file = std::filesystem::path(WIDTHWISE_TEST_FOLDER).parent_path() / "docs/options.md";
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string start = "<!-- roles -->\n\n";
  const std::size_t begin = page.find(start) + start.size();
  const std::size_t end = page.find("<!-- end of roles -->");
  ASSERT_LE(begin, end);
  const std::string table = table_of_roles() + "\n";
  if (std::getenv("WIDTHWISE_UPDATE") == nullptr) {
    EXPECT_EQ(page.substr(begin, end - begin), table) << "stale: run the test with WIDTHWISE_UPDATE=1";
    return;
  }
  std::ofstream(file) << page.substr(0, begin) << table << page.substr(end);
}

TEST(Rows, SlicesAndSelectionsHaveAllColumns) {
  const std::vector<double> numbers = {0, 1, 2, 3};
  const std::vector<std::int64_t> labels = {10, 11, 12, 13};
  const std::vector<std::string> texts = {"0", "1", "2", "3"};
  Rows rows{.x = {numbers.data(), 4, 1}, .predictions = numbers};
  for_each_column(rows, [&](Role, auto& values) {
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::span<const double>>) {
      values = numbers;
    } else if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::span<const std::int64_t>>) {
      values = labels;
    } else {
      values = texts;
    }
  });
  const Rows part = rows.slice(1, 2);
  const std::vector<std::size_t> order = {2, 0};
  const RoleColumns selected(rows, order);
  Rows some;
  selected.set(some);
  const auto last_digit = [](const auto& value) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
      return static_cast<int>(value) % 10;
    } else {
      return std::stoi(value);
    }
  };
  for_each_column(part, [&](Role, const auto& values) {
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(last_digit(values[0]), 1);
  });
  for_each_column(some, [&](Role role, const auto& values) {
    if (role == Role::kId) {
      EXPECT_TRUE(values.empty());  // no step that selects rows names them
      return;
    }
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(last_digit(values[0]), 2);
    EXPECT_EQ(last_digit(values[1]), 0);
  });
  EXPECT_EQ(part.name_of_row(1), "row 3, id 2");
  rows.weights = rows.weights.first(3);
  EXPECT_EQ(message_of([&] { rows.check_shapes("fit"); }, ErrorCode::kShapeMismatch), "fit: 4 rows of x but 3 weights");
}

}  // namespace
}  // namespace widthwise
