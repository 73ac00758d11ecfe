#include "evaluated_table.hpp"

#include <algorithm>

#include <widthwise/error.hpp>
#include <widthwise/page.hpp>
#include <widthwise/seen_rows.hpp>
#include <widthwise/track.hpp>
#include <widthwise/train/conditional_coverage.hpp>
#include <widthwise/train/registry.hpp>

#include "options.hpp"
#include "output.hpp"
#include "row_sample.hpp"
#include "standard_streams.hpp"
#include "train/progress_steps.hpp"

namespace widthwise::cli {

void add_evaluation_arguments(CLI::App& command, EvaluationArguments& arguments) {
  command.add_option("MODEL", arguments.model, "model file")->required()->type_name("FILE");
  accept_standard_input(command.add_option("TABLE", arguments.table,
                                           "CSV or Parquet file of rows the model has not seen, with outcomes; -: "
                                           "standard input"))
      ->required()
      ->type_name("FILE");
  add_levels(command, arguments.levels, "those the model was fitted for");
  add_guarantee(command, arguments.guarantee, "that of the model");
  add_list(
      command, "--by", arguments.by, "COL",
      "also test coverage by the values of this column, which need not be a feature: one bin per label of text and "
      "booleans, one per value of a few integers, else ten ranges. Several columns, A,B, are tested by each "
      "combination of their labels");
  command.add_flag(
      "--conditional", arguments.conditional,
      "also estimate how far coverage given the features is from the level (ERT, with its standard error): "
      "a classifier predicts covered rows, which takes seconds and needs XGBoost. 0 if coverage is the "
      "level at every x; slightly negative by chance");
  add_table_options(command, arguments.reading);
}

namespace {

ExchangeabilityOptions options_of(const EvaluationArguments& arguments) {
  ExchangeabilityOptions options;
  if (!arguments.false_alarm_rate.empty()) {
    options.false_alarm_rate = parse_number("--false-alarm-rate", arguments.false_alarm_rate);
  }
  return options;
}

}  // namespace

EvaluatedTable::EvaluatedTable(const EvaluationArguments& arguments, EvaluatedLevels which)
    : model_(load_with_guarantee(arguments.model, arguments.guarantee)) {
  const std::string& target = target_of(model_);
  levels_ = arguments.levels.empty() ? model_.parts().levels : parse_levels(arguments.levels);
  if (which == EvaluatedLevels::kAll) counted_levels_ = page_levels(levels_);
  const std::size_t levels = levels_.size() + counted_levels_.size();
  auto reader = open_table(arguments.table, arguments.reading.read_options(batches_for(levels)));
  require_model_columns(*reader, arguments.table, model_, {{target, ", the outcomes to compare with"}});
  check_dependence(arguments, which);
  const auto coverage_trainer = arguments.conditional ? make_classifier_trainer() : nullptr;
  by_ = std::make_unique<ByColumn>(arguments.by, model_, *reader, arguments.table);
  table_ = std::make_unique<ModelTable>(model_, arguments.table, std::move(reader), std::vector<std::string>{target},
                                        std::vector<std::string>{}, RowUse::kEvaluate, by_->select());
  if (arguments.in_order) exchangeability_ = monitor_of(model_, options_of(arguments));
  if (model_.scheme().refusal(SchemeUse::kQuantiles).empty() && model_.calibration_rows() > 0) crps_.emplace();
  read();
  if (outcomes_.empty()) throw Error(ErrorCode::kBadData, arguments.table + ": no rows");
  report_ = {.table = arguments.table,
             .rows = outcomes_.size(),
             .guarantee = model_.parts().guarantee,
             .model = EvaluatedModel::of(model_),
             .seen = seen_rows(model_, sketch_, clusters_),
             .unknown_categories = table_->unknown_categories(),
             .missed_by_range = MissedByRange::of(model_, outcomes_),
             .outcome_advice = OutcomeAdvice::of(model_, outcomes_, lower_.front(), upper_.front()),
             .features = model_.parts().features,
             .exchangeability = exchangeability_,
             .conditional = arguments.conditional};
  if (crps_) report_.crps = crps_->summary();
  evaluate(coverage_trainer.get());
}

void EvaluatedTable::check_dependence(const EvaluationArguments& arguments, EvaluatedLevels which) const {
  const std::string dependence = model_.scheme().dependence();
  if (dependence.empty()) return;
  const auto refuse_if = [&](bool asked, const char* what, const char* remedy) {
    if (!asked) return;
    throw internal::make_error(ErrorCode::kInvalidArgument, "{} independent rows, but {}; {}", what, dependence,
                               remedy);
  };
  refuse_if(which == EvaluatedLevels::kAll, "the pictures need", "use 'widthwise evaluate'");
  refuse_if(!arguments.by.empty(), "--by: the confidence intervals of bins need", "evaluate without --by");
  refuse_if(arguments.conditional, "--conditional: the classifier needs", "evaluate without --conditional");
}

void EvaluatedTable::read() {
  const std::string& target = model_.parts().target;
  const std::size_t features = model_.parts().features.size();
  std::vector<Level> levels = levels_;
  levels.insert(levels.end(), counted_levels_.begin(), counted_levels_.end());
  const std::size_t k = levels.size();
  lower_.resize(levels_.size());
  upper_.resize(levels_.size());
  covered_.resize(counted_levels_.size());
  internal::RowSample sample(kMaxSearchRows, 0);
  std::vector<double> predictions;
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> quantiles;
  ProgressBar bar("rows");
  while (table_->next(bar, "evaluating")) {
    const ModelRows rows = table_->rows();
    const std::size_t n = rows.x.rows();
    const auto outcomes = table_->column(target);
    require_finite(outcomes, table_->file(), target, table_->batch().first_row(), kRemoveRows);
    model_.sketch(sketch_, rows, outcomes);
    if (exchangeability_) observe(*exchangeability_, model_, rows, outcomes);
    predictions.resize(n);
    lower.resize(n * k);
    upper.resize(n * k);
    model_.intervals(rows, levels, predictions, {lower.data(), n, k}, {upper.data(), n, k});
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t place = sample.place_of_next();
      if (place == internal::RowSample::kNowhere) continue;
      sampled_.resize(sample.size());
      sampled_features_.resize(sample.size() * features);
      sampled_[place] = outcomes_.size() + i;
      std::copy_n(rows.x.row(i).begin(), features, sampled_features_.data() + place * features);
    }
    if (crps_) {
      const std::size_t m = crps_->probabilities().size();
      quantiles.resize(n * m);
      model_.quantiles(rows, crps_->probabilities(), {quantiles.data(), n, m});
      crps_->add({quantiles.data(), n, m}, outcomes);
    }
    add_bounds(outcomes, {lower.data(), n, k}, {upper.data(), n, k});
    outcomes_.insert(outcomes_.end(), outcomes.begin(), outcomes.end());
    predictions_.insert(predictions_.end(), predictions.begin(), predictions.end());
    for (const std::int64_t group : rows.groups) groups_.push_back(model_.quantile_group(group));
    clusters_.insert(clusters_.end(), rows.clusters.begin(), rows.clusters.end());
    by_->append(table_->batch().numbers(), table_->more());
  }
}

void EvaluatedTable::add_bounds(std::span<const double> outcomes, MatrixView lower, MatrixView upper) {
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = 0; j < levels_.size(); ++j) {
      lower_[j].push_back(lower(i, j));
      upper_[j].push_back(upper(i, j));
    }
    for (std::size_t j = 0; j < counted_levels_.size(); ++j) {
      const std::size_t column = levels_.size() + j;
      if (lower(i, column) <= outcomes[i] && outcomes[i] <= upper(i, column)) ++covered_[j];
    }
  }
}

CalibrationRanks EvaluatedTable::ranks(const Level& level) const { return model_.law(level, groups_); }

IntervalRows EvaluatedTable::rows(std::size_t level) const {
  IntervalRows rows{lower_[level], upper_[level], outcomes_};
  if (model_.parts().rule.may_be_empty()) rows.predictions = predictions_;
  return rows;
}

SearchRows EvaluatedTable::search() const {
  const MatrixView features(sampled_features_.data(), sampled_.size(), model_.parts().features.size());
  return {sampled_, features, sampled_predictions_, model_.parts().categories};
}

std::vector<CoverageSpread> EvaluatedTable::expected() const {
  const double confidence = 1 - (1 - kVerdictConfidence) / static_cast<double>(counted_levels_.size());
  std::vector<CoverageSpread> expected;
  for (const Level& level : counted_levels_) {
    expected.push_back(expected_coverage(ranks(level), outcomes_.size(), confidence));
  }
  return expected;
}

void EvaluatedTable::estimate_erts(const LocalizerTrainer& trainer, const SearchRows& search) {
  ProgressBar bar("rounds");
  const ProgressCallback progress = bar.callback();
  internal::ProgressSteps steps(progress);
  steps.plan("level", 1, internal::ProgressSteps::Length::kKnown, levels_.size());
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    report_.levels[j].ert = estimate_ert(trainer, rows(j), search, levels_[j], {}, steps.next());
  }
}

void EvaluatedTable::evaluate(const LocalizerTrainer* coverage_trainer) {
  for (const std::size_t row : sampled_) sampled_predictions_.push_back(predictions_[row]);
  // A model without calibration rows has no verdict to count clusters for.
  for (std::size_t j = 0; j < levels_.size(); ++j) {
    const CalibrationRanks law = ranks(levels_[j]);
    const auto clusters = law.sets ? std::span<const std::int64_t>(clusters_) : std::span<const std::int64_t>();
    report_.levels.push_back(widthwise::evaluate(
        rows(j), levels_[j], law, search(), {.levels = levels_.size(), .clusters = clusters, .by = by_->column()}));
  }
  if (coverage_trainer != nullptr) estimate_erts(*coverage_trainer, search());
}

void EvaluatedTable::warn() const {
  (void)warn_of_no_calibration(model_);
  table_->warn_of_labels();
}

}  // namespace widthwise::cli
