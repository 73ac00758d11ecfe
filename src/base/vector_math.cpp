#include "base/vector_math.hpp"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace widthwise::internal {

WIDTHWISE_VECTORISED void exp_all(std::span<const double> x, std::span<double> out) {
  const double* from = x.data();
  double* to = out.data();
  const std::size_t n = x.size();
  for (std::size_t i = 0; i < n; ++i) to[i] = bounded_exp(from[i]);
}

WIDTHWISE_VECTORISED void affine_values(const double* a, const double* v, const double* c, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] / bounded_exp(v[i]) + c[i];
}

WIDTHWISE_VECTORISED void affine_inverses(double b, const double* v, const double* c, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = affine_inverse(b, bounded_exp(v[i]), c[i]);
}

void stream_out(const double* from, std::size_t n, double* to) {
#if defined(__SSE2__)
  std::size_t i = 0;
  if (n > 0 && reinterpret_cast<std::uintptr_t>(to) % 16 != 0) {
    to[0] = from[0];
    i = 1;
  }
  for (; i + 2 <= n; i += 2) _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
  if (i < n) to[i] = from[i];
#else
  std::memcpy(to, from, n * sizeof(double));
#endif
}

void end_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace widthwise::internal
