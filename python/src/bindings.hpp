#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <widthwise/diagnostics.hpp>
#include <widthwise/error.hpp>
#include <widthwise/guarantee.hpp>
#include <widthwise/level.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/objective.hpp>
#include <widthwise/online.hpp>
#include <widthwise/row_sketch.hpp>

#include "guarded.hpp"

/// Shared by all parts of the module: conversion of arrays from and to Python.
namespace widthwise::python {

namespace nb = nanobind;

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using DoubleMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using DoubleCube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Booleans = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Numbers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Matrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
using Cube = nb::ndarray<nb::numpy, double, nb::ndim<3>>;

/// The name of a file from the bytes of os.fsencode, which need not be UTF-8.
inline std::string file_name_of(const nb::bytes& file) { return {file.c_str(), file.size()}; }

/// Mutable objects as Python sees them; threads may share them.
using SharedShard = Guarded<CalibrationShard>;
using SharedOnline = Guarded<OnlineCalibration>;
using SharedSketch = Guarded<RowSketch>;

/// Release Python's lock (GIL) and call use(values...) with all guards locked: const guards for reading, others for
/// writing.
template <class Use, class... Guards>
auto locked(const Use& use, Guards&... guards) {
  return locked_without<nb::gil_scoped_release>(use, guards...);
}

/// The result of a const method of a guarded object.
template <auto method, class Value>
auto read(const Guarded<Value>& guarded) {
  return locked([](const Value& value) { return (value.*method)(); }, guarded);
}

/// The bytes of a guarded object.
template <class Value>
nb::bytes bytes_of(const Guarded<Value>& guarded) {
  const auto bytes = read<&Value::serialise>(guarded);
  return nb::bytes(bytes.data(), bytes.size());
}

/// A guarded object from its bytes.
template <class Value>
Guarded<Value> guarded_from(const nb::bytes& bytes) {
  return Guarded(Value::deserialise({static_cast<const std::byte*>(bytes.data()), bytes.size()}));
}

template <class Array>
[[nodiscard]] auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

/// Empty for None.
template <class Array>
[[nodiscard]] auto span_of(const std::optional<Array>& array) {
  using Span = decltype(span_of(*array));
  return array ? span_of(*array) : Span();
}

/// The keys if given, else consecutive numbers from first_row.
[[nodiscard]] inline RowNumbers numbers_of(std::uint64_t first_row, const std::optional<Keys>& keys) {
  return keys ? RowNumbers(span_of(*keys)) : RowNumbers(first_row);
}

[[nodiscard]] inline MatrixView view_of(const DoubleMatrix& matrix) {
  return {matrix.data(), matrix.shape(0), matrix.shape(1)};
}

/// A window of levels from its ends and the weight of the levels outside.
[[nodiscard]] inline std::optional<LevelWindow> level_window_of(
    const std::optional<std::tuple<double, double, double>>& level_window) {
  if (!level_window) return std::nullopt;
  const auto [lower, upper, outside] = *level_window;
  return LevelWindow{lower, upper, outside};
}

/// Give numbers to Python as an array, without a copy.
template <class Array, class Number>
[[nodiscard]] Array give(std::unique_ptr<Number[]> numbers, std::initializer_list<std::size_t> shape) {
  Number* const data = numbers.get();
  nb::capsule owner(numbers.release(), [](void* memory) noexcept { delete[] static_cast<Number*>(memory); });
  return Array(data, shape, owner);
}

/// Ask the kernel for huge pages, as NumPy does for its arrays: writing large arrays for the first time takes half as
/// long.
inline void ask_for_huge_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kLarge = std::size_t{1} << 22U;
  constexpr std::size_t kPage = 4096;
  if (bytes < kLarge) return;
  const std::size_t before = kPage - reinterpret_cast<std::uintptr_t>(memory) % kPage;
  (void)madvise(static_cast<std::byte*>(memory) + before, bytes - before, MADV_HUGEPAGE);  // only a hint
#endif
}

/// n uninitialised numbers.
[[nodiscard]] inline std::unique_ptr<double[]> room_for(std::size_t n) {
  auto memory = std::make_unique_for_overwrite<double[]>(n);
  ask_for_huge_pages(memory.get(), n * sizeof(double));
  return memory;
}

/// A copy of numbers as an array of this shape.
template <class Number>
[[nodiscard]] nb::object array_of(std::span<const Number> values, const std::vector<std::size_t>& shape) {
  auto copy = std::make_unique_for_overwrite<Number[]>(values.size());
  std::copy(values.begin(), values.end(), copy.get());
  nb::capsule owner(copy.get(), [](void* memory) noexcept { delete[] static_cast<Number*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, Number>(copy.release(), shape.size(), shape.data(), owner));
}

[[nodiscard]] inline std::vector<Level> levels_of(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// The value of a JSON text with Infinity and NaN, as Python's json module reads it.
[[nodiscard]] inline nb::object value_of(const std::string& json) {
  return nb::module_::import_("json").attr("loads")(json);
}

void bind_table(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_calibration(nb::module_& module);
void bind_online(nb::module_& module);
void bind_model(nb::module_& module);
void bind_objective(nb::module_& module);
void bind_diagnostics(nb::module_& module);
void bind_evaluator(nb::module_& module);
void bind_figures(nb::module_& module);
void bind_command(nb::module_& module);
void bind_fit(nb::module_& module);

/// Register the trainers of nets, which run on the torch package of Python.
void register_python_nets();

}  // namespace widthwise::python
