#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/evaluator.hpp>
#include <widthwise/model.hpp>
#include <widthwise/report.hpp>

#include "by_column.hpp"
#include "table_options.hpp"
#include "tables.hpp"

namespace widthwise::cli {

/// Arguments of the commands that evaluate a table.
struct EvaluationArguments {
  std::string model;
  std::string table;
  TableOptions reading;
  std::vector<std::string> levels;
  std::vector<std::string> by;
  std::string guarantee;
  bool conditional = false;
  bool in_order = false;
  std::string false_alarm_rate;
};

void add_evaluation_arguments(CLI::App& command, EvaluationArguments& arguments);

/// Which levels of a table are evaluated.
enum class EvaluatedLevels {
  kAsked,  ///< those of the arguments, by default those of the model
  kAll,    ///< covered rows are also counted at page_levels
};

/// A table with outcomes, and the evaluation of a model on it.
/// Thread safety: none. Not movable: the parts refer to each other.
class EvaluatedTable {
 public:
  EvaluatedTable(const EvaluationArguments& arguments, EvaluatedLevels which);
  EvaluatedTable(const EvaluatedTable&) = delete;
  EvaluatedTable& operator=(const EvaluatedTable&) = delete;

  [[nodiscard]] const EvaluationReport& report() const { return report_; }

  /// The contents of the HTML report, with EvaluatedLevels::kAll.
  [[nodiscard]] EvaluationPage page() const { return evaluator_.page(report_); }

  /// Warn of missing calibration rows and of labels that the model does not know.
  void warn() const;

 private:
  void read();

  Model model_;
  Evaluator evaluator_;
  std::unique_ptr<ByColumn> by_;
  std::unique_ptr<ModelTable> table_;
  EvaluationReport report_;
};

}  // namespace widthwise::cli
