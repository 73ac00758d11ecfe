#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/json/from_string.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>
#include <widthwise/random.hpp>

#include "base/text.hpp"
#include "io/table/cell.hpp"
#include "io/table/csv_text.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

namespace widthwise {
namespace {

using std::filesystem::path;

/// Number of rows of a CSV file that exceeds one block of the reader.
constexpr std::size_t kManyRows = 400'000;

std::string bytes_of(const path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; }

std::vector<double> numbers_in(const path& file, const std::vector<std::string>& columns,
                               const ReadOptions& options = {}) {
  const auto reader = TableReader::open(file, options);
  reader->select(columns, {});
  return read_numbers(*reader).values;
}

std::vector<std::string> names_of(const TableReader& reader) {
  std::vector<std::string> names;
  for (const ColumnInfo& column : reader.columns()) names.push_back(column.name);
  return names;
}

/// Carry all columns from one file to another, selecting `numbers` on the way.
void copy_table(const path& from, const path& to, const std::vector<std::string>& numbers = {},
                const ReadOptions& options = {}) {
  const auto reader = TableReader::open(from, options);
  reader->select(numbers, names_of(*reader));
  const auto writer = TableWriter::open(to, *reader, {});
  TableBatch batch;
  while (reader->next(batch)) writer->write(batch, {nullptr, batch.rows(), 0});
  writer->close();
}

std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

void write_parquet(const path& file, const std::shared_ptr<arrow::Table>& table, std::int64_t rows_in_group = 1000) {
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, rows_in_group,
                                         parquet::default_writer_properties(), properties)
                  .ok());
  ASSERT_TRUE(out->Close().ok());
}

std::shared_ptr<arrow::Table> read_parquet(const path& file) {
  const auto in = arrow::io::ReadableFile::Open(file.string()).ValueOrDie();
  return parquet::arrow::OpenFile(in, arrow::default_memory_pool()).ValueOrDie()->ReadTable().ValueOrDie();
}

/// A table with four rows: a number, another one, zero or its equivalent, and a missing value.
std::shared_ptr<arrow::Table> table_of_every_type() {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  const auto add = [&](const std::string& name, const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
    fields.push_back(arrow::field(name, type));
    columns.push_back(array_of(type, json));
  };
  add("bool", arrow::boolean(), "[true, false, false, null]");
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64()}) {
    add(type->ToString(), type, "[-100, 7, 0, null]");
  }
  for (const auto& type : {arrow::uint8(), arrow::uint16(), arrow::uint32(), arrow::uint64()}) {
    add(type->ToString(), type, "[100, 7, 0, null]");
  }
  for (const auto& type : {arrow::float16(), arrow::float32(), arrow::float64()}) {
    add(type->ToString(), type, "[-2.5, Inf, NaN, null]");
  }
  add("decimal", arrow::decimal128(20, 2), R"(["-12345.25", "0.50", "0.00", null])");
  add("wide_decimal", arrow::decimal256(50, 1), R"(["-12345.5", "0.5", "0.0", null])");
  add("number_dictionary", arrow::dictionary(arrow::int8(), arrow::int64()), "[30, 10, 30, null]");
  add("text", arrow::utf8(), R"(["plain", "comma, \"quote\"", "", null])");
  add("large_text", arrow::large_utf8(), R"(["plain", "line\nbreak", "", null])");
  add("text_dictionary", arrow::dictionary(arrow::int32(), arrow::utf8()), R"(["b", "a", "b", null])");
  add("date", arrow::date32(), "[0, 19000, -1, null]");
  add("time", arrow::timestamp(arrow::TimeUnit::MILLI), "[0, 1500, -1, null]");
  return arrow::Table::Make(arrow::schema(fields), columns, 4);
}

const std::vector<std::string> kNumberColumns = {"bool",  "int8",   "int16",   "int32",        "int64",
                                                 "uint8", "uint16", "uint32",  "uint64",       "halffloat",
                                                 "float", "double", "decimal", "wide_decimal", "number_dictionary"};

class TableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("widthwise_table_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] path at(const std::string& name) const { return folder_ / name; }

  path with_bytes(const std::string& name, const std::string& bytes) {
    write_bytes(at(name), bytes);
    return at(name);
  }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  path folder_;
};

using Table = TableTest;
using TableErrors = TableTest;
using TableWriting = TableTest;
using DamagedTable = TableTest;
using SlowTable = TableTest;

// ---------------------------------------------------------------------------------------------------- cells of CSV

using internal::CellType;

TEST(Cell, HoldsANumberWhateverTheSpelling) {
  const std::vector<std::pair<std::string, double>> numbers = {{"3", 3},
                                                               {"-3", -3},
                                                               {"+3", 3},
                                                               {" 3.5\t", 3.5},
                                                               {"1e3", 1000},
                                                               {".5", 0.5},
                                                               {"5.", 5},
                                                               {"007", 7},
                                                               {"inf", kInfinity},
                                                               {"-Infinity", -kInfinity},
                                                               {"true", 1},
                                                               {"FALSE", 0},
                                                               {"", kNaN},
                                                               {"  ", kNaN},
                                                               {"NA", kNaN},
                                                               {"NaN", kNaN},
                                                               {"null", kNaN},
                                                               {"nan", kNaN},
                                                               {"1e-999", 0},
                                                               {"-1E-999", 0},
                                                               {"0." + std::string(400, '0') + "1", 0},
                                                               {"9007199254740993", 9007199254740992}};
  for (const auto& [text, number] : numbers) {
    const std::optional<double> found = internal::number_in_cell(text);
    ASSERT_TRUE(found.has_value()) << text;
    EXPECT_TRUE(same(*found, number)) << text << " became " << *found;
  }
}

TEST(Cell, HoldsNoNumberWhenAnythingElseIsInIt) {
  for (const std::string text : {"abc", "3x", "3 4", "1,5", "--3", "+-3", "e5", "0x10", "nan(1)", "1e999", "-1e999",
                                 "2020-01-01", "N", "true1", "$3", "+", "-", "."}) {
    EXPECT_FALSE(internal::number_in_cell(text).has_value()) << text;
  }
}

TEST(Cell, HasTheNarrowestLosslessType) {
  const std::vector<std::pair<std::string, CellType>> cells = {{"", CellType::kMissing},
                                                               {"NA", CellType::kMissing},
                                                               {"true", CellType::kBoolean},
                                                               {"False", CellType::kBoolean},
                                                               {"0", CellType::kInteger},
                                                               {"-17", CellType::kInteger},
                                                               {"9223372036854775807", CellType::kInteger},
                                                               {"9223372036854775808", CellType::kReal},
                                                               {"9223372036854775809", CellType::kText},
                                                               {"007", CellType::kText},
                                                               {"-0", CellType::kReal},
                                                               {"1.0", CellType::kReal},
                                                               {"1e3", CellType::kReal},
                                                               {"inf", CellType::kReal},
                                                               {"0.5", CellType::kReal},
                                                               {"abc", CellType::kText},
                                                               {"-", CellType::kText}};
  for (const auto& [text, type] : cells) EXPECT_EQ(internal::type_of_cell(text), type) << text;
}

TEST(Cell, TypesHaveACommonTypeWhateverTheOrder) {
  const std::vector<CellType> types = {CellType::kMissing, CellType::kBoolean, CellType::kInteger, CellType::kReal,
                                       CellType::kText};
  for (const CellType a : types) {
    EXPECT_EQ(common_type(a, a), a);
    EXPECT_EQ(common_type(a, CellType::kMissing), a);
    EXPECT_EQ(common_type(a, CellType::kText), CellType::kText);
    for (const CellType b : types) {
      EXPECT_EQ(common_type(a, b), common_type(b, a));
      for (const CellType c : types) {
        EXPECT_EQ(common_type(common_type(a, b), c), common_type(a, common_type(b, c)));
      }
    }
  }
  EXPECT_EQ(common_type(CellType::kInteger, CellType::kReal), CellType::kReal);
  EXPECT_EQ(common_type(CellType::kInteger, CellType::kBoolean), CellType::kText);
}

// ------------------------------------------------------------------------------------------------------- reading

TEST_F(Table, EveryParquetTypeOfNumbersIsReadAsNumbers) {
  write_parquet(at("a.parquet"), table_of_every_type());
  const auto reader = TableReader::open(at("a.parquet"));
  for (const ColumnInfo& column : reader->columns()) {
    const bool number = std::ranges::find(kNumberColumns, column.name) != kNumberColumns.end();
    EXPECT_EQ(column.kind == ColumnKind::kNumber, number) << column.name;
  }
  EXPECT_EQ(reader->rows(), 4U);
  reader->select(kNumberColumns, {});
  const NumberTable table = read_numbers(*reader);
  ASSERT_EQ(table.rows, 4U);
  ASSERT_EQ(table.columns, kNumberColumns.size());
  EXPECT_EQ(reader->progress(), 1);
  const std::vector<std::vector<double>> expected = {
      {1, -100, -100, -100, -100, 100, 100, 100, 100, -2.5, -2.5, -2.5, -12345.25, -12345.5, 30},
      {0, 7, 7, 7, 7, 7, 7, 7, 7, kInfinity, kInfinity, kInfinity, 0.5, 0.5, 10},
      {0, 0, 0, 0, 0, 0, 0, 0, 0, kNaN, kNaN, kNaN, 0, 0, 30},
      std::vector<double>(kNumberColumns.size(), kNaN)};
  for (std::size_t i = 0; i < table.rows; ++i) {
    for (std::size_t j = 0; j < table.columns; ++j) {
      EXPECT_TRUE(same(table.view()(i, j), expected[i][j])) << "row " << i << ", " << kNumberColumns[j];
    }
  }
}

std::vector<std::uint64_t> keys_in(const path& file, const std::string& column, const ReadOptions& options = {}) {
  const auto reader = TableReader::open(file, options);
  reader->select_key(column);
  reader->select({}, {});
  std::vector<std::uint64_t> keys;
  TableBatch batch;
  while (reader->next(batch)) keys.insert(keys.end(), batch.keys().begin(), batch.keys().end());
  return keys;
}

TEST_F(Table, KeysAreWholeNumbersOf64BitsToTheLast) {
  const path csv = at("keys.csv");
  write_bytes(csv, "id,x\n9007199254740993,1\n-1, 2\n 18446744073709551614 ,3\n007,4\n-9223372036854775808,5\n");
  const std::vector<std::uint64_t> expected = {9007199254740993U, ~std::uint64_t{0}, ~std::uint64_t{1}, 7U,
                                               std::uint64_t{1} << 63U};
  EXPECT_EQ(keys_in(csv, "id"), expected);
  EXPECT_EQ(keys_in(csv, "id", {.batch_rows = 2}), expected);

  const path parquet = at("keys.parquet");
  const auto table_of = [](const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
    return arrow::Table::Make(arrow::schema({arrow::field("id", type)}), {array_of(type, json)});
  };
  write_parquet(parquet, table_of(arrow::int64(), "[9007199254740993, -1]"));
  EXPECT_EQ(keys_in(parquet, "id"), (std::vector<std::uint64_t>{9007199254740993U, ~std::uint64_t{0}}));
  write_parquet(parquet, table_of(arrow::uint64(), "[18446744073709551614]"));
  EXPECT_EQ(keys_in(parquet, "id"), (std::vector<std::uint64_t>{~std::uint64_t{1}}));
  write_parquet(parquet, table_of(arrow::int8(), "[-1, 3]"));
  EXPECT_EQ(keys_in(parquet, "id"), (std::vector<std::uint64_t>{~std::uint64_t{0}, 3U}));
}

TEST_F(Table, RefusesKeysThatAreNotIntegers) {
  const path csv = at("keys.csv");
  for (const char* cell : {"1.5", "1.0", "1e3", "18446744073709551616", "-9223372036854775809", "true", "+-1"}) {
    write_bytes(csv, std::string("id,x\n1,1\n") + cell + ",2\n");
    const std::optional<Error> error = error_of([&] { (void)keys_in(csv, "id"); });
    ASSERT_TRUE(error.has_value()) << cell;
    EXPECT_NE(std::string(error->what()).find("row 2: '"), std::string::npos) << error->what();
  }
  write_bytes(csv, "id,x\n1,1\n,2\n");
  expect_error(ErrorCode::kBadData, "column 'id', row 2: the key is missing", [&] { (void)keys_in(csv, "id"); });
  write_bytes(csv, "id,x\nabc,1\n");
  expect_error(ErrorCode::kBadData, "column 'id', row 1: 'abc' is not a number", [&] { (void)keys_in(csv, "id"); });
  expect_error(ErrorCode::kInvalidArgument, "no column 'ix'", [&] { (void)keys_in(csv, "ix"); });

  const path parquet = at("keys.parquet");
  for (const auto& type : {arrow::float64(), arrow::utf8(), arrow::boolean()}) {
    const std::string json = type->id() == arrow::Type::BOOL     ? "[true]"
                             : type->id() == arrow::Type::STRING ? R"(["1"])"
                                                                 : "[1]";
    write_parquet(parquet, arrow::Table::Make(arrow::schema({arrow::field("id", type)}), {array_of(type, json)}));
    expect_error(ErrorCode::kBadData, "has type " + type->ToString(), [&] { (void)keys_in(parquet, "id"); });
  }
  write_parquet(parquet, arrow::Table::Make(arrow::schema({arrow::field("id", arrow::int64())}),
                                            {array_of(arrow::int64(), "[1, null]")}));
  expect_error(ErrorCode::kBadData, "row 2: the key is missing", [&] { (void)keys_in(parquet, "id"); });
}

TEST_F(Table, BatchesOfAnySizeGiveTheSameRows) {
  Random random(1);
  std::string csv = "a,name,b\n";
  for (int i = 0; i < 5000; ++i) {
    csv += (i % 11 == 0 ? "" : internal::text_of(random.normal())) + ",row " + std::to_string(i) + "," +
           std::to_string(random.below(100)) + "\n";
  }
  with_bytes("a.csv", csv);
  copy_table(at("a.csv"), at("a.parquet"));
  copy_table(at("a.csv"), at("a.csv.gz"));
  const std::vector<double> expected = numbers_in(at("a.csv"), {"b", "a", "b"});
  ASSERT_EQ(expected.size(), 15'000U);
  for (const char* const name : {"a.csv", "a.parquet", "a.csv.gz"}) {
    for (const std::size_t batch_rows : {1U, 7U, 64U, 999U, 5000U, 100'000U}) {
      for (const bool threads : {false, true}) {
        const auto reader = TableReader::open(at(name), {.batch_rows = batch_rows, .threads = threads});
        reader->select({"b", "a", "b"}, {});
        TableBatch batch;
        std::size_t row = 0;
        while (reader->next(batch)) {
          ASSERT_GT(batch.rows(), 0U);
          ASSERT_LE(batch.rows(), batch_rows);
          ASSERT_EQ(batch.first_row(), row);
          for (std::size_t i = 0; i < batch.rows(); ++i, ++row) {
            for (std::size_t j = 0; j < 3; ++j) {
              ASSERT_TRUE(same(batch.numbers()(i, j), expected[row * 3 + j])) << name << ", row " << row;
            }
          }
        }
        EXPECT_EQ(row, 5000U);
        EXPECT_EQ(reader->progress(), 1);
        EXPECT_FALSE(reader->next(batch)) << "the end stays the end";
      }
    }
  }
}

TEST_F(Table, ABatchKeepsItsMemory) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 1000; ++i) csv += "1,2\n";
  const auto reader = TableReader::open(with_bytes("a.csv", csv), {.batch_rows = 300});
  reader->select({"a", "b"}, {});
  TableBatch batch;
  ASSERT_TRUE(reader->next(batch));
  const double* const data = batch.numbers().data();
  while (reader->next(batch)) EXPECT_EQ(batch.numbers().data(), data);
}

TEST_F(Table, ReadsNoColumnsAndCountsTheRows) {
  copy_table(with_bytes("a.csv", "a,b\n1,x\n,\n3,z\n"), at("a.parquet"));
  for (const char* const name : {"a.csv", "a.parquet"}) {
    const auto reader = TableReader::open(at(name));
    reader->select({}, {});
    const NumberTable table = read_numbers(*reader);
    EXPECT_EQ(table.rows, 3U) << name;
    EXPECT_EQ(table.columns, 0U) << name;
  }
}

TEST_F(Table, MissingCellsAreNaN) {
  const std::vector<double> numbers = numbers_in(with_bytes("a.csv", "a,b\n,1\nNA,1\nNaN,1\nnull,1\n5,1\n"), {"a"});
  ASSERT_EQ(numbers.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(numbers[i]));
  EXPECT_EQ(numbers[4], 5);
}

TEST_F(Table, AColumnMayChangeFromIntegersToDecimalsInAnyBlock) {
  std::string csv = "a,b,c\n";
  for (std::size_t i = 0; i < kManyRows; ++i) csv += "12345,,7\n";
  csv += "1.5,2.5,x\n";
  with_bytes("a.csv", csv);
  const std::vector<double> numbers = numbers_in(at("a.csv"), {"a", "b"});
  EXPECT_EQ(numbers.front(), 12345);
  EXPECT_EQ(numbers[numbers.size() - 2], 1.5);
  EXPECT_EQ(numbers.back(), 2.5);
  copy_table(at("a.csv"), at("a.parquet"));
  const std::shared_ptr<arrow::Schema> schema = read_parquet(at("a.parquet"))->schema();
  EXPECT_TRUE(schema->field(0)->type()->Equals(*arrow::float64()));
  EXPECT_TRUE(schema->field(1)->type()->Equals(*arrow::float64()));
  EXPECT_TRUE(schema->field(2)->type()->Equals(*arrow::utf8()));
  copy_table(at("a.csv"), at("b.csv"), {"a"});
  EXPECT_TRUE(bytes_of(at("b.csv")) == csv);
}

TEST_F(Table, ReadsFilesWithAByteOrderMarkOtherLineEndsOrNoneAtTheEnd) {
  const std::vector<double> expected = {1, 2, 3, 4};
  for (const std::string bytes : {"\xEF\xBB\xBFx,y\n1,2\n3,4\n", "x,y\r\n1,2\r\n3,4\r\n", "x,y\n1,2\n3,4",
                                  "x,y\n1,2\n\n3,4\n\n", "\"x\",\"y\"\n\"1\",\"2\"\n3,4\n"}) {
    EXPECT_EQ(numbers_in(with_bytes("a.csv", bytes), {"x", "y"}), expected) << bytes;
  }
}

TEST_F(Table, SelectsManyColumnsInLinearTime) {
  std::vector<std::string> names;
  std::string header;
  std::string row;
  for (int i = 0; i < 60'000; ++i) {
    names.push_back("c" + std::to_string(i));
    header += (i == 0 ? "" : ",") + names.back();
    row += i == 0 ? "1" : ",1";
  }
  with_bytes("a.csv", header + "\n" + row + "\n");
  const auto reader = TableReader::open(at("a.csv"));
  const std::clock_t start = std::clock();
  reader->select(names, names);
  TableBatch batch;
  ASSERT_TRUE(reader->next(batch));
  EXPECT_EQ(batch.numbers().columns(), names.size());
  // 1 s; 47 s were measured for 100,000 columns when each name was compared with all others.
  EXPECT_LT(std::clock() - start, 15 * CLOCKS_PER_SEC);
}

TEST_F(Table, AHeaderAloneIsATableWithoutRows) {
  with_bytes("a.csv", "x,y\n");
  EXPECT_TRUE(numbers_in(at("a.csv"), {"y", "x"}).empty());
  copy_table(at("a.csv"), at("a.parquet"), {"x"});
  EXPECT_TRUE(numbers_in(at("a.parquet"), {"x"}).empty());
  EXPECT_EQ(TableReader::open(at("a.parquet"))->rows(), 0U);
  copy_table(at("a.parquet"), at("b.csv"), {"x"});
  EXPECT_EQ(bytes_of(at("b.csv")), "x,y\n");
}

TEST_F(Table, AFingerprintDependsOnContentsAndNotOnNames) {
  const auto fingerprint = [](const path& file) { return TableReader::open(file)->fingerprint(); };
  for (const std::size_t rows : {3U, 10'000U, 60'000U, 200'000U}) {
    std::string csv = "a\n";
    for (std::size_t i = 0; i < rows; ++i) csv += "1234\n";
    with_bytes("a.csv", csv);
    EXPECT_EQ(fingerprint(at("a.csv")), fingerprint(with_bytes("b.csv", csv)));
    for (const std::size_t place : {std::size_t{2}, 2 + (rows / 2) * 5, csv.size() - 2}) {
      std::string other = csv;
      other[place] = '9';
      EXPECT_NE(fingerprint(at("a.csv")), fingerprint(with_bytes("b.csv", other))) << rows << ", byte " << place;
    }
    EXPECT_NE(fingerprint(at("a.csv")), fingerprint(with_bytes("b.csv", csv + "1234\n")));
  }
  // Callers store it, so it must not depend on the version or the machine.
  EXPECT_EQ(fingerprint(with_bytes("c.csv", "a,b\n1,2\n")), 7847122202866013568U);
}

// ---------------------------------------------------------------------------------------------------- round trips

TEST_F(Table, ParquetToParquetKeepsEveryColumnAsItWas) {
  const std::shared_ptr<arrow::Table> table = table_of_every_type();
  const auto list = array_of(arrow::list(arrow::int64()), "[[1, 2], [], null, [3]]");
  const auto pair = array_of(arrow::struct_({arrow::field("x", arrow::int8()), arrow::field("y", arrow::utf8())}),
                             R"([{"x": 1, "y": "a"}, null, {"x": null, "y": "b"}, {"x": 2, "y": null}])");
  const auto wide = table->AddColumn(2, arrow::field("list", list->type()), std::make_shared<arrow::ChunkedArray>(list))
                        .ValueOrDie()
                        ->AddColumn(0, arrow::field("pair", pair->type()), std::make_shared<arrow::ChunkedArray>(pair))
                        .ValueOrDie();
  write_parquet(at("a.parquet"), wide, 3);
  const std::shared_ptr<arrow::Table> expected = read_parquet(at("a.parquet"));
  for (const std::size_t batch_rows : {1U, 2U, 100U}) {
    copy_table(at("a.parquet"), at("b.pq"), kNumberColumns, {.batch_rows = batch_rows});
    const auto copied = read_parquet(at("b.pq"));
    EXPECT_TRUE(copied->schema()->Equals(*expected->schema())) << copied->schema()->ToString();
    EXPECT_TRUE(copied->Equals(*expected, arrow::EqualOptions::Defaults().nans_equal(true))) << copied->ToString();
  }
}

TEST_F(Table, ParquetBecomesTextInCsv) {
  write_parquet(at("a.parquet"), table_of_every_type());
  copy_table(at("a.parquet"), at("a.csv"), {"int64"});
  EXPECT_EQ(bytes_of(at("a.csv")),
            "bool,int8,int16,int32,int64,uint8,uint16,uint32,uint64,halffloat,float,double,decimal,wide_decimal,"
            "number_dictionary,text,large_text,text_dictionary,date,time\n"
            "true,-100,-100,-100,-100,100,100,100,100,-2.5,-2.5,-2.5,-12345.25,-12345.5,30,plain,plain,b,1970-01-01,"
            "1970-01-01 00:00:00.000\n"
            "false,7,7,7,7,7,7,7,7,inf,inf,inf,0.50,0.5,10,\"comma, \"\"quote\"\"\",\"line\nbreak\",a,2022-01-08,"
            "1970-01-01 00:00:01.500\n"
            "false,0,0,0,0,0,0,0,0,nan,nan,nan,0.00,0.0,30,,,b,1969-12-31,1969-12-31 23:59:59.999\n"
            ",,,,,,,,,,,,,,,,,,,\n");
  const std::vector<double> numbers = numbers_in(at("a.parquet"), kNumberColumns);
  const std::vector<double> again = numbers_in(at("a.csv"), kNumberColumns);
  EXPECT_TRUE(std::ranges::equal(numbers, again, same));
}

TEST_F(Table, CsvToCsvKeepsTheTextOfEveryCell) {
  const std::string csv =
      "id,\"a,b\",price,empty,note\n"
      "007,3,1.50,,\"said \"\"no\"\"\"\n"
      "+1,3.0,1e3,NA, spaces \n"
      "12345678901234567890123,-0,NaN,null,\"two\nlines\"\n"
      "0x1F,+5,inf,,caf\xE9\n";
  with_bytes("a.csv", csv);
  copy_table(at("a.csv"), at("b.csv"), {"price", "a,b"}, {.batch_rows = 2});
  EXPECT_EQ(bytes_of(at("b.csv")), csv);
  copy_table(at("a.csv"), at("c.csv.gz"));
  copy_table(at("c.csv.gz"), at("d.csv"));
  EXPECT_EQ(bytes_of(at("d.csv")), csv);
}

TEST_F(Table, CsvBecomesTypedInParquet) {
  with_bytes("a.csv",
             "whole,real,truth,name,code,none,mixed\n1,1,true,x,007,,1\n,2.5,,,1,NA,true\n-3,NaN,FALSE,NA,2,,3\n");
  copy_table(at("a.csv"), at("a.parquet"), {"whole", "real"});
  const auto table = read_parquet(at("a.parquet"));
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::string>> expected = {
      {arrow::int64(), "[1, null, -3]"},         {arrow::float64(), "[1, 2.5, null]"},
      {arrow::boolean(), "[true, null, false]"}, {arrow::utf8(), R"(["x", null, "NA"])"},
      {arrow::utf8(), R"(["007", "1", "2"])"},   {arrow::float64(), "[null, null, null]"},
      {arrow::utf8(), R"(["1", "true", "3"])"}};
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const auto& [type, json] = expected[j];
    EXPECT_TRUE(table->column(static_cast<int>(j))->chunk(0)->Equals(*array_of(type, json)))
        << table->schema()->field(static_cast<int>(j))->ToString();
  }
}

TEST_F(Table, NumbersSurviveEveryRoundTripToTheLastBit) {
  Random random(7);
  std::string csv = "x,n\n";
  std::vector<double> expected;
  while (expected.size() < 20'000) {
    const auto x = std::bit_cast<double>(random.bits());
    if (std::isnan(x)) continue;
    const auto n = static_cast<std::int64_t>(random.bits() >> random.below(64));
    csv += internal::text_of(x) + "," + std::to_string(n) + "\n";
    expected.push_back(x);
    expected.push_back(static_cast<double>(n));
  }
  with_bytes("a.csv", csv);
  copy_table(at("a.csv"), at("a.parquet"));
  copy_table(at("a.parquet"), at("b.csv"));
  copy_table(at("b.csv"), at("b.parquet"));
  EXPECT_TRUE(bytes_of(at("b.csv")) == csv);
  for (const char* const name : {"a.csv", "a.parquet", "b.parquet"}) {
    EXPECT_EQ(numbers_in(at(name), {"x", "n"}), expected) << name;
  }
}

TEST_F(Table, ARowWithOneEmptyCellIsStillARow) {
  with_bytes("a.csv", "x,y\n1,\n2,\n3,4\n");
  const auto reader = TableReader::open(at("a.csv"));
  reader->select({}, {"y"});
  const auto writer = TableWriter::open(at("b.csv"), *reader, {});
  TableBatch batch;
  while (reader->next(batch)) writer->write(batch, {nullptr, batch.rows(), 0});
  writer->close();
  EXPECT_EQ(numbers_in(at("b.csv"), {"y"}).size(), 3U);
}

// -------------------------------------------------------------------------------------------------------- writing

TEST_F(TableWriting, AddedColumnsComeAfterTheCarriedOnes) {
  with_bytes("in.csv", "a,b,c\n1,x,2\n3,y,4\n5,z,6\n");
  const std::vector<double> added = {0.5, -kInfinity, 1.5, kInfinity, kNaN, 1e300};
  for (const char* const name : {"out.csv", "out.parquet", "out.pq", "out.csv.gz"}) {
    const auto reader = TableReader::open(at("in.csv"), {.batch_rows = 2});
    reader->select({"c"}, {"b", "c"});
    const auto writer = TableWriter::open(at(name), *reader, {"low", "high"});
    TableBatch batch;
    while (reader->next(batch)) {
      writer->write(batch, MatrixView(added.data(), 3, 2).slice(batch.first_row(), batch.rows()));
    }
    writer->close();
    EXPECT_EQ(names_of(*TableReader::open(at(name))), (std::vector<std::string>{"b", "c", "low", "high"}));
    EXPECT_TRUE(std::ranges::equal(numbers_in(at(name), {"low", "high"}), added, same)) << name;
    EXPECT_EQ(numbers_in(at(name), {"c"}), (std::vector<double>{2, 4, 6}));
  }
  EXPECT_EQ(bytes_of(at("out.csv")), "b,c,low,high\nx,2,0.5,-inf\ny,4,1.5,inf\nz,6,nan,1e+300\n");
}

TEST_F(TableWriting, TheOldFileStaysUntilTheNewOneIsClosed) {
  with_bytes("in.csv", "a\n1\n2\n");
  for (const char* const name : {"out.csv", "out.parquet"}) {
    with_bytes(name, "old");
    const auto reader = TableReader::open(at("in.csv"));
    reader->select({}, {"a"});
    const auto writer = TableWriter::open(at(name), *reader, {});
    TableBatch batch;
    ASSERT_TRUE(reader->next(batch));
    writer->write(batch, {nullptr, batch.rows(), 0});
    EXPECT_EQ(bytes_of(at(name)), "old");
    const std::size_t before = files();
    writer->close();
    EXPECT_EQ(numbers_in(at(name), {"a"}), (std::vector<double>{1, 2}));
    EXPECT_EQ(files(), before - 1) << "the temporary file became the file";
    expect_error(ErrorCode::kInvalidArgument, "close", [&] { writer->close(); });
    expect_error(ErrorCode::kInvalidArgument, "close", [&] { writer->write(batch, {nullptr, batch.rows(), 0}); });
  }
}

TEST_F(TableWriting, NothingIsLeftWithoutClose) {
  with_bytes("in.csv", "a\n1\n2\n");
  for (const char* const name : {"out.csv", "out.csv.gz", "out.parquet"}) {
    with_bytes(name, "old");
    const std::size_t before = files();
    const auto fail = [&] {
      const auto reader = TableReader::open(at("in.csv"));
      reader->select({}, {"a"});
      const auto writer = TableWriter::open(at(name), *reader, {});
      TableBatch batch;
      while (reader->next(batch)) writer->write(batch, {nullptr, batch.rows(), 0});
      EXPECT_EQ(files(), before + 1);
      for (const auto& entry : std::filesystem::directory_iterator(at("in.csv").parent_path())) {
        const std::string file = entry.path().filename().string();
        EXPECT_EQ(file.ends_with(".tmp"), file.starts_with("." + std::string(name) + ".")) << file;
      }
      throw Error(ErrorCode::kCancelled, "stop");
    };
    expect_error(ErrorCode::kCancelled, "stop", fail);
    EXPECT_EQ(files(), before);
    EXPECT_EQ(bytes_of(at(name)), "old");
  }
}

TEST_F(TableWriting, AFileMayReplaceTheOneItIsMadeFrom) {
  with_bytes("a.csv", "a,b\n1,x\n2,y\n");
  copy_table(at("a.csv"), at("a.csv"), {"a"});
  EXPECT_EQ(bytes_of(at("a.csv")), "a,b\n1,x\n2,y\n");
}

TEST_F(TableWriting, RefusesWhatDoesNotFit) {
  with_bytes("in.csv", "a,b\n1,2\n");
  const auto reader = TableReader::open(at("in.csv"));
  expect_error(ErrorCode::kInvalidArgument, "select", [&] { (void)TableWriter::open(at("x.csv"), *reader, {}); });
  reader->select({"a"}, {"a", "b"});
  TableBatch batch;
  ASSERT_TRUE(reader->next(batch));
  const std::size_t before = files();
  expect_error(ErrorCode::kInvalidArgument, "duplicate output column 'b'",
               [&] { (void)TableWriter::open(at("x.csv"), *reader, {"b"}); });
  expect_error(ErrorCode::kInvalidArgument, "expected .csv",
               [&] { (void)TableWriter::open(at("x.xlsx"), *reader, {}); });
  expect_error(ErrorCode::kFile, "x.csv", [&] { (void)TableWriter::open(at("none") / "x.csv", *reader, {}); });
  std::filesystem::create_directory(at("folder.csv"));
  expect_error(ErrorCode::kFile, "folder", [&] { (void)TableWriter::open(at("folder.csv"), *reader, {}); });
  EXPECT_EQ(files(), before + 1);
  const auto writer = TableWriter::open(at("x.parquet"), *reader, {"low"});
  const std::vector<double> numbers = {1, 2};
  expect_error(ErrorCode::kShapeMismatch, "expected added columns with 1 rows of 1 numbers",
               [&] { writer->write(batch, {numbers.data(), 2, 1}); });
  expect_error(ErrorCode::kShapeMismatch, "expected added columns with 1 rows of 1 numbers",
               [&] { writer->write(batch, {numbers.data(), 1, 2}); });
  expect_error(ErrorCode::kInvalidArgument, "not from the reader",
               [&] { writer->write(TableBatch(), {numbers.data(), 0, 1}); });
}

TEST_F(TableWriting, RefusesColumnsThatCsvCannotHold) {
  const auto list = array_of(arrow::list(arrow::int64()), "[[1, 2], []]");
  write_parquet(at("a.parquet"), arrow::Table::Make(arrow::schema({arrow::field("lists", list->type())}), {list}));
  expect_error(ErrorCode::kInvalidArgument, "column 'lists' is of type list",
               [&] { copy_table(at("a.parquet"), at("a.csv")); });
  EXPECT_EQ(files(), 1U);
}

TEST_F(TableWriting, RefusesTextInParquetThatIsNotUtf8) {
  with_bytes("a.csv", "name\ncaf\xE9\n");
  expect_error(ErrorCode::kBadData, "is not UTF-8", [&] { copy_table(at("a.csv"), at("a.parquet")); });
  EXPECT_EQ(files(), 1U);
}

// --------------------------------------------------------------------------------------------------------- errors

TEST_F(TableErrors, AMisspeltColumnIsSuggestedOrTheColumnsAreListed) {
  copy_table(with_bytes("homes.csv", "price,rooms,name\n1,2,x\n"), at("homes.parquet"));
  for (const char* const name : {"homes.csv", "homes.parquet"}) {
    const auto reader = TableReader::open(at(name));
    expect_error(ErrorCode::kInvalidArgument, std::string(name) + ": no column 'prize'; did you mean 'price'?",
                 [&] { reader->select({"prize"}, {}); });
    expect_error(ErrorCode::kInvalidArgument, "did you mean 'rooms'?", [&] { reader->select({}, {"ROOMS"}); });
    expect_error(ErrorCode::kInvalidArgument, "no column 'garden'; there are 'price', 'rooms', 'name'",
                 [&] { reader->select({"price", "garden"}, {}); });
    reader->select({"price"}, {"name"});
    expect_error(ErrorCode::kInvalidArgument, "twice", [&] { reader->select({"price"}, {}); });
  }
  const auto reader = TableReader::open(with_bytes("wide.csv", "a0,a1,a2,a3,a4,a5,a6,a7,a8,a9\n"));
  expect_error(ErrorCode::kInvalidArgument, "'a7' and 2 more", [&] { reader->select({"garden"}, {}); });
}

TEST_F(TableErrors, AColumnOfTextIsNotOfNumbers) {
  copy_table(with_bytes("homes.csv", "price,name\n1,\n2,2\n3,oak st\n"), at("homes.parquet"));
  const auto csv = TableReader::open(at("homes.csv"));
  EXPECT_EQ(csv->columns()[1].kind, ColumnKind::kText);
  expect_error(ErrorCode::kBadData, "homes.csv: column 'name', row 3: 'oak st' is not a number",
               [&] { csv->select({"name"}, {}); });
  const auto parquet = TableReader::open(at("homes.parquet"));
  expect_error(ErrorCode::kBadData, "homes.parquet: column 'name' has type string; expected numbers",
               [&] { parquet->select({"price", "name"}, {}); });
}

TEST_F(TableErrors, FewCellsOfTextInAColumnOfNumbersAreNamed) {
  with_bytes("homes.csv", "price,rooms\n1,3\n2,?\n3,4\n");
  const auto reader = TableReader::open(at("homes.csv"));
  EXPECT_EQ(reader->columns()[1].kind, ColumnKind::kNumber);
  ASSERT_TRUE(reader->columns()[1].unreadable);
  EXPECT_EQ(reader->columns()[1].unreadable->row, 1U);
  EXPECT_EQ(reader->columns()[1].unreadable->text, "?");
  EXPECT_FALSE(reader->columns()[0].unreadable);
  expect_error(ErrorCode::kBadData,
               "homes.csv: column 'rooms', row 2: '?' is not a number; correct it, or count it as missing with "
               "the option missing (--missing '?')",
               [&] { reader->select({"rooms"}, {}); });
}

TEST_F(Table, AColumnIsTextIfAtLeastHalfOfItsCellsAre) {
  const auto kind_of = [&](const std::string& cells, const ReadOptions& options = {}) {
    return TableReader::open(with_bytes("a.csv", "x,y\n" + cells), options)->columns()[0].kind;
  };
  EXPECT_EQ(kind_of("1,\nb,\n"), ColumnKind::kText);
  EXPECT_EQ(kind_of("1,\n2,\nb,\n"), ColumnKind::kNumber);
  EXPECT_EQ(kind_of("1,\n,\nNA,\nb,\n"), ColumnKind::kText) << "missing cells do not count";
  EXPECT_EQ(kind_of("1,\n?,\n?,\n", {.missing = {"?"}}), ColumnKind::kNumber);
  EXPECT_EQ(kind_of(",\n,\n"), ColumnKind::kNumber);
  EXPECT_EQ(kind_of("007,\n008,\n"), ColumnKind::kNumber);
  EXPECT_EQ(kind_of("true,\nFalse,\n"), ColumnKind::kNumber);
}

TEST_F(TableErrors, DecimalCommasAreNamed) {
  with_bytes("a.csv", "x;y\n1,5;2\n2,25;3\n");
  const auto reader = TableReader::open(at("a.csv"));
  EXPECT_EQ(reader->columns()[0].kind, ColumnKind::kNumber);
  expect_error(ErrorCode::kBadData,
               "a.csv: column 'x', row 1: '1,5' is not a number; decimal commas are not supported, write numbers with "
               "a decimal point",
               [&] { reader->select({"x"}, {}); });
  for (const char* cell : {"1,5", "-0,25", " 1000,5 ", "1,5e3"}) EXPECT_TRUE(internal::has_decimal_comma(cell)) << cell;
  for (const char* cell : {"", ",", "1,", ",5", "1,2,3", "a,b", "1.5,2", "1, 5"}) {
    EXPECT_FALSE(internal::has_decimal_comma(cell)) << cell;
  }
}

TEST_F(Table, TheSeparatorIsGuessedWhenItIsClear) {
  using internal::guess_separator;
  EXPECT_EQ(guess_separator("a,b\n1,2\n"), ',');
  EXPECT_EQ(guess_separator("a;b\n1,5;2\n"), ';');
  EXPECT_EQ(guess_separator("a\tb\n1\t2\n"), '\t');
  EXPECT_EQ(guess_separator("a|b\r\n1|2\r\n"), '|');
  EXPECT_EQ(guess_separator("\xEF\xBB\xBF\"a;b\";c\n1;\"2\n;;\"\n"), ';') << "quotes";
  EXPECT_EQ(guess_separator("price, EUR;size\n1;2\n"), ';') << "the comma does not split the row";
  EXPECT_EQ(guess_separator("a,x;y\n1,2;3\n"), ',') << "a comma that splits all lines comes first";
  EXPECT_EQ(guess_separator("a;b"), ';') << "a header alone";
  EXPECT_EQ(guess_separator("a;b\n1;2\n3"), ';') << "the last line may be cut off";
  EXPECT_EQ(guess_separator("a;b|c\n1;2|3\n"), std::nullopt);
  EXPECT_EQ(guess_separator("a;b\n1;2;3\n"), std::nullopt);
  for (const char* text : {"", "\n", "a\n1\n", "\"a;b"}) EXPECT_EQ(guess_separator(text), std::nullopt) << text;
}

TEST_F(Table, TablesKeepTheirSeparator) {
  const std::string text = "name;x\n\"a;b\";1\nc,d;2\n";
  copy_table(with_bytes("a.csv", text), at("copy.csv"), {"x"});
  EXPECT_EQ(bytes_of(at("copy.csv")), text);
  with_bytes("b.csv", "name:x\na:1\n");
  EXPECT_EQ(numbers_in(at("b.csv"), {"x"}, {.separator = ':'}), std::vector<double>{1});
  expect_error(ErrorCode::kInvalidArgument, "b.csv: '\"' cannot separate cells",
               [&] { (void)TableReader::open(at("b.csv"), {.separator = '"'}); });
  with_bytes("c.csv", "x;y\n1;\"2\n");
  expect_error(ErrorCode::kBadData, "the quote opened in line 2 is not closed",
               [&] { (void)numbers_in(at("c.csv"), {"x"}); });
}

TEST_F(Table, MarkersOfMissingValuesAreTheSameInEveryFormat) {
  copy_table(with_bytes("a.csv", "x,city,n\n1,Oslo,1\n-999,?,2\n-999.0,Rome,3\n"), at("a.parquet"));
  const ReadOptions options{.missing = {"?", "-999"}};
  for (const char* file : {"a.csv", "a.parquet"}) {
    const auto reader = TableReader::open(at(file), options);
    Labels cities;
    reader->select_columns({{.name = "x"}, {.name = "city", .collected = &cities}, {.name = "n"}}, {"x", "city"});
    const NumberTable table = read_numbers(*reader);
    const std::vector<double> expected = {1, 0, 1, kNaN, kNaN, 2, kNaN, 1, 3};
    ASSERT_EQ(table.values.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same(table.values[i], expected[i])) << file << i;
    EXPECT_EQ(cities.size(), 2U) << "a marker is not a label";
  }
  copy_table(at("a.csv"), at("copy.csv"), {"x"}, options);
  EXPECT_EQ(bytes_of(at("copy.csv")), bytes_of(at("a.csv"))) << "carried cells keep their text";
}

TEST_F(Table, ATableMayBeWrittenToAFunction) {
  with_bytes("a.csv", "x,y\n1,2\n");
  const auto reader = TableReader::open(at("a.csv"), {.format = TableFormat::kCsv, .name = "my table"});
  expect_error(ErrorCode::kInvalidArgument, "my table: no column 'z'", [&] { reader->select({"z"}, {}); });
  reader->select({"x"}, {"x", "y"});
  std::string written;
  const auto sink = [&](std::span<const std::byte> bytes) {
    written.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto writer = TableWriter::open(sink, "the output", *reader, {"z"});
  TableBatch batch;
  const double z = 3;
  while (reader->next(batch)) writer->write(batch, {&z, 1, 1});
  writer->close();
  EXPECT_EQ(written, "x,y,z\n1,2,3\n");

  struct Stop {};
  const auto other = TableReader::open(at("a.csv"));
  other->select({}, {"x"});
  const auto failing = TableWriter::open([](auto) { throw Stop(); }, "the output", *other, {});
  EXPECT_THROW(failing->close(), Stop) << "exceptions are passed on as they are";
}

TEST_F(TableErrors, TextFarIntoAColumnOfNumbersIsNamedWithItsRow) {
  Random random(3);
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t bad = kManyRows / 2 + random.below(kManyRows / 2);
    std::string csv = "id,price\n";
    for (std::size_t i = 0; i < kManyRows; ++i) csv += std::to_string(i) + (i == bad ? ",abc\n" : ",12.5\n");
    with_bytes("homes.csv", csv);
    const auto reader = TableReader::open(at("homes.csv"), {.threads = round != 0});
    EXPECT_EQ(reader->columns()[1].kind, ColumnKind::kNumber) << "the first block has numbers alone";
    reader->select({"id", "price"}, {});
    expect_error(ErrorCode::kBadData,
                 "homes.csv: column 'price', row " + std::to_string(bad + 1) + ": 'abc' is not a number",
                 [&] { (void)read_numbers(*reader); });
  }
}

TEST_F(TableErrors, ARowWithTooFewOrTooManyCellsIsNamed) {
  const auto read = [&] { (void)numbers_in(at("a.csv"), {"a"}); };
  with_bytes("a.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n");
  expect_error(ErrorCode::kBadData, "a.csv: row 2: expected 3 cells as in the header, found 2", read);
  std::string csv = "a,b\n";
  for (std::size_t i = 0; i < kManyRows; ++i) csv += "123456,234567\n";
  with_bytes("a.csv", csv + "1,2,3\n");
  expect_error(ErrorCode::kBadData, "row " + std::to_string(kManyRows + 1) + ": expected 2 cells", read);
}

TEST_F(TableErrors, AHeaderThatIsNotOneIsRefused) {
  const auto open = [&] { (void)TableReader::open(at("a.csv")); };
  with_bytes("a.csv", "");
  expect_error(ErrorCode::kBadData, "a.csv: the file is empty", open);
  with_bytes("a.csv", "\n\n");
  expect_error(ErrorCode::kBadData, "a.csv: expected a header line", open);
  with_bytes("a.csv", "a,b,a\n1,2,3\n");
  expect_error(ErrorCode::kBadData, "duplicate column name 'a'", open);
  with_bytes("a.csv", "5.1,3.5,1.4\n4.9,3.0,1.4\n");
  expect_error(ErrorCode::kBadData, "expected a header line", open);
  with_bytes("a.csv", "a;b|c\n1;2|3\n");
  expect_error(ErrorCode::kBadData, "the separator of the rows is not clear; give it with the option separator", open);
  with_bytes("a.csv", "2019,2020\n1,2\n");
  EXPECT_EQ(numbers_in(at("a.csv"), {"2020"}), std::vector<double>{2}) << "years are good names";
}

TEST_F(TableErrors, FilesThatAreNoTablesAreRefused) {
  expect_error(ErrorCode::kInvalidArgument, "expected .csv, .csv.gz, .parquet or .pq",
               [&] { (void)TableReader::open(at("a.xlsx")); });
  for (const std::string name : {"a.csv", "a.csv.gz", "a.parquet"}) {
    expect_error(ErrorCode::kFile, name + ": no such file", [&] { (void)TableReader::open(at(name)); });
  }
  with_bytes("a.parquet", "a,b\n1,2\n");
  expect_error(ErrorCode::kBadData, "a.parquet: ", [&] { (void)TableReader::open(at("a.parquet")); });
  with_bytes("a.csv.gz", "a,b\n1,2\n");
  expect_error(ErrorCode::kBadData, "a.csv.gz: ", [&] { (void)TableReader::open(at("a.csv.gz")); });
  std::filesystem::create_directory(at("folder.csv"));
  expect_error(ErrorCode::kFile, "not a regular file", [&] { (void)TableReader::open(at("folder.csv")); });
  with_bytes("a.csv", "a\n1\n");
  expect_error(ErrorCode::kInvalidArgument, "batch_rows",
               [&] { (void)TableReader::open(at("a.csv"), {.batch_rows = 0}); });
  TableBatch batch;
  expect_error(ErrorCode::kInvalidArgument, "select", [&] { (void)TableReader::open(at("a.csv"))->next(batch); });
}

/// 200 rows of a number and a text, with `cell` as the text of row 21 and `end` after each line.
std::string rows_with_text(const std::string& cell, const std::string& end = "\n",
                           const std::string& header = "x,city") {
  std::string csv = header + end;
  for (int i = 1; i <= 200; ++i) csv += std::to_string(i) + "," + (i == 21 ? cell : "Oslo") + end;
  return csv;
}

TEST_F(TableErrors, AQuoteThatIsNeverClosedIsRefusedWithItsLine) {
  const std::string message = "a.csv: the quote opened in line 22 is not closed";
  for (const std::string& csv : {
           rows_with_text("\"Oslo"),
           rows_with_text("\""),
           rows_with_text("\"the \"\"north\"\""),
           rows_with_text("\"Oslo", "\r\n"),
           rows_with_text("\"Oslo", "\r"),
           rows_with_text("\"\"\""),
           "\xEF\xBB\xBF" + rows_with_text("\"Oslo"),
           rows_with_text("\"Oslo", "\n", "\"x\",\"city\""),
           rows_with_text("\"Oslo") + "201,\"Bergen\"\n",  // closed by the opening quote of another cell
           rows_with_text("\"Oslo") + "201,\"Bergen, west\"\n202,\"Oslo\"\n",
       }) {
    with_bytes("a.csv", csv);
    for (const bool threads : {false, true}) {
      expect_error(ErrorCode::kBadData, message, [&] {
        ReadOptions options;
        options.threads = threads;
        (void)numbers_in(at("a.csv"), {"x"}, options);
      });
    }
  }
  expect_error(ErrorCode::kBadData, "line 1 is not closed",
               [&] { (void)numbers_in(with_bytes("a.csv", "\"x,city\n1,Oslo\n"), {"x"}); });
  expect_error(ErrorCode::kBadData, "line 3 is not closed",
               [&] { (void)numbers_in(with_bytes("a.csv", "x,y\n1,2\n3,\"4"), {"x"}); });
}

TEST_F(TableErrors, AQuoteThatIsNeverClosedIsRefusedInFilesOfManyBlocks) {
  std::string csv = "a,b\n";
  for (std::size_t i = 0; i < kManyRows; ++i) csv += "123456,234567\n";
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1000}, std::size_t{100'000}, kManyRows - 1}) {
    std::string broken = csv;
    broken.insert(4 + 14 * rows + 7, "\"");
    with_bytes("a.csv", broken);
    expect_error(ErrorCode::kBadData, "the quote opened in line " + std::to_string(rows + 2) + " is not closed",
                 [&] { (void)numbers_in(at("a.csv"), {"a"}); });
  }
}

TEST_F(Table, QuotedCellsMayHoldNewlinesQuotesAndCommas) {
  for (const std::string end : {"\n", "\r\n"}) {
    for (const std::string& cell : {"\"two" + end + "lines\"", std::string("\"a \"\"b\"\", c\""), std::string("\"\""),
                                    std::string("\"\"\"\""), std::string("6\" pipe"), std::string("\"a\"b\"")}) {
      const std::vector<double> x = numbers_in(with_bytes("a.csv", rows_with_text(cell, end)), {"x"});
      ASSERT_EQ(x.size(), 200U) << cell;
      EXPECT_EQ(x.back(), 200);
    }
  }
}

TEST(QuoteScanner, GivesTheSameInPiecesOfAnySize) {
  Random random(3);
  const std::string letters = "\"\"\"\"\",,\n\rab";
  const std::vector<std::string> cells = {"\"a\",",          "1,",   "\"\",", "\"b, \"\"c\"\"\"\n", "12345678,",
                                          "\"two\nlines\",", "x\r\n"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(300) + 1; i > 0; --i) {
      // Mostly well-formed cells, which take another code path than unusual ones.
      text +=
          random.below(20) == 0 ? letters.substr(random.below(letters.size()), 1) : cells[random.below(cells.size())];
    }
    internal::QuoteScanner whole;
    whole.scan(text);
    internal::QuoteScanner pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::string piece = text.substr(at, 1 + random.below(round % 2 == 0 ? 4 : 200));
      pieces.scan(piece);
      at += piece.size();
    }
    EXPECT_EQ(whole.open(), pieces.open()) << text;
    EXPECT_EQ(whole.broken(), pieces.broken()) << text;
    ASSERT_EQ(whole.long_cell().has_value(), pieces.long_cell().has_value()) << text;
    if (!whole.long_cell()) continue;
    EXPECT_EQ(whole.long_cell()->opened, pieces.long_cell()->opened) << text;
    EXPECT_EQ(whole.long_cell()->breaks, pieces.long_cell()->breaks) << text;
  }
}

/// The warnings about a file, read by its column x.
std::vector<std::string> warnings_about(const path& file, bool threads) {
  std::vector<std::string> warnings;
  ReadOptions options;
  options.threads = threads;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  (void)numbers_in(file, {"x"}, options);
  return warnings;
}

TEST_F(Table, ACellThatMayHaveSwallowedRowsIsAWarning) {
  for (const bool threads : {false, true}) {
    for (const std::string end : {"\n", "\r\n"}) {
      std::string csv = "x,city" + end + "0,6\" pipe" + end;
      for (int i = 1; i <= 200; ++i) {
        csv += std::to_string(i) + (i == 21 ? ",\"Oslo" : i == 61 ? ",Oslo\"" : ",Oslo") + end;
      }
      for (const std::string& padding : {std::string(), std::string(100, 'p'), std::string(1000, 'q')}) {
        const std::vector<std::string> found =
            warnings_about(with_bytes("a.csv", csv + "300," + padding + end), threads);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found.front(), at("a.csv").string() +
                                     ": row 22, column 'city': the quoted cell contains 40 line breaks; if rows are "
                                     "missing, correct the quote in line 23");
      }
    }
    const std::string text = "\"" + std::string(9, '\n') + "\"";
    EXPECT_TRUE(warnings_about(with_bytes("a.csv", rows_with_text(text)), threads).empty());
  }
}

// ------------------------------------------------------------------------------------------------- damaged files

/// Read the file; an Error is also acceptable.
bool reads(const path& file, const path& copy) {
  return !error_of([&] {
            const auto reader = TableReader::open(file);
            std::vector<std::string> numbers;
            for (const ColumnInfo& column : reader->columns()) {
              if (column.kind == ColumnKind::kNumber) numbers.push_back(column.name);
            }
            copy_table(file, copy, numbers);
          }).has_value();
}

TEST_F(DamagedTable, ATruncatedParquetFileIsAnError) {
  Random random(5);
  write_parquet(at("a.parquet"), table_of_every_type());
  const std::string whole = bytes_of(at("a.parquet"));
  for (int round = 0; round < 200; ++round) {
    with_bytes("b.parquet", whole.substr(0, random.below(whole.size())));
    EXPECT_FALSE(reads(at("b.parquet"), at("c.parquet")));
  }
}

TEST_F(DamagedTable, FlippedBitsInParquetGiveAnErrorOrRowsAndNoCrash) {
  Random random(6);
  write_parquet(at("a.parquet"), table_of_every_type());
  const std::string whole = bytes_of(at("a.parquet"));
  int errors = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      char& byte = bytes[random.below(bytes.size())];
      byte = static_cast<char>(byte ^ static_cast<char>(1U << random.below(8)));
    }
    with_bytes("b.parquet", bytes);
    if (!reads(at("b.parquet"), at(round % 2 == 0 ? "c.parquet" : "c.csv"))) ++errors;
  }
  EXPECT_GT(errors, 0);
}

TEST_F(DamagedTable, FlippedBitsInOurOwnParquetPagesAreNoticed) {
  Random random(8);
  std::string csv = "x\n";
  for (int i = 0; i < 1000; ++i) csv += internal::text_of(random.normal()) + "\n";
  copy_table(with_bytes("a.csv", csv), at("a.parquet"));
  const std::string whole = bytes_of(at("a.parquet"));
  for (int round = 0; round < 100; ++round) {
    std::string bytes = whole;
    char& byte = bytes[100 + random.below(whole.size() / 2)];
    byte = static_cast<char>(byte ^ static_cast<char>(1U << random.below(8)));
    with_bytes("b.parquet", bytes);
    EXPECT_FALSE(reads(at("b.parquet"), at("c.parquet")));
  }
}

TEST_F(DamagedTable, GarbageInCsvGivesAnErrorOrRowsAndNoCrash) {
  Random random(9);
  const std::string whole = "a,b,c\n1,x,\"y\"\n2.5,\"z,\",\n,,\n4,5,6\n";
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole.substr(0, random.below(whole.size() + 1));
    for (std::uint64_t flips = random.below(4); flips > 0 && !bytes.empty(); --flips) {
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    }
    with_bytes("b.csv", bytes);
    (void)reads(at("b.csv"), at(round % 2 == 0 ? "c.parquet" : "c.csv"));
  }
}

// --------------------------------------------------------------------------------------------------------- memory

/// Peak memory of this process in bytes; empty if /proc does not provide it.
std::optional<double> peak_memory() {
  std::ifstream in("/proc/self/status");
  const std::string key = "VmHWM:";
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    double kilobytes = 0;
    words >> kilobytes;
    return kilobytes * 1024;
  }
  return std::nullopt;
}

TEST_F(SlowTable, StreamingNeedsTheSameMemoryForAnyNumberOfRows) {
  constexpr std::size_t kColumns = 10;
  constexpr std::size_t kFewRows = 500'000;
  constexpr std::size_t kAllRows = 2'000'000;
  // A table held in memory would need 120 MB more. What allocators keep varies from run to run, here by up to 56 MB; it
  // does not grow with the rows (17 to 23 MB for 6,000,000).
  constexpr double kMaxBytes = 80e6;
  std::vector<std::string> names;
  for (std::size_t j = 0; j < kColumns; ++j) names.push_back("x" + std::to_string(j));

  const auto generate = [&](std::size_t rows) {
    std::string csv = "row\n";
    for (std::size_t i = 0; i < rows; ++i) csv += "1\n";
    const auto reader = TableReader::open(with_bytes("rows.csv", csv));
    reader->select({}, {});
    const auto writer = TableWriter::open(at("a.parquet"), *reader, names);
    TableBatch batch;
    Random random(1);
    std::vector<double> numbers;
    while (reader->next(batch)) {
      numbers.resize(batch.rows() * kColumns);
      for (double& number : numbers) number = random.uniform();
      writer->write(batch, {numbers.data(), batch.rows(), kColumns});
    }
    writer->close();
  };
  const auto stream = [&](const std::string& from, const std::string& to) {
    const auto reader = TableReader::open(at(from), {.batch_rows = 16'384});
    reader->select(names, names);
    const auto writer = TableWriter::open(at(to), *reader, {"sum"});
    TableBatch batch;
    std::vector<double> sums;
    while (reader->next(batch)) {
      sums.assign(batch.rows(), 0);
      for (std::size_t i = 0; i < batch.rows(); ++i) {
        for (const double x : batch.numbers().row(i)) sums[i] += x;
      }
      writer->write(batch, MatrixView::column(sums));
    }
    writer->close();
  };
  const auto peak_of = [&](std::size_t rows) {
    generate(rows);
    std::ofstream("/proc/self/clear_refs") << "5";  // reset the peak, if permitted
    stream("a.parquet", "b.csv");
    stream("b.csv", "c.parquet");
    stream("a.parquet", "c.parquet");
    return peak_memory();
  };
  const std::optional<double> few = peak_of(kFewRows);
  if (!few) GTEST_SKIP() << "there is no /proc/self/status";
  const std::optional<double> all = peak_of(kAllRows);
  EXPECT_GT(std::filesystem::file_size(at("c.parquet")), kAllRows * kColumns * 6) << "random numbers hardly compress";
  std::cout << "at most " << *few / 1e6 << " MB for " << kFewRows << " rows, " << *all / 1e6 << " MB for " << kAllRows
            << "\n";
  EXPECT_LT(*all - *few, kMaxBytes);
}

}  // namespace
}  // namespace widthwise
