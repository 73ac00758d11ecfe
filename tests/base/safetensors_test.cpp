#include "base/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include <widthwise/error.hpp>

#include "support/bytes.hpp"
#include "support/numbers.hpp"

namespace widthwise::internal {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

/// A file with this header and data.
std::vector<std::byte> file_of(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes_of(length + header + data);
}

/// The error message for a file; empty if it is accepted.
std::string refusal_of(const std::vector<std::byte>& bytes) {
  try {
    const SafetensorsReader reader(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    return error.what();
  }
  return "";
}

std::string refusal_of(const std::string& header, const std::string& data) { return refusal_of(file_of(header, data)); }

/// The header of one array.
std::string claim(const std::string& type, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  SafetensorsWriter writer;
  writer.put("b", std::vector<std::uint8_t>{7});
  writer.put("a", std::vector<float>{1, -2}, {2, 1});
  writer.put("c", std::vector<double>{1});
  writer.put_text("z", "\"\n\xc3\xa9");
  writer.put_text("k", "");
  const std::string header = R"({"__metadata__":{"k":"","z":"\"\n)"
                             "\xc3\xa9"
                             R"("},"c":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
                             R"("b":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}})";
  ASSERT_EQ(header.size(), 201U);
  const std::string data = "\0\0\0\0\0\0\xf0\x3f\0\0\x80\x3f\0\0\0\xc0\x07"s;
  EXPECT_EQ(writer.finish(), bytes_of("\xd0\0\0\0\0\0\0\0"s + header + std::string(7, ' ') + data));
}

TEST(Safetensors, ReturnsTheWrittenArrays) {
  const std::vector<double> doubles{0.1, -0.0, kInfinity};
  const std::vector<std::int64_t> longs{std::numeric_limits<std::int64_t>::min()};
  SafetensorsWriter writer;
  writer.put("doubles", doubles);
  writer.put("floats", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  writer.put("bytes", std::vector<std::byte>{std::byte{255}});
  writer.put("int32", std::vector<std::int32_t>{-1, 2});
  writer.put("uint32", std::vector<std::uint32_t>{0xffffffffU});
  writer.put("int64", longs);
  writer.put("uint64", std::vector<std::uint64_t>{});
  writer.put_text("note.b", "2");
  writer.put_text("note.a", "1");
  writer.put_text("other", "3");
  // The file need not be aligned in memory.
  std::vector<std::byte> bytes = writer.finish();
  bytes.insert(bytes.begin(), std::byte{0});
  SafetensorsReader reader(std::span<const std::byte>(bytes).subspan(1));
  EXPECT_EQ(reader.take<double>("doubles"), doubles);
  const auto floats = reader.take<float>("floats", 2);
  EXPECT_EQ(floats.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats.shape, (TensorShape{2, 3}));
  EXPECT_EQ(reader.take<std::byte>("bytes"), std::vector<std::byte>{std::byte{255}});
  EXPECT_EQ(reader.take<std::int32_t>("int32"), (std::vector<std::int32_t>{-1, 2}));
  EXPECT_EQ(reader.take<std::uint32_t>("uint32"), std::vector<std::uint32_t>{0xffffffffU});
  EXPECT_EQ(reader.take<std::int64_t>("int64"), longs);
  EXPECT_THROW(reader.expect_nothing_left(), Error);
  EXPECT_TRUE(reader.take<std::uint64_t>("uint64").empty());
  EXPECT_THROW(reader.expect_nothing_left(), Error);
  EXPECT_EQ(reader.take_texts("note."), (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(reader.take_text_if_any("missing"), std::nullopt);
  EXPECT_THROW(reader.expect_nothing_left(), Error);
  EXPECT_EQ(reader.take_text("other"), "3");
  EXPECT_NO_THROW(reader.expect_nothing_left());
  EXPECT_THROW((void)reader.take_text("other"), Error);
  EXPECT_THROW((void)reader.take<double>("doubles"), Error);
}

TEST(Safetensors, TheOrderOfWritesDoesNotChangeTheBytes) {
  SafetensorsWriter one;
  one.put("a", std::vector<float>{1});
  one.put("b", std::vector<float>{2});
  one.put_text("x", "1");
  one.put_text("y", "2");
  SafetensorsWriter other;
  other.put_text("y", "2");
  other.put("b", std::vector<float>{2});
  other.put("a", std::vector<float>{1});
  other.put_text("x", "1");
  EXPECT_EQ(one.finish(), other.finish());
}

TEST(Safetensors, RefusesAnArrayOfAnotherTypeOrShape) {
  SafetensorsWriter writer;
  writer.put("a", std::vector<float>{1, 2}, {2, 1});
  const auto bytes = writer.finish();
  EXPECT_THROW((void)SafetensorsReader(bytes).take<std::uint32_t>("a", 2), Error);
  EXPECT_THROW((void)SafetensorsReader(bytes).take<float>("a", 1), Error);
  EXPECT_EQ(SafetensorsReader(bytes).take<float>("a", 2).values.size(), 2U);
}

TEST(Safetensors, TextThatIsNotUtf8IsRefused) {
  SafetensorsWriter text;
  text.put_text("a", "\xff");
  EXPECT_THROW((void)text.finish(), Error);
  SafetensorsWriter name;
  name.put("\xc3", std::vector<float>{});
  EXPECT_THROW((void)name.finish(), Error);
  EXPECT_NE(refusal_of("{\"__metadata__\":{\"a\":\"\xff\"}}", ""), "");
}

TEST(Safetensors, HeadersOfOtherWritersAreRead) {
  EXPECT_EQ(refusal_of("{}", ""), "");
  EXPECT_EQ(refusal_of("{ \"__metadata__\" : { } }   ", ""), "");
  EXPECT_EQ(refusal_of(claim("F32", "[1]", "[0,4]"), "1234"), "");
  EXPECT_EQ(refusal_of(claim("F32", "[]", "[0,4]"), "1234"), "");
  EXPECT_EQ(refusal_of(claim("F32", "[7,0]", "[0,0]"), ""), "");
  EXPECT_EQ(refusal_of(R"({"a":{"shape":[1],"data_offsets":[1,2],"dtype":"U8"},)"
                       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                       "12"),
            "");
}

TEST(Safetensors, ShapesAndPlacesThatDoNotFitAreRefused) {
  const struct {
    const char* why;
    std::string header;
    std::string data;
  } cases[] = {
      {"past the end", claim("F32", "[2]", "[0,8]"), "1234"},
      {"fewer bytes than its shape", claim("F32", "[2]", "[0,4]"), "1234"},
      {"huge", claim("F64", "[18446744073709551615]", "[0,8]"), "12345678"},
      {"a product that overflows to 8", claim("F64", "[4294967296,4294967296,1]", "[0,8]"), "12345678"},
      {"a product that overflows to 0", claim("F64", "[4294967296,4294967296]", "[0,0]"), ""},
      {"a product that overflows before a 0", claim("F64", "[4294967296,4294967296,0]", "[0,0]"), ""},
      {"negative", claim("U8", "[-1]", "[0,1]"), "1"},
      {"negative place", claim("U8", "[1]", "[-1,0]"), "1"},
      {"backwards", claim("U8", "[1]", "[1,0]"), "1"},
      {"not whole", claim("U8", "[1.0]", "[0,1]"), "1"},
      {"beyond 64 bits", claim("U8", "[18446744073709551617]", "[0,1]"), "1"},
      {"three places", claim("U8", "[1]", "[0,1,1]"), "1"},
      {"one place", claim("U8", "[1]", "[0]"), "1"},
      {"many dimensions", claim("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "1"},
      {"unknown type", claim("F8_E4M3", "[1]", "[0,1]"), "1"},
      {"a gap before", claim("U8", "[1]", "[1,2]"), "12"},
      {"a gap after", claim("U8", "[1]", "[0,1]"), "12"},
      {"bytes of no array", "{}", "1"},
      {"an overlap",
       R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       "123"},
      {"two names of one place",
       R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       "1"},
  };
  for (const auto& one : cases) EXPECT_NE(refusal_of(one.header, one.data), "") << one.why;
}

TEST(Safetensors, HeadersThatAreNotTheFormatsJsonAreRefused) {
  const std::string good = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  ASSERT_EQ(refusal_of("{" + good + "}", "1"), "");
  const std::string twice = "{" + good + "," + good + "}";
  for (const std::string& header : {""s,
                                    "x"s,
                                    " {}"s,
                                    "[]"s,
                                    "null"s,
                                    "{\"a\""s,
                                    "{}{}"s,
                                    "{}x"s,
                                    "{}\0"s,
                                    "{}\0garbage"s,
                                    "\xef\xbb\xbf{}"s,
                                    R"({"a":1})"s,
                                    R"({"a":null})"s,
                                    R"({"a":[]})"s,
                                    R"({"a":{}})"s,
                                    R"({"__metadata__":"x"})"s,
                                    R"({"__metadata__":{"k":1}})"s,
                                    R"({"__metadata__":{"k":{}}})"s,
                                    R"({"__metadata__":{"k":["x"]}})"s,
                                    R"({"__metadata__":[]})"s,
                                    R"({"__metadata__":{"k":"1","k":"2"}})"s,
                                    R"({"__metadata__":{},"__metadata__":{}})"s,
                                    twice,
                                    "{" + good + ",}",
                                    R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":"U8","shape":[1]}})"s,
                                    R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":["U8"],"shape":[1],"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}})"s,
                                    R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":{}}})"s,
                                    R"({"a":{"dtype":"U8","shape":[1],"data_offsets":{"0":1}}})"s}) {
    EXPECT_NE(refusal_of(header, "1"), "") << header;
    EXPECT_NE(refusal_of(header, ""), "") << header;
  }
}

TEST(Safetensors, LengthsBeyondTheFileAreRefused) {
  EXPECT_NE(refusal_of(bytes_of("")), "");
  EXPECT_NE(refusal_of(bytes_of("\2\0\0\0\0\0\0"s)), "");
  EXPECT_NE(refusal_of(bytes_of("\3\0\0\0\0\0\0\0{}"s)), "");
  EXPECT_NE(refusal_of(bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff{}"s)), "");
  EXPECT_NE(refusal_of(bytes_of("\0\0\0\0\0\0\0\0{}"s)), "");
}

TEST(Safetensors, DeepNestingIsRefusedWithoutGoingDeep) {
  const std::size_t depth = 1'000'000;
  EXPECT_NE(refusal_of(std::string(depth, '['), ""), "");
  EXPECT_NE(refusal_of("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}", ""), "");
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal_of(objects + "1" + std::string(depth, '}'), ""), "");
  EXPECT_NE(refusal_of("{\"__metadata__\":" + objects, ""), "");
}

TEST(Safetensors, TextsAreReadWhateverTheArraysAre) {
  const auto bytes =
      file_of(R"({"__metadata__":{"format":"9"},"a":{"dtype":"F4","shape":[3],"data_offsets":[7,8]}})", "");
  EXPECT_NE(refusal_of(bytes), "");
  EXPECT_EQ(SafetensorsReader::texts_of(bytes).at("format"), "9");
}

}  // namespace
}  // namespace widthwise::internal
