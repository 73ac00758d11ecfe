#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <parquet/arrow/writer.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>

#include "support/errors.hpp"

namespace widthwise {
namespace {

using std::filesystem::path;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class LabelColumns : public ::testing::Test {
 protected:
  LabelColumns()
      : folder_(path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::create_directories(folder_);
  }
  ~LabelColumns() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] path csv(const std::string& text) const {
    std::ofstream(folder_ / "a.csv", std::ios::binary) << text;
    return folder_ / "a.csv";
  }

  /// A file with one column "a".
  [[nodiscard]] path parquet(const std::shared_ptr<arrow::Array>& column) const {
    const path file = folder_ / "a.parquet";
    const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
    const auto table = arrow::Table::Make(arrow::schema({arrow::field("a", column->type())}), {column});
    const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    EXPECT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 2,
                                           parquet::default_writer_properties(), properties)
                    .ok());
    EXPECT_TRUE(out->Close().ok());
    return file;
  }
  [[nodiscard]] path parquet(const std::shared_ptr<arrow::DataType>& type, const std::string& json) const {
    return parquet(arrow::json::ArrayFromJSONString(type, json).ValueOrDie());
  }

 private:
  path folder_;
};

std::vector<double> read(const path& file, const SelectedColumn& column, const ReadOptions& options = {}) {
  const auto reader = TableReader::open(file, options);
  reader->select_columns({column}, {});
  return read_numbers(*reader).values;
}

void expect_numbers(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << "row " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

void expect_labels(const path& file, const std::vector<std::string>& labels, const std::vector<double>& numbers) {
  Labels found;
  expect_numbers(read(file, {.name = "a", .collected = &found}, {.batch_rows = 3}), numbers);
  EXPECT_EQ(found, Labels(labels)) << file;
  const Labels sorted = found.sorted();
  std::vector<double> expected;
  for (const double number : numbers) {
    expected.push_back(std::isnan(number) ? kNaN : *sorted.find(found[static_cast<std::size_t>(number)]));
  }
  expect_numbers(read(file, {.name = "a", .known = &sorted}), expected);
}

TEST_F(LabelColumns, AreTheSameInEveryFormat) {
  const std::vector<std::string> labels = {"UA", "AA", "ä b"};
  const std::vector<double> numbers = {0, 1, kNaN, 0, 2, 1};
  expect_labels(csv("a,b\nUA,1\nAA,2\n,3\nUA,4\nä b,5\nAA,6\n"), labels, numbers);
  const char* const json = R"(["UA", "AA", null, "UA", "ä b", "AA"])";
  for (const auto& type : {arrow::utf8(), arrow::large_utf8(), arrow::binary(), arrow::utf8_view(),
                           arrow::dictionary(arrow::int8(), arrow::utf8())}) {
    const path file = parquet(type, json);
    EXPECT_EQ(TableReader::open(file)->columns()[0].kind, ColumnKind::kText) << type->ToString();
    expect_labels(file, labels, numbers);
  }
}

TEST_F(LabelColumns, AreReadAsTextWithoutNumbers) {
  const auto texts = [](const path& file) {
    std::vector<std::string> found;
    expect_numbers(read(file, {.name = "a", .texts = &found}, {.batch_rows = 2}), {kNaN, kNaN, kNaN});
    return found;
  };
  const std::vector<std::string> ids = {"A-204", "", "ä b"};
  EXPECT_EQ(texts(csv("a,b\nA-204,1\nNA,2\nä b,3\n")), ids);
  EXPECT_EQ(texts(csv("a\n007\n\"\"\n-12\n")), (std::vector<std::string>{"007", "", "-12"}));
  for (const auto& type : {arrow::utf8(), arrow::utf8_view(), arrow::dictionary(arrow::int8(), arrow::utf8())}) {
    EXPECT_EQ(texts(parquet(type, R"(["A-204", null, "ä b"])")), ids) << type->ToString();
  }
  EXPECT_EQ(texts(parquet(arrow::int64(), "[9007199254740993, null, -1]")),
            (std::vector<std::string>{"9007199254740993", "", "-1"}));
  EXPECT_EQ(texts(parquet(arrow::boolean(), "[true, null, false]")), (std::vector<std::string>{"true", "", "false"}));
  EXPECT_EQ(texts(parquet(arrow::float64(), "[1.5, null, 2]")), (std::vector<std::string>{"1.5", "", "2"}));
}

TEST_F(LabelColumns, HoldIntegersAndBooleans) {
  expect_labels(csv("a\n7\n-12\nNA\n7.0\n"), {"7", "-12"}, {0, 1, kNaN, 0});
  for (const auto& type : {arrow::int8(), arrow::int64(), arrow::float64(), arrow::float32(),
                           arrow::dictionary(arrow::int8(), arrow::int64())}) {
    expect_labels(parquet(type, "[7, -12, null, 7]"), {"7", "-12"}, {0, 1, kNaN, 0});
  }
  expect_labels(parquet(arrow::uint64(), "[18446744073709551615]"), {"18446744073709551615"}, {0});
  expect_labels(csv("a\nTrue\nfalse\nTRUE\n"), {"true", "false"}, {0, 1, 0});
  expect_labels(parquet(arrow::boolean(), "[true, false, true]"), {"true", "false"}, {0, 1, 0});
  expect_labels(parquet(arrow::null(), "[null, null]"), {}, {kNaN, kNaN});
}

TEST_F(LabelColumns, UnusedValuesOfADictionaryAreNoLabels) {
  const auto column = arrow::DictionaryArray::FromArrays(
                          arrow::json::ArrayFromJSONString(arrow::int8(), "[2, null, 2]").ValueOrDie(),
                          arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["a", "b", "c"])").ValueOrDie())
                          .ValueOrDie();
  expect_labels(parquet(column), {"c"}, {0, kNaN, 0});
}

TEST_F(LabelColumns, UnknownLabelsAreMissing) {
  const Labels known(std::vector<std::string>{"AA", "2.5"});
  expect_numbers(read(csv("a\nAA\nUA\n2.5\n3.5\n"), {.name = "a", .known = &known}), {0, kNaN, 1, kNaN});
  expect_numbers(read(parquet(arrow::float64(), "[2.5, 3.5]"), {.name = "a", .known = &known}), {1, kNaN});
}

TEST_F(LabelColumns, StopCollectingAboveTheMaximum) {
  Labels found;
  expect_numbers(read(csv("a\nb\nc\nd\ne\nb\n"), {.name = "a", .collected = &found, .max_labels = 2}),
                 {0, 1, 2, kNaN, 0});
  EXPECT_EQ(found.size(), 3U);
}

TEST_F(LabelColumns, MayBeReadTwiceAndCarried) {
  Labels first;
  const Labels second(std::vector<std::string>{"x", "b"});
  const auto reader = TableReader::open(csv("a,n\nb,5\nc,6\n"));
  reader->select_columns({{.name = "a", .collected = &first}, {.name = "n"}, {.name = "a", .known = &second}}, {"a"});
  expect_numbers(read_numbers(*reader).values, {0, 5, 1, 1, 6, kNaN});
}

TEST_F(LabelColumns, RefuseOtherValues) {
  Labels found;
  const auto collect = [&](const path& file) {
    return [&found, file] { (void)read(file, {.name = "a", .collected = &found}); };
  };
  expect_error(ErrorCode::kBadData, "a.csv: column 'a', row 2: the number is not an integer; expected text, booleans",
               collect(csv("a\n1\n2.5\n")));
  expect_error(ErrorCode::kBadData, "a.parquet: column 'a', row 3: the number is not an integer",
               collect(parquet(arrow::float64(), "[1, 2, 2.5]")));
  expect_error(ErrorCode::kBadData, "column 'a' has type list", collect(parquet(arrow::list(arrow::int8()), "[[1]]")));
  const path dates = parquet(arrow::timestamp(arrow::TimeUnit::MICRO), "[1, 2]");
  EXPECT_EQ(TableReader::open(dates)->columns()[0].kind, ColumnKind::kTime);
  expect_error(ErrorCode::kBadData, "expected text, booleans or integers; derive numbers from dates", collect(dates));
  expect_error(ErrorCode::kBadData, "expected numbers; derive numbers from dates, such as the hour",
               [&] { (void)read(dates, {.name = "a"}); });
}

TEST_F(LabelColumns, TextThatIsNotUtf8IsRefusedWithItsRow) {
  const std::string latin = "K\xF6ln";
  const Labels known(std::vector<std::string>{"Bonn"});
  const auto bytes = [&](const std::shared_ptr<arrow::DataType>& type) {
    arrow::BinaryBuilder builder(type, arrow::default_memory_pool());
    EXPECT_TRUE(builder.AppendValues({"Bonn", latin}).ok());
    return builder.Finish().ValueOrDie();
  };
  for (const path& file : {csv("a,b\nBonn,1\n" + latin + ",2\n"), parquet(bytes(arrow::binary()))}) {
    Labels collected;
    for (const SelectedColumn& column :
         {SelectedColumn{.name = "a", .known = &known}, SelectedColumn{.name = "a", .collected = &collected}}) {
      expect_error(ErrorCode::kBadData, "column 'a', row 2: the label 'K", [&] { (void)read(file, column); });
      expect_error(ErrorCode::kBadData, "is not UTF-8; convert the table to UTF-8", [&] { (void)read(file, column); });
    }
  }
}

}  // namespace
}  // namespace widthwise
