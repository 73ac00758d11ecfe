#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>
#include <widthwise/model_file.hpp>
#include <widthwise/plan.hpp>
#include <widthwise/train/fit.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables.hpp"

namespace widthwise::cli {
namespace {

struct CalibrateArguments {
  std::string model;
  std::string table;
  std::string output;
  bool replace = false;
  bool json = false;
};

/// |y - f(x)| of a sample of the rows, whatever their number.
class ResidualSample {
 public:
  explicit ResidualSample(const Model& model) : model_(model) {}

  void add(const ModelRows& rows, std::span<const double> outcomes) {
    const std::size_t columns = rows.x.columns();
    places_.clear();
    x_.clear();
    predictions_.clear();
    outcomes_.clear();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      const std::size_t place = sample_.place_of_next();
      if (place == RowSample::kNowhere) continue;
      places_.push_back(place);
      x_.insert(x_.end(), rows.x.row(i).begin(), rows.x.row(i).end());
      if (!rows.predictions.empty()) predictions_.push_back(rows.predictions[i]);
      outcomes_.push_back(outcomes[i]);
    }
    std::vector<double> fitted(places_.size());
    model_.predictions({{x_.data(), places_.size(), columns}, predictions_, {}}, fitted);
    residuals_.resize(sample_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) residuals_[places_[i]] = std::abs(outcomes_[i] - fitted[i]);
  }

  [[nodiscard]] std::span<const double> residuals() const { return residuals_; }

 private:
  static constexpr std::size_t kRows = 10'000;

  const Model& model_;
  RowSample sample_{kRows, 0};
  std::vector<double> residuals_;
  // The rows of one batch that the sample takes.
  std::vector<std::size_t> places_;
  std::vector<double> x_;
  std::vector<double> predictions_;
  std::vector<double> outcomes_;
};

Model with_new_rows(const Model& model, Calibration calibration, const std::filesystem::path& file) {
  try {
    return model.with_calibration(std::move(calibration));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDuplicateRows) throw;
    throw Error(ErrorCode::kDuplicateRows,
                file.string() +
                    ": these rows are already in the calibration; counted twice they would make intervals too "
                    "narrow. Use --replace to calibrate with this table alone");
  }
}

void report(const CalibrateArguments& arguments, const Model& before, const Model& after, std::uint64_t added,
            const std::string& written) {
  const Calibration& calibration = after.parts().calibration;
  Json levels = Json::array();
  std::string text = written + ": calibrated with " + count_of(calibration.rows_seen(), "row");
  if (!arguments.replace && before.parts().calibration.rows_seen() > 0) text += ", " + count(added) + " of them new";
  text += ".\n";
  for (const Level& level : after.parts().levels) {
    const CoverageSpread spread = coverage_spread(level, calibration.rows_kept());
    Json entry = {{"level", level.value()}};
    entry.update(to_json(spread));
    levels.push_back(std::move(entry));
    if (calibration.rows_kept() < level.least_rows()) {
      text += "Intervals of level " + level.text() + " are infinite until there are " +
              count_of(level.least_rows(), "calibration row") + ".\n";
    } else {
      text += "Intervals of level " + level.text() + " will cover " + percent_range(spread.low, spread.high) +
              " of new outcomes, with 95 % confidence.\n";
    }
  }
  if (arguments.json) {
    print_json(Json{{"model", written},
                    {"rows_added", added},
                    {"rows_seen", calibration.rows_seen()},
                    {"rows_kept", calibration.rows_kept()},
                    {"levels", levels}});
  } else {
    print(text);
  }
}

void run(const CalibrateArguments& arguments) {
  const Model model = load(arguments.model);
  const std::string& target = target_of(model);
  auto reader = TableReader::open(arguments.table);
  if (fitted_on(model, *reader)) {
    throw Error(ErrorCode::kBadData,
                arguments.table +
                    ": the model was fitted on this very file; its errors there are smaller than on new rows, "
                    "so intervals would be too narrow. Calibrate with rows the fit has not seen");
  }
  require_column(*reader, arguments.table, target, ErrorCode::kBadData, ", the outcomes to calibrate with");
  ModelTable table(model, arguments.table, std::move(reader), {target});

  const Calibration& old = model.parts().calibration;
  Calibration calibration = arguments.replace ? Calibration(old.options()) : old;
  const std::uint64_t first_row = first_row_number(table.reader());
  ResidualSample sample(model);
  {
    ProgressBar bar("rows");
    while (table.next(bar, "calibrating")) {
      const auto outcomes = table.column(target);
      const std::uint64_t row = table.batch().first_row();
      require_finite(outcomes, table.file(), target, row, kRemoveRows);
      const ModelRows rows = table.rows();
      if (model.needs_predictions()) {
        require_finite(rows.predictions, table.file(), model.parts().prediction, row, kRemoveRows);
      }
      model.calibrate(calibration, rows, outcomes, first_row + row);
      if (!model.parts().fit_residuals.empty()) sample.add(rows, outcomes);
    }
  }
  if (table.rows_read() == 0) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");

  const Model calibrated = with_new_rows(model, std::move(calibration), table.file());
  const std::string written = arguments.output.empty() ? arguments.model : arguments.output;
  save(calibrated, written);
  report(arguments, model, calibrated, table.rows_read(), written);
  if (!sample.residuals().empty() && check_in_sample(model, sample.residuals()).suspicious()) {
    warn(InSampleCheck::kWarning);
  }
}

}  // namespace

Command add_calibrate(CLI::App& program) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App& command = add_command(program, "calibrate", "Add fresh rows to a model's calibration, or start a new one.",
                                  "widthwise calibrate homes.safetensors march.csv");
  command.add_option("MODEL", arguments->model, "model file; written anew, whole or not at all")
      ->required()
      ->type_name("FILE");
  command
      .add_option("TABLE", arguments->table, "CSV or Parquet file of rows that nothing was fitted on, with outcomes")
      ->required()
      ->type_name("FILE");
  command.add_flag("--replace", arguments->replace, "forget the calibration there was, and use these rows alone");
  command.add_option("-o,--output", arguments->output, "write here and leave MODEL as it is")->type_name("FILE");
  add_json(command, arguments->json);
  return {&command, [=] { run(*arguments); }};
}

}  // namespace widthwise::cli
