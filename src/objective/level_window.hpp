#pragma once

#include <span>

#include <widthwise/objective.hpp>

namespace widthwise::internal {

/// The smallest and the largest B inside a level window.
struct WindowEnds {
  double low;
  double high;
  double outside;  ///< weight of the others
};

/// Find them among all rows: the values of rank ceil((N + 1) lower) and ceil((N + 1) upper), at most N. With weights,
/// rows are ranked by cumulative weight, and the "+ 1" is one mean weight. For a window within one rank both ends are
/// the same value: the paper's l_alpha.
WindowEnds window_ends(const LevelWindow& window, std::span<const double> values, std::span<const double> weights,
                       Workspace& workspace);

/// Write the weight of each row to out, times `outside` for rows outside the window. Rows with equal values are all
/// inside or all outside.
void weigh_window(const WindowEnds& ends, std::span<const double> values, std::span<const double> weights,
                  std::span<double> out);

}  // namespace widthwise::internal
