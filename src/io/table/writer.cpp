#include "io/table/writer.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "io/table/errors.hpp"

namespace widthwise::internal {
namespace {

/// Before anything is created.
WriteTarget checked(WriteTarget target, const TableSchema& carried, const std::vector<std::string>& added) {
  const std::filesystem::path& file = target.file;
  std::vector<std::string> names;
  for (const FileColumn& column : carried.columns()) names.push_back(column.name);
  names.insert(names.end(), added.begin(), added.end());
  if (names.empty()) refuse(ErrorCode::kInvalidArgument, file, "there are no columns to write");
  std::unordered_set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) {
      refuse(ErrorCode::kInvalidArgument, file,
             fmt::format("duplicate output column {}; expected unique names", in_quotes(name)));
    }
  }
  return target;
}

bool equal(const TableSchema& a, const TableSchema& b) {
  return std::ranges::equal(a.columns(), b.columns(), [](const FileColumn& left, const FileColumn& right) {
    return left.name == right.name && left.type == right.type;
  });
}

std::string size_of(std::size_t rows, std::size_t columns) {
  return fmt::format("{} rows of {} numbers", rows, columns);
}

}  // namespace

FileTableWriter::FileTableWriter(const WriteTarget& target, const FileTableReader& from, std::vector<std::string> added)
    : carried_(from.carried()), added_(std::move(added)), output_(checked(target, *carried_, added_)) {}

void FileTableWriter::write(const TableBatch& batch, MatrixView added) {
  if (!open_) refuse(ErrorCode::kInvalidArgument, file(), "TableWriter::write was called after close()");
  if (added.rows() != batch.rows() || added.columns() != added_.size()) {
    refuse(ErrorCode::kShapeMismatch, file(),
           fmt::format("expected added columns with {}, found {}", size_of(batch.rows(), added_.size()),
                       size_of(added.rows(), added.columns())));
  }
  const TableBatch::State& state = batch.state();
  if (!state.carried || !equal(*state.schema, *carried_)) {
    refuse(ErrorCode::kInvalidArgument, file(), "the batch is not from the reader that the writer was opened with");
  }
  guarded([&] { append(*state.carried, added); });
}

void FileTableWriter::close_after(const std::function<void()>& action) {
  if (!open_) refuse(ErrorCode::kInvalidArgument, file(), "TableWriter::close was called twice");
  open_ = false;
  guarded([&] {
    finish();
    output_.flush();
  });
  action();
  guarded([&] { output_.commit(); });
}

}  // namespace widthwise::internal
