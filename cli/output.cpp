#include "output.hpp"

#include <algorithm>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>

#include "message.hpp"
#include "text.hpp"

namespace widthwise::cli {
namespace {

std::string& speaker() {
  static std::string name = "widthwise";
  return name;
}

}  // namespace

double share(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

std::string suggestion(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = internal::nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += printable(words[i]);
  }
  return text;
}

std::string TextTable::to_string() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = "  ";
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blanks(widths[j] - row[j].size(), ' ');
      line += j == 0 ? row[j] + blanks : fmt::format("   {}{}", blanks, row[j]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool line_ends = end < text.size() && text[end] == '\n';
    if (column > 0 && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    } else if (column == 0) {
      column = indent;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line_ends) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
  }
  return out;
}

std::string with_guarantee(const Guarantee& guarantee) {
  return guarantee.is_marginal() ? "" : " with guarantee " + guarantee.to_string();
}

Json to_json(const Guarantee& guarantee) {
  const std::optional<Level>& confidence = guarantee.confidence();
  return confidence ? Json(confidence->value()) : Json(guarantee.to_string());
}

Json to_json(const Proportion& proportion) {
  return {{"share", proportion.share},
          {"low", proportion.low},
          {"high", proportion.high},
          {"successes", proportion.successes},
          {"trials", proportion.trials}};
}

Json to_json(const CoverageSpread& spread) {
  return {{"rows", spread.rows}, {"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}};
}

// Without confidence intervals: they are for rows that are alike, and these need not be.
Json to_json(const OnlineCoverage& coverage) {
  return {{"rows", coverage.rows},
          {"coverage", share(coverage.covered, coverage.rows)},
          {"recent_rows", coverage.recent_rows},
          {"recent_coverage", share(coverage.recent_covered, coverage.recent_rows)},
          {"fixed_coverage", share(coverage.covered_fixed, coverage.rows)}};
}

void print_json(const Json& json) {
  print(internal::printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n");
}

void print(std::string_view text) { std::cout << internal::printable(text, internal::Newlines::kKept); }

void set_speaker(std::string name) { speaker() = std::move(name); }

void complain(std::string_view text) { std::cerr << speaker() << ": " << internal::printable(text) << "\n"; }

void warn(std::string_view text) { complain("warning: " + std::string(text)); }

}  // namespace widthwise::cli
