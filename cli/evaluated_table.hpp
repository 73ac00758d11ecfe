#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <widthwise/evaluation.hpp>
#include <widthwise/level.hpp>
#include <widthwise/model.hpp>
#include <widthwise/report.hpp>
#include <widthwise/row_sketch.hpp>
#include <widthwise/train/trainer.hpp>

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
  kAll,    ///< coverage is also counted at page_levels
};

/// A table with the intervals of a model, and their evaluation.
/// Thread safety: none. Not movable: the parts refer to each other.
class EvaluatedTable {
 public:
  EvaluatedTable(const EvaluationArguments& arguments, EvaluatedLevels which);
  EvaluatedTable(const EvaluatedTable&) = delete;
  EvaluatedTable& operator=(const EvaluatedTable&) = delete;

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const EvaluationReport& report() const { return report_; }
  [[nodiscard]] const std::vector<double>& predictions() const { return predictions_; }

  /// The intervals of a level of the report.
  [[nodiscard]] IntervalRows rows(std::size_t level) const;

  /// The rows that were searched for weak places.
  [[nodiscard]] SearchRows search() const;

  /// The levels of EvaluatedLevels::kAll, with the covered rows and the expected coverage of each.
  [[nodiscard]] const std::vector<Level>& counted_levels() const { return counted_levels_; }
  [[nodiscard]] const std::vector<std::uint64_t>& covered() const { return covered_; }
  [[nodiscard]] std::vector<CoverageSpread> expected() const;

  /// Warn of missing calibration rows and of labels that the model does not know.
  void warn() const;

 private:
  void read();
  void add_bounds(std::span<const double> outcomes, MatrixView lower, MatrixView upper);
  void evaluate(const LocalizerTrainer* coverage_trainer);
  void estimate_erts(const LocalizerTrainer& trainer, const SearchRows& search);
  void check_dependence(const EvaluationArguments& arguments, EvaluatedLevels which) const;
  [[nodiscard]] CalibrationRanks ranks(const Level& level) const;

  Model model_;
  std::vector<Level> levels_;
  std::vector<Level> counted_levels_;
  std::unique_ptr<ByColumn> by_;
  std::unique_ptr<ModelTable> table_;
  std::vector<double> outcomes_;
  std::vector<std::vector<double>> lower_;  // per level
  std::vector<std::vector<double>> upper_;
  std::vector<std::uint64_t> covered_;                     // per counted level
  std::vector<std::int64_t> groups_;                       // whose quantiles the rows take; empty without groups
  std::vector<std::int64_t> clusters_;                     // empty without clusters
  std::optional<ExchangeabilityMonitor> exchangeability_;  // if the rows are in time order
  std::optional<Crps> crps_;                               // if the model has quantiles
  RowSketch sketch_;
  std::vector<double> predictions_;
  // A sample of the rows to search for weak places, and the features of these rows.
  std::vector<std::size_t> sampled_;
  std::vector<double> sampled_features_;
  std::vector<double> sampled_predictions_;
  EvaluationReport report_;
};

}  // namespace widthwise::cli
