// Read bytes as a sketch of rows: an error, or a sketch that can be compared and merged.
#include <widthwise/row_sketch.hpp>

#include "sealed.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using widthwise::RowSketch;
  widthwise::fuzz::read_words<RowSketch>(data, size, [](const RowSketch& sketch) {
    RowSketch twice = sketch;
    twice.merge(sketch);
    (void)twice.serialise();
  });
  return 0;
}
