#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace widthwise::internal {

/// n uninitialised numbers: on the stack up to kFew, so that a single row needs no allocation.
template <class T, std::size_t kFew>
class Scratch {
 public:
  explicit Scratch(std::size_t n) : many_(n > kFew ? n : 0), span_(n > kFew ? many_.data() : few_.data(), n) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::span<T> span() const { return span_; }
  [[nodiscard]] T* data() const { return span_.data(); }
  [[nodiscard]] T& operator[](std::size_t i) const { return span_[i]; }

 private:
  std::array<T, kFew> few_;
  std::vector<T> many_;
  std::span<T> span_;
};

}  // namespace widthwise::internal
