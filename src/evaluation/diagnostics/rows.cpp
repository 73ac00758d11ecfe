#include "evaluation/diagnostics/rows.hpp"
#include "base/message.hpp"

#include <limits>
#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void throw_at(std::size_t row, ErrorCode code, std::string_view where, const std::string& what) {
  throw make_error(code, "{}: row {}: {}", where, row + 1, what);
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
      throw_at(i, ErrorCode::kNotFinite, where, fmt::format("expected a finite outcome, found {}", outcome));
    }
    if (std::isnan(lower) || lower == kInfinity) {
      throw_at(i, ErrorCode::kNotFinite, where, fmt::format("expected a lower bound below +infinity, found {}", lower));
    }
    if (std::isnan(upper) || upper == -kInfinity) {
      throw_at(i, ErrorCode::kNotFinite, where,
               fmt::format("expected an upper bound above -infinity, found {}", upper));
    }
    if (lower > upper) {
      throw_at(i, ErrorCode::kInvalidArgument, where,
               fmt::format("the lower bound {} is above the upper bound {}", lower, upper));
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
  throw make_error(ErrorCode::kShapeMismatch, "{}: {} {} but {} outcomes", where, found, what, expected);
}

}  // namespace widthwise::internal
