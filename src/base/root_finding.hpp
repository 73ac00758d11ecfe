#pragma once

#include <concepts>
#include <memory>

namespace widthwise {

/// Borrowed function of one number: two pointers, no allocation. Must not outlive the callable it refers to.
class ScalarFunction {
 public:
  /// Refer to a function object or lambda, which has to outlive this.
  template <std::invocable<double> F>
  explicit ScalarFunction(const F& callable)
      : object_(std::addressof(callable)),
        call_([](const void* object, double x) -> double { return (*static_cast<const F*>(object))(x); }) {}

  double operator()(double x) const { return call_(object_, x); }  ///< the value at x

 private:
  const void* object_;
  double (*call_)(const void*, double);
};

/// Return the positive a at which an increasing function reaches `target`, rounded up: the function is above the target
/// at every larger double. Returns 0 if the function is above the target everywhere, and +infinity if nowhere.
///
/// The search runs on log a, outwards from `guess` (positive) until the root is bracketed, then with TOMS 748. It takes
/// about ten evaluations, whether the root is 1e-12 or 1e12.
[[nodiscard]] double invert_increasing(ScalarFunction function, double target, double guess);

/// Return the least double of a growing sequence from `a` (positive) at which the function is above `target`: a itself,
/// or a few units in the last place more where the rounded function is still at the target.
[[nodiscard]] double least_above(ScalarFunction function, double target, double a);

}  // namespace widthwise
