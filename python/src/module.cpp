// The module widthwise._core: passes arrays to and from the C++ library. The public package is python/widthwise.

#include <string>

#include <widthwise/calibration.hpp>
#include <widthwise/version.hpp>

#include "base/file.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "bindings.hpp"

namespace widthwise::python {
namespace {

PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFile:
      return PyExc_OSError;
    case ErrorCode::kMissingEngine:
      return PyExc_ImportError;
    case ErrorCode::kTooLittleMemory:
      return PyExc_MemoryError;
    case ErrorCode::kCancelled:
      return PyExc_KeyboardInterrupt;
    default:
      return PyExc_ValueError;
  }
}

void translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    // File and column names in a message may be invalid UTF-8.
    const std::string what = internal::without_functions(error.what());
    const std::string text = internal::is_utf8(what) ? internal::printable(what) : what;
    const auto message = nb::steal<nb::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    if (!message.is_valid()) return;
    PyObject* const type = exception_of(error.code());
    const auto raised = nb::steal<nb::object>(PyObject_CallFunctionObjArgs(type, message.ptr(), nullptr));
    if (!raised.is_valid()) return;
    if (const auto* const duplicate = dynamic_cast<const DuplicateRowError*>(&error)) {
      raised.attr("row_number") = duplicate->row_number();
    }
    PyErr_SetObject(type, raised.ptr());
  }
}

void write_file(const nb::bytes& file, const nb::bytes& content) {
  const std::string name = file_name_of(file);
  const std::span bytes(static_cast<const std::byte*>(content.data()), content.size());
  const nb::gil_scoped_release release;
  internal::write_file_atomically(name, bytes);
}

}  // namespace
}  // namespace widthwise::python

NB_MODULE(_core, module) {
  using namespace widthwise::python;  // NOLINT(google-build-using-namespace): the body of the module
  nb::register_exception_translator(translate);
  module.doc() = "The C++ library behind widthwise.";
  module.attr("VERSION") = widthwise::kVersion;
  module.def("write_file", &write_file, nb::arg("file"), nb::arg("content"));
  bind_table(module);
  bind_rows(module);
  bind_calibration(module);
  bind_online(module);
  bind_model(module);
  bind_objective(module);
  bind_diagnostics(module);
  bind_evaluator(module);
  bind_figures(module);
  bind_fit(module);
#ifdef WIDTHWISE_WITH_COMMAND
  bind_command(module);
#endif
}
