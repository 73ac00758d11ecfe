#pragma once

#include "bindings.hpp"
#include "report/page/figures.hpp"

/// Figures of the core as dicts, which the package draws.
namespace widthwise::python {

[[nodiscard]] nb::dict coverage_dict(const internal::MeasuredCoverage& measured);

}  // namespace widthwise::python
