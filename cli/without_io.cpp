// Replaces widthwise::io in builds without it: opening a table throws an error that names the CMake option.

#include <string>

#include <widthwise/error.hpp>
#include <widthwise/io/table.hpp>

namespace widthwise {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kMissingEngine, "this build cannot read tables; configure with -DWIDTHWISE_IO=ON");
}

}  // namespace

struct TableBatch::State {};

TableBatch::TableBatch() = default;
TableBatch::~TableBatch() = default;
MatrixView TableBatch::numbers() const { return {}; }
std::size_t TableBatch::rows() const { return 0; }
std::span<const std::uint64_t> TableBatch::keys() const { return {}; }
std::uint64_t TableBatch::first_row() const { return 0; }

std::unique_ptr<TableReader> TableReader::open(const std::filesystem::path& /*file*/, const ReadOptions& /*options*/) {
  refuse();
}

std::unique_ptr<TableWriter> TableWriter::open(const std::filesystem::path& /*file*/, const TableReader& /*from*/,
                                               std::vector<std::string> /*added*/) {
  refuse();
}

std::unique_ptr<TableWriter> TableWriter::open(ByteSink /*sink*/, const std::string& /*name*/,
                                               const TableReader& /*from*/, std::vector<std::string> /*added*/) {
  refuse();
}

}  // namespace widthwise
