#include "evaluation/diagnostics/min_mean_run.hpp"

#include <vector>

namespace widthwise::internal {

// With the cuts as points (rows, covered), the mean of a run is the slope from its begin to its end. For one end, the
// begin with the smallest slope is where the tangent from the end touches the upper hull of the cuts at least
// `min_rows` before it. The hull loses points at its back as new cuts are added. Points removed at its front are never
// needed again: if hull[1] has a smaller slope to this end than hull[0], the edge between them is steeper than that
// slope. A later end for which hull[0] is better lies above the line of the edge, so its slope is larger than one
// already found.
Run min_mean_run(std::span<const Tally> cuts, std::int64_t min_rows) {
  std::vector<std::size_t> hull(cuts.size());
  std::size_t front = 0;
  std::size_t back = 0;  // the hull is hull[front, back)
  std::size_t candidate = 0;
  Run best;
  for (std::size_t end = 1; end < cuts.size(); ++end) {
    for (; cuts[end].rows - cuts[candidate].rows >= min_rows; ++candidate) {
      const Tally& added = cuts[candidate];
      while (back - front >= 2) {
        const Tally& last = cuts[hull[back - 1]];
        if (mean_is_less(added - last, last - cuts[hull[back - 2]])) break;
        --back;
      }
      hull[back++] = candidate;
    }
    if (front == back) continue;
    while (back - front >= 2 && mean_is_less(cuts[end] - cuts[hull[front + 1]], cuts[end] - cuts[hull[front]])) ++front;
    const Run run{hull[front], end};
    if (best.end == 0 || mean_is_less(cuts[run.end] - cuts[run.begin], cuts[best.end] - cuts[best.begin])) best = run;
  }
  return best;
}

}  // namespace widthwise::internal
