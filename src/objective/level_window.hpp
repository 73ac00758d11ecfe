#pragma once

#include <span>

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// The least and the greatest B that a window of levels counts.
struct WindowEnds {
  double low;
  double high;
  double outside;  ///< what the others count
};

/// Find them among all rows: the values of rank ceil((N + 1) lower) and ceil((N + 1) upper), at most N. With weights,
/// rows are ranked by the weight up to them, and the "+ 1" is one mean weight. For a window inside one rank both ends
/// are the same value: the paper's l_alpha.
WindowEnds window_ends(const LevelWindow& window, std::span<const double> values, std::span<const double> weights,
                       Workspace& workspace);

/// Write each row's weight to out, times `outside` for those outside the window. Equal values are inside or outside
/// together.
void weigh_window(const WindowEnds& ends, std::span<const double> values, std::span<const double> weights,
                  std::span<double> out);

}  // namespace widthwise::internal
