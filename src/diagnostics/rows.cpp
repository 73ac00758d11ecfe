#include "diagnostics/rows.hpp"
#include "text.hpp"

#include <limits>
#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void throw_at(std::size_t row, ErrorCode code, std::string_view where, const std::string& what) {
  throw Error(code, std::string(where) + ": row " + std::to_string(row) + ": " + what);
}

}  // namespace

void check_rows(const IntervalRows& rows, std::string_view where) {
  const std::size_t n = rows.outcomes.size();
  check_size(rows.lower.size(), n, "lower bounds", where);
  check_size(rows.upper.size(), n, "upper bounds", where);
  if (!rows.predictions.empty()) check_size(rows.predictions.size(), n, "predictions", where);
  if (n == 0) throw Error(ErrorCode::kInvalidArgument, std::string(where) + ": expected rows, found none");
  for (std::size_t i = 0; i < n; ++i) {
    const double lower = rows.lower[i];
    const double upper = rows.upper[i];
    const double outcome = rows.outcomes[i];
    if (!std::isfinite(outcome)) {
      throw_at(i, ErrorCode::kNotFinite, where, "expected a finite outcome, found " + text_of(outcome));
    }
    if (std::isnan(lower) || lower == kInfinity) {
      throw_at(i, ErrorCode::kNotFinite, where, "expected a lower bound below +infinity, found " + text_of(lower));
    }
    if (std::isnan(upper) || upper == -kInfinity) {
      throw_at(i, ErrorCode::kNotFinite, where, "expected an upper bound above -infinity, found " + text_of(upper));
    }
    if (lower > upper) {
      throw_at(i, ErrorCode::kInvalidArgument, where,
               "the lower bound " + text_of(lower) + " is above the upper bound " + text_of(upper));
    }
  }
}

bool is_strictly_inside(const IntervalRows& rows, std::size_t i) {
  constexpr double kBoundRounding = 16 * std::numeric_limits<double>::epsilon();  // of f(x) - D and f(x) + D
  constexpr double kWidthRounding = 1e-9;                                         // of D
  const auto size = [](double bound) { return std::isfinite(bound) ? std::abs(bound) : 0.0; };
  const double lower = rows.lower[i];
  const double upper = rows.upper[i];
  const double width = std::isfinite(upper - lower) ? upper - lower : 0.0;
  const double rounding = kBoundRounding * (size(lower) + size(upper)) + kWidthRounding * width;
  return lower < rows.outcomes[i] - rounding && rows.outcomes[i] + rounding < upper;
}

void check_size(std::size_t found, std::size_t expected, std::string_view what, std::string_view where) {
  if (found == expected) return;
  throw Error(ErrorCode::kShapeMismatch, std::string(where) + ": " + std::to_string(found) + " " + std::string(what) +
                                             " but " + std::to_string(expected) + " outcomes");
}

}  // namespace widthwise::internal
