#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/dense_net.hpp>
#include <widthwise/knn.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/plan.hpp>
#include <widthwise/trees.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {
namespace {

struct InspectArguments {
  std::string model;
  bool json = false;
};

Json describe(const RowFunction* function) {
  if (function == nullptr) return nullptr;
  if (const auto* trees = dynamic_cast<const Trees*>(function)) {
    return {{"kind", "trees"}, {"trees", trees->trees()}, {"nodes", trees->arrays().feature.size()}};
  }
  if (const auto* net = dynamic_cast<const DenseNet*>(function)) {
    std::size_t weights = 0;
    for (const auto& layer : net->arrays().layers) weights += layer.weights.size() + layer.biases.size();
    return {{"kind", "net"}, {"layers", net->arrays().layers.size()}, {"weights", weights}};
  }
  if (const auto* neighbours = dynamic_cast<const Knn*>(function)) {
    return {
        {"kind", "knn"}, {"neighbours", neighbours->arrays().neighbours}, {"rows", neighbours->arrays().values.size()}};
  }
  return {{"kind", "unknown"}};
}

std::string description_of(const RowFunction* function) {
  const Json json = describe(function);
  const auto number = [&](const char* key) { return count(json.at(key).get<std::uint64_t>()); };
  std::string kind = json.at("kind");
  if (kind == "trees") return number("trees") + " trees of " + number("nodes") + " nodes in all";
  if (kind == "net") return "a net of " + number("layers") + " layers and " + number("weights") + " weights";
  if (kind == "knn") return "mean of the " + number("neighbours") + " nearest of " + number("rows") + " rows";
  return kind;
}

Json describe(const std::optional<OnlineCalibration>& online) {
  if (!online) return nullptr;
  Json levels = Json::array();
  for (std::size_t j = 0; j < online->levels().size(); ++j) {
    levels.push_back({{"level", online->levels()[j].value()}, {"step", online->step(j)}});
    levels.back().update(cli::to_json(online->coverage(j)));
  }
  return {{"method", name_of(online->method())},
          {"window_rows", online->window_rows()},
          {"rows", online->rows()},
          {"pending", online->rows_pending()},
          {"levels", levels}};
}

Json to_json(const Model& model, const std::string& file) {
  const ModelParts& parts = model.parts();
  const int format = model_file_format(file);
  Json levels = Json::array();
  for (const Level& level : parts.levels) {
    Json entry = {{"level", level.value()}, {"min_rows", parts.guarantee.min_rows(level)}};
    entry.update(
        cli::to_json(coverage_spread(level, parts.calibration.rows_kept(), kSpreadConfidence, parts.guarantee)));
    levels.push_back(std::move(entry));
  }
  return {{"model", file},
          {"bytes", std::filesystem::file_size(file)},
          {"format", format},
          {"checksum", format >= kChecksumFormat},
          {"target", parts.target},
          {"prediction", parts.prediction.empty() ? Json(nullptr) : Json(parts.prediction)},
          {"features", parts.features},
          {"base", describe(parts.base.get())},
          {"localizer", describe(parts.localizer.get())},
          {"score_transform", parts.rule.transform().name()},
          {"score", name_of(parts.rule.score())},
          {"two_sided", parts.rule.sides() == Sides::kTwo},
          {"unit", parts.unit},
          {"outcome_range", {parts.outcome_range.low, parts.outcome_range.high}},
          {"fit_rows", parts.fit_rows},
          {"calibration",
           {{"rows_seen", parts.calibration.rows_seen()},
            {"rows_kept", parts.calibration.rows_kept()},
            {"groups", parts.calibration.groups().size()},
            {"grouped", parts.calibration.grouped()},
            {"weighted", parts.calibration.weighted()}}},
          {"guarantee", cli::to_json(parts.guarantee)},
          {"levels", levels},
          {"online", describe(parts.online)},
          {"notes", parts.notes}};
}

std::string calibration_text(const Model& model) {
  if (!model.uncalibrated().empty()) return model.uncalibrated();
  const Calibration& calibration = model.parts().calibration;
  std::string text = count_of(calibration.rows_seen(), "row");
  if (calibration.rows_kept() < calibration.rows_seen()) {
    text += ", " + count(calibration.rows_kept()) + " of them kept";
  }
  if (calibration.grouped()) text += ", in " + count_of(calibration.groups().size(), "group");
  if (calibration.weighted()) text += ", weighted";
  return text;
}

std::string level_text(const Level& level, const ModelParts& parts) {
  const std::uint64_t rows = parts.calibration.rows_kept();
  const std::uint64_t min_rows = parts.guarantee.min_rows(level);
  if (rows < min_rows) return "infinite until there are " + count_of(min_rows, "calibration row");
  const CoverageSpread spread = coverage_spread(level, rows, kSpreadConfidence, parts.guarantee);
  return "covers " + percent_range(spread.low, spread.high) + " of new outcomes, with 95 % confidence";
}

std::string to_text(const Model& model, const std::string& file) {
  const ModelParts& parts = model.parts();
  constexpr std::size_t kIndent = 20;
  const int format = model_file_format(file);
  std::string text = printable(file) + ": " + count_of(std::filesystem::file_size(file), "byte") + ", format " +
                     std::to_string(format) + (format >= kChecksumFormat ? ", checksum verified" : ", no checksum") +
                     "\n\n";
  const auto line = [&](std::string name, const std::string& value) {
    name = printable(name);
    name.resize(std::max(kIndent - 2, name.size() + 1), ' ');
    text += "  " + name + wrapped(value, 100, kIndent) + "\n";
  };
  line("target", parts.target.empty() ? "not named" : printable(parts.target));
  line("features", count(parts.features.size()) + ": " + list(parts.features));
  line("base model", parts.base == nullptr
                         ? "none: predictions come in the column '" + printable(parts.prediction) + "'"
                         : description_of(parts.base.get()));
  line("localizer",
       parts.localizer == nullptr ? "none: one width for all rows" : description_of(parts.localizer.get()));
  line("rule", std::string(parts.rule.transform().name()) + " of the " + std::string(name_of(parts.rule.score())) +
                   " error, " + (parts.rule.sides() == Sides::kTwo ? "each side by itself" : "both sides alike"));
  if (std::isfinite(parts.outcome_range.low) || std::isfinite(parts.outcome_range.high)) {
    line("range", significant(parts.outcome_range.low) + " to " + significant(parts.outcome_range.high));
  }
  line("fitted on", count_of(parts.fit_rows, "row"));
  line("calibration", calibration_text(model));
  const std::optional<Level>& confidence = parts.guarantee.confidence();
  line("guarantee", confidence ? "training-conditional: coverage of at least the level for " +
                                     percent(confidence->value()) + " of calibration sets"
                               : "marginal: coverage of at least the level, on average over calibration sets");
  for (const Level& level : parts.levels) line("level " + level.to_string(), level_text(level, parts));
  if (const auto& online = parts.online) {
    line("stream", std::string(name_of(online->method())) + ", " + count_of(online->rows(), "row") + " observed" +
                       (online->rows_pending() == 0 ? "" : ", " + count(online->rows_pending()) + " pending"));
    for (std::size_t j = 0; j < online->levels().size() && online->rows() > 0; ++j) {
      const OnlineCoverage coverage = online->coverage(j);
      line("  at level " + online->levels()[j].to_string(),
           "covered " + percent(share(coverage.covered, coverage.rows)) + ", and " +
               percent(share(coverage.recent_covered, coverage.recent_rows)) + " of the last " +
               count_of(coverage.recent_rows, "row"));
    }
  }
  if (!parts.notes.empty()) {
    text += "\n";
    for (const auto& [name, value] : parts.notes) line(name, value);
  }
  return text;
}

void run(const InspectArguments& arguments) {
  const Model model = load(arguments.model);
  if (arguments.json) {
    print_json(to_json(model, arguments.model));
  } else {
    print(to_text(model, arguments.model));
  }
}

void declare(CLI::App& command, InspectArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file")->required()->type_name("FILE");
  add_json(command, arguments.json);
}

}  // namespace

Command add_inspect(CLI::App& program) {
  return make_command<InspectArguments>(program, "inspect", "Say what is in a model file.",
                                        "widthwise inspect homes.safetensors", declare, run);
}

}  // namespace widthwise::cli
