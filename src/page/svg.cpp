#include "page/svg.hpp"

#include <algorithm>
#include <cmath>

#include "message.hpp"
#include "printable.hpp"
#include "text.hpp"

namespace widthwise::internal {
namespace {

constexpr double kWidth = 360;
constexpr double kFont = 10;
constexpr double kSmallFont = 9;
constexpr double kCharacter = 0.63;  // width of a character of a wide font, in units of the font size
constexpr double kEdge = 6;
constexpr double kLegendLine = 13;
constexpr double kMarkWidth = 14;
constexpr std::size_t kLongestName = 46;

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

double text_width(std::string_view text, double font) {
  return kCharacter * font * static_cast<double>(characters(text));
}

std::string text_at(double x, double y, std::string_view anchor, double font, std::string_view text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="{:g}" fill="currentColor">{}</text>)",
                     x, y, anchor, font, escaped(text));
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

std::string mark_at(const LegendEntry& entry, double x, double y) {
  const double middle = x + kMarkWidth / 2;
  switch (entry.mark) {
    case Mark::kLine:
      return fmt::format(R"(<g style="{};stroke-width:1.6">{}</g>)", stroke(entry.tone),
                         line_at(x, y, x + kMarkWidth, y));
    case Mark::kDashes:
      return fmt::format(R"(<g style="{};stroke-width:1.2;stroke-dasharray:4 3">{}</g>)", stroke(entry.tone),
                         line_at(x, y, x + kMarkWidth, y));
    case Mark::kBand:
      return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:g}" height="7" style="{};opacity:.35"/>)", x, y - 3.5,
                         kMarkWidth, fill(entry.tone));
    case Mark::kDot:
      return fmt::format(R"(<g style="{}">{}</g>)", fill(entry.tone), dot_at(middle, y, 2.5));
    case Mark::kCross:
      return fmt::format(R"(<g style="{};stroke-width:1.5;fill:none">{}</g>)", stroke(entry.tone),
                         cross_at(middle, y, 3));
  }
  return "";
}

constexpr std::string_view colour(Tone tone) {
  return tone == Tone::kGood ? "var(--good)" : tone == Tone::kBad ? "var(--bad)" : "currentColor";
}

}  // namespace

std::string escaped(std::string_view text) {
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
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#x27;";
        break;
      default:
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
  for (const double at : round_numbers(low, high)) ticks.push_back({at, significant(at, 6)});
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
      bottom_(layout_.height - kFont - 8 - (x_.name.empty() ? 0 : kFont + 5)),
      legend_(std::move(legend)) {
  double labels = 0;
  for (const Tick& tick : y_.ticks) labels = std::max(labels, text_width(tick.text, kFont));
  left_ = kEdge + (y_.name.empty() ? 0 : kFont + 7) + labels + 5;
  const double last = x_.ticks.empty() ? 0 : text_width(x_.ticks.back().text, kFont) / 2;
  right_ = kWidth - std::max(kEdge, last) - 2;
  lay_out_legend();
  drop_colliding_ticks();
}

void Picture::lay_out_legend() {
  double at = kEdge;
  double y = kLegendLine;
  for (const LegendEntry& entry : legend_) {
    const double width = kMarkWidth + 4 + text_width(entry.text, kSmallFont);
    if (at > kEdge && at + width > kWidth - kEdge) {
      at = kEdge;
      y += kLegendLine;
    }
    legend_text_ += mark_at(entry, at, y - 3.5);
    legend_text_ += text_at(at + kMarkWidth + 4, y, "start", kSmallFont, entry.text);
    at += width + 10;
  }
  top_ = legend_.empty() ? kEdge + kFont / 2 : y + 9;
}

void Picture::drop_colliding_ticks() {
  constexpr double kGap = 4;
  const auto collide = [&] {
    for (std::size_t i = 1; i < x_.ticks.size(); ++i) {
      const double room = px(x_.ticks[i].at) - px(x_.ticks[i - 1].at);
      if (room < (text_width(x_.ticks[i].text, kFont) + text_width(x_.ticks[i - 1].text, kFont)) / 2 + kGap)
        return true;
    }
    return false;
  };
  while (x_.ticks.size() > 1 && collide()) {
    std::vector<Tick> kept;
    for (std::size_t i = 0; i < x_.ticks.size(); i += 2) kept.push_back(std::move(x_.ticks[i]));
    x_.ticks = std::move(kept);
  }
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

void Picture::note(std::string_view text) {
  ++note_lines_;
  notes_ += text_at(right_ - 3, top_ + 11 * static_cast<double>(note_lines_), "end", kSmallFont, text);
}

std::string Picture::axes_text() const {
  std::string text = R"(<g style="stroke:currentColor;stroke-width:.6;opacity:.15">)";
  for (const Tick& tick : layout_.grid_along_x ? x_.ticks : y_.ticks) {
    text += layout_.grid_along_x ? line_at(px(tick.at), top_, px(tick.at), bottom_)
                                 : line_at(left_, py(tick.at), right_, py(tick.at));
  }
  text += R"(</g><g style="stroke:currentColor;stroke-width:.7">)";
  text += line_at(left_, bottom_, right_, bottom_) + line_at(left_, top_, left_, bottom_) + "</g>\n";
  for (const Tick& tick : x_.ticks) text += text_at(px(tick.at), bottom_ + kFont + 4, "middle", kFont, tick.text);
  for (const Tick& tick : y_.ticks) {
    text += text_at(left_ - 5, py(tick.at) + 0.35 * kFont, "end", kFont, tick.text);
  }
  if (!x_.name.empty()) {
    text += text_at((left_ + right_) / 2, layout_.height - 4, "middle", kFont, shortened(x_.name, kLongestName));
  }
  if (!y_.name.empty()) {
    const double middle = (top_ + bottom_) / 2;
    const auto room = static_cast<std::size_t>((bottom_ - top_ + kFont) / (kCharacter * kFont));
    text += fmt::format(
        R"svg(<g transform="rotate(-90 {0:.1f} {1:.1f})">{2}</g>)svg", kEdge + kFont - 1, middle,
        text_at(kEdge + kFont - 1, middle, "middle", kFont, shortened(y_.name, std::min(room, kLongestName))));
  }
  return text + "\n";
}

std::string Picture::to_string(std::string_view name) const {
  return fmt::format(
      "<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-labelledby=\"{}-heading\" aria-describedby=\"{}-caption\">\n"
      "{}{}{}\n{}{}</svg>",
      kWidth, layout_.height, name, name, axes_text(), drawn_, in_style_ ? "</g>" : "", legend_text_, notes_);
}

}  // namespace widthwise::internal
