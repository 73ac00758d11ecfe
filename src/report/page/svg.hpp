#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Small pictures as inline SVG, in the colours of the report (style.hpp). Legends and names of axes are HTML, which
/// the browser lays out in its font; only tick labels are text of the SVG, with room for the widest usual fonts.
namespace widthwise::internal {

/// The text for HTML and SVG: markup characters as entities, those that HTML does not allow as '?'.
[[nodiscard]] std::string escaped(std::string_view text);

/// Likewise for the content of an element, where quotes are no markup.
[[nodiscard]] std::string escaped_content(std::string_view text);

/// The text, or its beginning with "…" if it has more than `max` characters.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t max);

/// Likewise if it may be wider than `width`, in units of the picture.
[[nodiscard]] std::string narrowed(std::string_view text, double width);

struct Tick {
  double at = 0;
  std::string text;
};

struct Axis {
  double low = 0;
  double high = 1;
  std::vector<Tick> ticks = {};
  std::string name = {};
  std::optional<double> missing_at = {};  ///< position of missing values, after all ticks
};

/// Round numbers from low to high, at most about `count` of them.
[[nodiscard]] std::vector<double> round_numbers(double low, double high, std::size_t count = 5);

/// Ticks at round numbers, such as 200,000 and 0.5.
[[nodiscard]] std::vector<Tick> number_ticks(double low, double high);

/// Ticks at round percentages.
[[nodiscard]] std::vector<Tick> percent_ticks(double low, double high);

/// How an entry of a legend is drawn.
enum class Mark { kLine, kDashes, kBand, kDot, kCross };

/// Expected results are drawn in one colour, those that need attention in the other, levels and means like text.
enum class Tone { kGood, kBad, kText };

struct LegendEntry {
  Mark mark;
  Tone tone;
  std::string text;
};

/// A style of lines and areas: "stroke:var(--good)".
[[nodiscard]] std::string stroke(Tone tone);
[[nodiscard]] std::string fill(Tone tone);

/// A picture with two axes and a legend above it. Coordinates are those of the axes.
/// Thread safety: none.
class Picture {
 public:
  using Points = std::vector<std::pair<double, double>>;

  struct Layout {
    double height = 230;
    bool grid_along_x = false;     ///< grid lines at the ticks of x, else at those of y
    std::vector<Tick> right = {};  ///< numbers at the right, at coordinates of y
    std::string right_name = {};
  };

  Picture(Axis x, Axis y, std::vector<LegendEntry> legend, const Layout& layout);

  /// Draw what follows in this style, until the next style.
  void style(const std::string& css);

  void line(double x1, double y1, double x2, double y2);
  void polyline(const Points& points);
  void polygon(const Points& points);
  void rectangle(double x1, double y1, double x2, double y2);
  void dot(double x, double y, double radius);
  void cross(double x, double y, double reach);

  /// The legend, the names of the axes and the SVG; `name` makes the references to its heading and caption unique.
  [[nodiscard]] std::string to_string(std::string_view name) const;

 private:
  [[nodiscard]] double px(double x) const;
  [[nodiscard]] double py(double y) const;
  void drop_colliding_ticks();
  [[nodiscard]] std::string points_text(const Points& points) const;
  [[nodiscard]] std::string axes_text() const;

  Axis x_;
  Axis y_;
  Layout layout_;
  double left_ = 0;
  double right_ = 0;
  double top_ = 0;
  double bottom_ = 0;
  std::string drawn_;
  bool in_style_ = false;
  std::vector<LegendEntry> legend_;
};

}  // namespace widthwise::internal
