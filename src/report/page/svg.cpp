#include "report/page/svg.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"

namespace widthwise::internal {
namespace {

constexpr double kWidth = 360;
constexpr double kFont = 11;
constexpr double kEdge = 2;
constexpr double kGap = 5;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

/// The width of a character that begins with this byte, at least that of DejaVu and Verdana, with and without serifs or
/// with one width for all, in units of the font size. Later bytes of a character have no width.
double width_of_byte(unsigned char byte) {
  constexpr std::string_view kWide = "%@MWmw";
  if ((byte & 0xC0U) == 0x80U) return 0;
  if (byte >= 0x80U || kWide.find(static_cast<char>(byte)) != std::string_view::npos) return 1.08;
  const bool tall = byte >= 'A' && byte <= 'Z';
  return tall || std::string_view("+-=<>~#&_").find(static_cast<char>(byte)) != std::string_view::npos ? 0.88 : 0.66;
}

double text_width(std::string_view text) {
  double width = 0;
  for (const char byte : text) width += width_of_byte(static_cast<unsigned char>(byte));
  return kFont * width;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{:g}" fill="currentColor">{}</text>)",
                     x, y, anchor, kFont, escaped(text));
}

std::string line_at(double x1, double y1, double x2, double y2) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", x1, y1, x2, y2);
}

std::string dot_at(double x, double y, double radius) {
  return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:g}"/>)", x, y, radius);
}

std::string cross_at(double x, double y, double reach) {
  return fmt::format(R"(<path d="M{:.1f} {:.1f}l{:g} {:g}m0 {:g}l{:g} {:g}"/>)", x - reach, y - reach, 2 * reach,
                     2 * reach, -2 * reach, -2 * reach, 2 * reach);
}

constexpr std::string_view class_of(Mark mark) {
  switch (mark) {
    case Mark::kLine:
      return "line";
    case Mark::kDashes:
      return "dashes";
    case Mark::kBand:
      return "band";
    case Mark::kDot:
      return "dot";
    case Mark::kCross:
      return "cross";
  }
  return "";
}

constexpr std::string_view class_of(Tone tone) {
  return tone == Tone::kGood ? "good" : tone == Tone::kBad ? "bad" : "plain";
}

std::string legend_text(const std::vector<LegendEntry>& legend) {
  std::string text = "<ul class=\"legend\">";
  for (const LegendEntry& entry : legend) {
    text += fmt::format(R"(<li><span class="mark {} {}"></span>{}</li>)", class_of(entry.mark), class_of(entry.tone),
                        escaped(entry.text));
  }
  return text + "</ul>\n";
}

constexpr std::string_view colour(Tone tone) {
  return tone == Tone::kGood ? "var(--good)" : tone == Tone::kBad ? "var(--bad)" : "currentColor";
}

}  // namespace

std::string escaped_content(std::string_view text) {
  std::string result;
  for (const char letter : printable(text)) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : escaped_content(text)) {
    if (letter == '"') {
      result += "&quot;";
    } else if (letter == '\'') {
      result += "&#x27;";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t max) {
  std::string shown = printable(text);
  if (characters(shown) <= max) return shown;
  std::size_t end = 0;
  for (std::size_t count = 0; end < shown.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(shown[end]) & 0xC0U) != 0x80U;
    if (begins && ++count == max) break;
  }
  return shown.substr(0, end) + "…";
}

std::string narrowed(std::string_view text, double width) {
  std::string shown = printable(text);
  for (std::size_t max = characters(shown); max > 1 && text_width(shown) > width; --max) shown = shortened(text, max);
  return shown;
}

std::vector<double> round_numbers(double low, double high, std::size_t count) {
  constexpr double kSteps[] = {1, 2, 2.5, 5, 10};
  const double range = high - low;
  if (!(range > 0) || !std::isfinite(range)) return {low};
  const double wanted = range / static_cast<double>(count);
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  double step = 10 * power;
  for (const double factor : kSteps) {
    if (factor * power >= wanted * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> numbers;
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + 1e-9 * range && numbers.size() < 2 * count + 2; ++i) {
    numbers.push_back(i == 0 ? 0 : i * step);
  }
  return numbers;
}

std::vector<Tick> number_ticks(double low, double high) {
  std::vector<Tick> ticks;
  constexpr double kGrouped = 1e4;  // all digits before the point are shown, in groups of three
  for (const double at : round_numbers(low, high))
    ticks.push_back({at, significant(at, std::abs(at) < kGrouped ? 6 : 4)});
  return ticks;
}

std::vector<Tick> percent_ticks(double low, double high) {
  std::vector<Tick> ticks;
  for (const double at : round_numbers(low, high)) ticks.push_back({at, significant(100 * at, 4) + "%"});
  return ticks;
}

std::string stroke(Tone tone) { return "stroke:" + std::string(colour(tone)); }

std::string fill(Tone tone) { return "fill:" + std::string(colour(tone)); }

Picture::Picture(Axis x, Axis y, std::vector<LegendEntry> legend, const Layout& layout)
    : x_(std::move(x)),
      y_(std::move(y)),
      layout_(layout),
      top_(0.7 * kFont),
      bottom_(layout_.height - 2 * kFont),
      legend_(std::move(legend)) {
  const auto widest = [](const std::vector<Tick>& ticks) {
    double width = 0;
    for (const Tick& tick : ticks) width = std::max(width, text_width(tick.text));
    return width;
  };
  const auto half = [&](bool last) {
    if (last && x_.missing_at) return text_width("missing") / 2;
    return x_.ticks.empty() ? 0 : text_width((last ? x_.ticks.back() : x_.ticks.front()).text) / 2;
  };
  left_ = kEdge + std::max(widest(y_.ticks) + kGap, half(false));
  right_ = kWidth - kEdge - std::max(layout_.right.empty() ? kGap : widest(layout_.right) + 2 * kGap, half(true));
  drop_colliding_ticks();
}

void Picture::drop_colliding_ticks() {
  const auto collide = [&](const Tick& a, const Tick& b) {
    return px(b.at) - px(a.at) < (text_width(a.text) + text_width(b.text)) / 2 + kGap;
  };
  std::vector<Tick>& ticks = x_.ticks;
  while (ticks.size() > 1 && std::ranges::adjacent_find(ticks, collide) != ticks.end()) {
    std::vector<Tick> kept;  // every second one, with the last: an axis of shares ends at 100%
    for (std::size_t i = (ticks.size() - 1) % 2; i < ticks.size(); i += 2) kept.push_back(std::move(ticks[i]));
    ticks = std::move(kept);
  }
  if (!x_.missing_at) return;
  Tick missing{*x_.missing_at, "missing"};
  while (!ticks.empty() && collide(ticks.back(), missing)) ticks.pop_back();
  ticks.push_back(std::move(missing));
}

double Picture::px(double x) const { return left_ + (x - x_.low) / (x_.high - x_.low) * (right_ - left_); }

double Picture::py(double y) const { return bottom_ - (y - y_.low) / (y_.high - y_.low) * (bottom_ - top_); }

void Picture::style(const std::string& css) {
  if (in_style_) drawn_ += "</g>\n";
  drawn_ += fmt::format(R"(<g style="{}">)", css);
  in_style_ = true;
}

void Picture::line(double x1, double y1, double x2, double y2) { drawn_ += line_at(px(x1), py(y1), px(x2), py(y2)); }

std::string Picture::points_text(const Points& points) const {
  std::string text;
  for (const auto& [x, y] : points) text += fmt::format("{:.1f},{:.1f} ", px(x), py(y));
  return text;
}

void Picture::polyline(const Points& points) {
  drawn_ += fmt::format(R"(<polyline points="{}" style="fill:none"/>)", points_text(points));
}

void Picture::polygon(const Points& points) { drawn_ += fmt::format(R"(<polygon points="{}"/>)", points_text(points)); }

void Picture::rectangle(double x1, double y1, double x2, double y2) {
  drawn_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", px(x1), py(y2),
                        px(x2) - px(x1), py(y1) - py(y2));
}

void Picture::dot(double x, double y, double radius) { drawn_ += dot_at(px(x), py(y), radius); }

void Picture::cross(double x, double y, double reach) { drawn_ += cross_at(px(x), py(y), reach); }

std::string Picture::axes_text() const {
  std::string text = R"(<g style="stroke:currentColor;stroke-width:.6;opacity:.15">)";
  for (const Tick& tick : layout_.grid_along_x ? x_.ticks : y_.ticks) {
    text += layout_.grid_along_x ? line_at(px(tick.at), top_, px(tick.at), bottom_)
                                 : line_at(left_, py(tick.at), right_, py(tick.at));
  }
  text += R"(</g><g style="stroke:currentColor;stroke-width:.7">)";
  text += line_at(left_, bottom_, right_, bottom_) + line_at(left_, top_, left_, bottom_) + "</g>\n";
  for (const Tick& tick : x_.ticks) text += text_at(px(tick.at), bottom_ + 1.7 * kFont, "middle", tick.text);
  for (const Tick& tick : y_.ticks) text += text_at(left_ - kGap, py(tick.at) + 0.35 * kFont, "end", tick.text);
  for (const Tick& tick : layout_.right) {
    text += text_at(kWidth - kEdge, py(tick.at) + 0.35 * kFont, "end", tick.text);
  }
  return text + "\n";
}

std::string Picture::to_string(std::string_view name) const {
  const std::string right = layout_.right_name.empty() ? "" : "<span>" + escaped(layout_.right_name) + "</span>";
  return legend_text(legend_) +
         fmt::format(
             "<p class=\"axis\"><span>{}</span>{}</p>\n<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
             "aria-labelledby=\"{}-heading\" aria-describedby=\"{}-caption\">\n{}{}{}</svg>\n"
             "<p class=\"axis x\" style=\"margin-left:{:.1f}%;margin-right:{:.1f}%\">{}</p>",
             escaped(y_.name), right, kWidth, layout_.height, name, name, axes_text(), drawn_, in_style_ ? "</g>" : "",
             100 * left_ / kWidth, 100 - 100 * right_ / kWidth, escaped(x_.name));
}

}  // namespace widthwise::internal
