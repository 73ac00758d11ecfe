// Tables of the command `widthwise`, decoded and encoded by the pyarrow of this Python:
// python/widthwise/_arrow_tables.py. The command runs without Python's lock (GIL), which each call takes.

#include <utility>

#include "bindings.hpp"
#include "io/table/arrow_library.hpp"

namespace widthwise::internal {
namespace {

namespace nb = nanobind;

/// A Python object that any thread may copy and free.
class Shared {
 public:
  Shared() = default;
  explicit Shared(nb::object object)
      : object_(new nb::object(std::move(object)), [](nb::object* owned) {
          const nb::gil_scoped_acquire lock;
          delete owned;
        }) {}

  [[nodiscard]] const nb::object& get() const { return *object_; }

 private:
  std::shared_ptr<nb::object> object_;
};

/// Run `action` with the lock; an exception of Python becomes a std::runtime_error with its message.
template <class Action>
auto in_python(const Action& action) {
  const nb::gil_scoped_acquire lock;
  try {
    return action();
  } catch (const nb::python_error& error) {
    throw std::runtime_error(nb::cast<std::string>(nb::str(error.value())));
  }
}

/// Call a function of widthwise._arrow_tables.
template <class... Arguments>
nb::object call(const char* function, Arguments&&... arguments) {
  return nb::module_::import_("widthwise._arrow_tables").attr(function)(std::forward<Arguments>(arguments)...);
}

template <class Struct>
std::uintptr_t address_of(Struct& structure) {
  return reinterpret_cast<std::uintptr_t>(&structure);
}

/// read(n) for Python: at most n bytes, none at the end.
nb::object reader_of(ByteSource source) {
  return nb::cpp_function([source = std::move(source)](std::int64_t size) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    const std::size_t count = source(bytes);
    return nb::bytes(bytes.data(), count);
  });
}

/// write(bytes) for Python.
nb::object writer_of(ByteSink sink) {
  return nb::cpp_function([sink = std::move(sink)](const nb::bytes& bytes) {
    try {
      sink({static_cast<const std::byte*>(bytes.data()), bytes.size()});
    } catch (...) {  // the sink remembers it
      throw std::runtime_error("the write failed");
    }
  });
}

class PythonSchema final : public TableSchema {
 public:
  /// `schema` is a pyarrow.Schema. Call with the lock.
  explicit PythonSchema(const nb::object& schema) : schema_(schema) {
    for (const nb::handle field : schema) {
      ExportedColumn exported;
      const nb::object type = field.attr("type");
      type.attr("_export_to_c")(address_of(exported.schema));
      FileColumn column{nb::cast<std::string>(field.attr("name")), kind_of_format(exported.schema.format), std::nullopt,
                        nb::cast<std::string>(nb::str(type))};
      if (exported.schema.dictionary != nullptr) column.values = kind_of_format(exported.schema.dictionary->format);
      columns_.push_back(std::move(column));
    }
  }

  [[nodiscard]] const nb::object& schema() const { return schema_.get(); }
  [[nodiscard]] const std::vector<FileColumn>& columns() const override { return columns_; }
  [[nodiscard]] std::shared_ptr<const TableSchema> select(const std::vector<int>& places) const override {
    return in_python([&] { return std::make_shared<PythonSchema>(call("select_fields", schema(), places)); });
  }
  [[nodiscard]] bool is_printable(std::size_t column) const override {
    return in_python([&] { return nb::cast<bool>(call("is_printable", schema(), column)); });
  }

 private:
  Shared schema_;
  std::vector<FileColumn> columns_;
};

class PythonRows final : public DecodedRows {
 public:
  /// `batch` is a pyarrow.RecordBatch. Call with the lock.
  explicit PythonRows(const nb::object& batch) : batch_(batch), rows_(nb::cast<std::int64_t>(batch.attr("num_rows"))) {}

  [[nodiscard]] const nb::object& batch() const { return batch_.get(); }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::shared_ptr<const DecodedRows> slice(std::int64_t begin, std::int64_t count) const override {
    return in_python([&] { return std::make_shared<PythonRows>(batch().attr("slice")(begin, count)); });
  }
  [[nodiscard]] std::shared_ptr<const DecodedRows> select(const std::vector<int>& places) const override {
    return in_python([&] { return std::make_shared<PythonRows>(call("select_columns", batch(), places)); });
  }
  [[nodiscard]] Cells cells(int column) const override { return exported("numeric", column); }
  [[nodiscard]] Cells printable(int column) const override { return exported("printable", column); }

 private:
  [[nodiscard]] Cells exported(const char* form, int column) const {
    auto result = std::make_shared<ExportedColumn>();
    in_python([&] {
      const nb::object array = call(form, batch().attr("column")(column));
      array.attr("_export_to_c")(address_of(result->array), address_of(result->schema));
    });
    return cells_of(std::move(result));
  }

  Shared batch_;
  std::int64_t rows_;
};

/// Blocks from an object with the attribute `schema` and the method `next`.
class PythonBlocks : public RowBlocks {
 public:
  explicit PythonBlocks(const nb::object& blocks) : blocks_(blocks) {}

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const override {
    return in_python([&] { return std::make_shared<PythonSchema>(blocks_.get().attr("schema")); });
  }
  [[nodiscard]] std::shared_ptr<const DecodedRows> next() override {
    return in_python([&]() -> std::shared_ptr<const DecodedRows> {
      const nb::object batch = blocks_.get().attr("next")();
      if (batch.is_none()) return nullptr;
      return std::make_shared<PythonRows>(batch);
    });
  }

 private:
  Shared blocks_;
};

class PythonCsvBlocks final : public RowBlocks {
 public:
  PythonCsvBlocks(ByteSource text, const CsvLayout& layout) {
    explained([&] {
      in_python([&] {
        const nb::list ragged;
        ragged_ = Shared(ragged);
        blocks_ = std::make_unique<PythonBlocks>(call("CsvBlocks", reader_of(std::move(text)),
                                                      std::string(1, layout.separator), layout.block_bytes,
                                                      layout.columns, layout.ahead, ragged));
      });
    });
  }
  PythonCsvBlocks(const PythonCsvBlocks&) = delete;
  PythonCsvBlocks& operator=(const PythonCsvBlocks&) = delete;
  ~PythonCsvBlocks() override = default;

  [[nodiscard]] std::shared_ptr<const TableSchema> schema() const override { return blocks_->schema(); }
  [[nodiscard]] std::shared_ptr<const DecodedRows> next() override {
    std::shared_ptr<const DecodedRows> block;
    explained([&] { block = blocks_->next(); });
    return block;
  }

 private:
  template <class Action>
  void explained(const Action& action) const {
    try {
      action();
    } catch (const std::runtime_error& error) {
      const std::string message = error.what();
      in_python([&] {
        std::optional<RaggedRow> row;
        for (const nb::handle found : ragged_.get()) {
          row = {nb::cast<std::int64_t>(found[0]), nb::cast<std::int64_t>(found[1]), nb::cast<std::int64_t>(found[2])};
        }
        throw CsvFailure(message, row);
      });
    }
  }

  Shared ragged_;  // the rows that Arrow refused
  std::unique_ptr<PythonBlocks> blocks_;
};

class PythonParquetFile final : public ParquetFile {
 public:
  PythonParquetFile(const std::filesystem::path& file, const ReadOptions& options) {
    const std::string name = file.string();
    in_python([&] {
      const nb::object parquet =
          call("ParquetFile", nb::bytes(name.data(), name.size()), options.batch_rows, options.threads);
      columns_ = PythonSchema(parquet.attr("schema")).columns();
      rows_ = nb::cast<std::int64_t>(parquet.attr("rows"));
      rows_of_groups_ = nb::cast<std::vector<std::int64_t>>(parquet.attr("rows_of_groups"));
      parquet_ = Shared(parquet);
    });
  }

  [[nodiscard]] const std::vector<FileColumn>& columns() const override { return columns_; }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] const std::vector<std::int64_t>& rows_of_groups() const override { return rows_of_groups_; }
  [[nodiscard]] std::unique_ptr<RowBlocks> read(RowGroups groups, const std::vector<std::size_t>& columns) override {
    return in_python([&] {
      return std::make_unique<PythonBlocks>(parquet_.get().attr("read")(groups.first, groups.count, columns));
    });
  }

 private:
  Shared parquet_;
  std::vector<FileColumn> columns_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> rows_of_groups_;
};

/// The name that pyarrow.type_for_alias has for the type of a new column; empty for a column that keeps its type.
std::optional<std::string> name_of(std::optional<CellKind> kind) {
  if (!kind) return std::nullopt;
  switch (*kind) {
    case CellKind::kBool:
      return "bool";
    case CellKind::kInt64:
      return "int64";
    case CellKind::kText:
      return "string";
    default:
      return "float64";
  }
}

class PythonParquetOutput final : public ParquetOutput {
 public:
  PythonParquetOutput(ByteSink sink, const ParquetLayout& layout) {
    in_python([&] {
      std::vector<std::optional<std::string>> replaced;
      for (const std::optional<CellKind>& kind : layout.replaced) replaced.push_back(name_of(kind));
      output_ = Shared(call("ParquetOutput", writer_of(std::move(sink)),
                            static_cast<const PythonSchema&>(*layout.carried).schema(), replaced, layout.added,
                            layout.group_rows, layout.group_bytes));
    });
  }

  void write(const DecodedRows& carried, std::vector<std::unique_ptr<ExportedColumn>> replaced,
             std::vector<std::unique_ptr<ExportedColumn>> added) override {
    in_python([&] {
      output_.get().attr("write")(static_cast<const PythonRows&>(carried).batch(), imported(replaced), imported(added));
    });
  }

  void close() override {
    in_python([&] { output_.get().attr("close")(); });
  }

 private:
  static nb::list imported(const std::vector<std::unique_ptr<ExportedColumn>>& columns) {
    nb::list result;
    for (const std::unique_ptr<ExportedColumn>& column : columns) {
      result.append(call("imported", address_of(column->array), address_of(column->schema)));
    }
    return result;
  }

  Shared output_;
};

class PythonEncoder final : public ByteEncoder {
 public:
  explicit PythonEncoder(ByteSink sink) {
    in_python([&] { stream_ = Shared(call("gzip_stream", writer_of(std::move(sink)))); });
  }

  void write(std::string_view bytes) override {
    in_python([&] { stream_.get().attr("write")(nb::bytes(bytes.data(), bytes.size())); });
  }
  void close() override {
    in_python([&] { stream_.get().attr("close")(); });
  }

 private:
  Shared stream_;
};

class PyArrow final : public ArrowLibrary {
 public:
  [[nodiscard]] ByteSource gunzip(ByteSource compressed) override {
    const Shared stream = in_python([&] { return Shared(call("gunzip_stream", reader_of(std::move(compressed)))); });
    return [stream](std::span<std::byte> out) {
      return in_python([&] {
        const auto bytes = nb::cast<nb::bytes>(stream.get().attr("read")(out.size()));
        std::memcpy(out.data(), bytes.data(), bytes.size());
        return bytes.size();
      });
    };
  }
  [[nodiscard]] std::unique_ptr<ByteEncoder> gzip(ByteSink sink) override {
    return std::make_unique<PythonEncoder>(std::move(sink));
  }
  [[nodiscard]] std::unique_ptr<RowBlocks> read_csv(ByteSource text, const CsvLayout& layout) override {
    return std::make_unique<PythonCsvBlocks>(std::move(text), layout);
  }
  [[nodiscard]] std::unique_ptr<ParquetFile> open_parquet(const std::filesystem::path& file,
                                                          const ReadOptions& options) override {
    return std::make_unique<PythonParquetFile>(file, options);
  }
  [[nodiscard]] std::unique_ptr<ParquetOutput> create_parquet(ByteSink sink, const ParquetLayout& layout) override {
    return std::make_unique<PythonParquetOutput>(std::move(sink), layout);
  }
};

}  // namespace

ArrowLibrary& arrow_library() {
  static PyArrow library;
  try {
    in_python([] { (void)nb::module_::import_("widthwise._arrow_tables"); });
  } catch (const std::runtime_error& error) {
    throw Error(ErrorCode::kMissingEngine, std::string("tables are read and written with pyarrow 17 or later: ") +
                                               error.what() + "; pip install 'widthwise[command]'");
  }
  return library;
}

}  // namespace widthwise::internal
