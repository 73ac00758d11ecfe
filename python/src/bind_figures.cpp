#include <utility>

#include "figures.hpp"

namespace widthwise::python {
namespace {

using internal::FigureText;

nb::dict dict_of(const FigureText& text) {
  nb::dict found;
  found["caption"] = text.caption;
  found["x_name"] = text.x_name;
  found["y_name"] = text.y_name;
  found["legend"] = text.legend;
  found["notes"] = text.notes;
  return found;
}

nb::dict dict_of(const internal::IntervalsFigure& figure) {
  constexpr const char* kAxes[] = {"order", "scale", "ranks", "slots"};
  nb::dict found = dict_of(static_cast<const FigureText&>(figure));
  found["shown"] = figure.shown;
  found["places"] = figure.places;
  found["lower"] = figure.lower;
  found["upper"] = figure.upper;
  found["outcomes"] = figure.outcomes;
  found["outside"] = figure.outside;
  found["axis"] = kAxes[static_cast<std::size_t>(figure.axis)];
  found["ticks"] = figure.ticks;
  found["x_limits"] = std::pair(figure.x_low, figure.x_high);
  found["x_end"] = figure.x_end;
  found["missing_at"] = figure.missing_at;
  found["y_limits"] = std::pair(figure.y_low, figure.y_high);
  return found;
}

nb::dict dict_of(const internal::WidthsFigure& figure) {
  nb::dict found = dict_of(static_cast<const FigureText&>(figure));
  found["edges"] = figure.edges;
  found["shares"] = figure.shares;
  found["mean"] = figure.mean;
  found["infinite"] = figure.infinite;
  found["one_width"] = figure.one_width;
  found["x_limits"] = std::pair(figure.x_low, figure.x_high);
  return found;
}

nb::dict dict_of(const internal::BinsFigure& figure) {
  nb::dict found = dict_of(static_cast<const FigureText&>(figure));
  found["names"] = figure.names;
  found["shown"] = figure.shown;
  found["x_limits"] = std::pair(figure.x_low, figure.x_high);
  return found;
}

/// What a figure shows of a bin in the dict of an evaluation.
Bin bin_of(const nb::dict& found) {
  const nb::object coverage = found["coverage"];
  const auto number = [](const nb::object& value) { return nb::cast<double>(value); };
  return {.low = number(found["low"]),
          .high = number(found["high"]),
          .coverage = {.trials = nb::cast<std::uint64_t>(coverage["trials"]),
                       .share = number(coverage["share"]),
                       .low = number(coverage["low"]),
                       .high = number(coverage["high"])},
          .weak = nb::cast<bool>(found["weak"]),
          .label = nb::cast<std::string>(found.attr("get")("label", ""))};
}

/// Intervals over a column, given by its name and labels, or in the order of the values, which are then predictions.
nb::dict intervals_figure(const Doubles& lower, const Doubles& upper, const Doubles& outcomes, const Doubles& values,
                          const std::optional<std::pair<std::string, std::vector<std::string>>>& column,
                          const std::string& target, const std::optional<double>& level, std::size_t max_rows) {
  const auto figure = [&] {
    const nb::gil_scoped_release release;
    const IntervalRows rows{span_of(lower), span_of(upper), span_of(outcomes)};
    const std::optional<Level> shown = level ? std::optional<Level>(*level) : std::nullopt;
    if (!column) return internal::intervals_figure(rows, span_of(values), shown, target, max_rows);
    const internal::FeatureColumn feature{.name = column->first,
                                          .rows = {},
                                          .values = {values.data(), values.data() + values.size()},
                                          .labels = column->second};
    return internal::feature_figure(rows, feature, shown, target, max_rows);
  }();
  return dict_of(figure);
}

nb::dict widths_figure(const Doubles& lower, const Doubles& upper, const std::optional<Doubles>& outcomes,
                       const std::optional<Doubles>& predictions, const std::string& target) {
  const auto figure = [&] {
    const nb::gil_scoped_release release;
    return internal::widths_figure(span_of(lower), span_of(upper), span_of(outcomes), span_of(predictions), target);
  }();
  return dict_of(figure);
}

nb::dict bins_figure(const std::vector<nb::dict>& found, double level, const std::string& name) {
  std::vector<Bin> bins;
  for (const nb::dict& bin : found) bins.push_back(bin_of(bin));
  return dict_of(internal::bins_figure(bins, level, name, name));
}

}  // namespace

nb::dict coverage_dict(const internal::MeasuredCoverage& measured) {
  const internal::CoverageFigure figure = internal::coverage_figure(measured);
  nb::dict found = dict_of(static_cast<const FigureText&>(figure));
  found["levels"] = figure.levels;
  found["coverage"] = figure.coverage;
  found["low"] = figure.low;
  found["high"] = figure.high;
  found["below"] = figure.below;
  found["greatest_level"] = figure.greatest_level;
  found["reach"] = figure.reach;
  found["rows"] = measured.rows;
  found["calibration_rows"] = measured.calibration_rows;
  return found;
}

void bind_figures(nb::module_& module) {
  module.attr("ROWS_SHOWN") = internal::kRowsShown;
  module.def("prediction_name", &internal::prediction_name, nb::arg("target"));
  module.def("width_name", &internal::width_name, nb::arg("target"));
  module.def("intervals_figure", &intervals_figure, nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes"),
             nb::arg("values"), nb::arg("column").none(), nb::arg("target"), nb::arg("level").none(),
             nb::arg("max_rows"));
  module.def(
      "coverage_figure",
      [](const std::vector<double>& levels, const std::vector<std::uint64_t>& covered, std::uint64_t rows,
         const std::optional<std::uint64_t>& calibration_rows, const std::string& guarantee) {
        return coverage_dict(internal::measured_coverage(levels_of(levels), covered, rows, calibration_rows,
                                                         Guarantee::parse(guarantee)));
      },
      nb::arg("levels"), nb::arg("covered"), nb::arg("rows"), nb::arg("calibration_rows").none(), nb::arg("guarantee"));
  module.def("widths_figure", &widths_figure, nb::arg("lower"), nb::arg("upper"), nb::arg("outcomes").none(),
             nb::arg("predictions").none(), nb::arg("target"));
  module.def("bins_figure", &bins_figure, nb::arg("bins"), nb::arg("level"), nb::arg("name"));
}

}  // namespace widthwise::python
