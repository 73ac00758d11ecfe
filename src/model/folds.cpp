#include "model/folds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "model/list_selection.hpp"

namespace widthwise::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// How many predictions and parameters of fold models are stored at a time.
constexpr std::size_t kBlockNumbers = std::size_t{1} << 18U;
constexpr std::size_t kMaxBlockRows = 512;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, "Model: " + what); }

/// Refuse what needs one model per row.
[[noreturn]] void refuse_part(std::string_view what) {
  refuse(Combination().add(Choice::kOneModel, true, what).add(Choice::kCrossCalibration).refusal());
}

void refuse_groups(std::span<const std::int64_t> groups) {
  if (!groups.empty()) refuse_part("groups");
}

bool same_rule(const ConformalRule& a, const ConformalRule& b) {
  return a.transform().name() == b.transform().name() && a.transform().options() == b.transform().options() &&
         a.score() == b.score() && a.sides() == b.sides();
}

bool same_kinds(const Model& a, const std::vector<Labels>& categories, std::size_t features) {
  for (std::size_t j = 0; j < features; ++j) {
    const bool categorical = !categories.empty() && categories[j].size() > 0;
    if ((a.categories_of(j).size() > 0) != categorical) return false;
  }
  return true;
}

void check_fold(const ModelParts& parts, std::size_t k) {
  if (parts.folds[k] == nullptr) refuse(fmt::format("fold {} has no model", k));
  const Model& model = *parts.folds[k];
  const ModelParts& fold = model.parts();
  const auto expect = [&](bool holds, std::string_view what) {
    if (!holds) refuse(fmt::format("fold {} {}", k, what));
  };
  expect(fold.features == parts.features, "has other features than the model");
  expect(fold.target == parts.target, "has another target than the model");
  expect(fold.levels == parts.levels, "has other levels than the model");
  expect(fold.outcome_space == parts.outcome_space, "has another range or step of outcomes than the model");
  expect(same_kinds(model, parts.categories, parts.features.size()),
         "has categories where the model has numbers, or numbers where it has categories");
  if (const std::string refusal = model.scheme().refusal(Choice::kFold, fmt::format("fold {}", k)); !refusal.empty()) {
    refuse(refusal);
  }
  expect(!fold.online, "tracks a stream; expected a model without a stream");
  expect(fold.calibration.rows_kept() > 0, "has no calibration rows");
}

/// One column of predictions for all folds, or one for each.
std::vector<std::string> columns_of(const ModelParts& parts) {
  std::vector<std::string> columns;
  for (const auto& fold : parts.folds) {
    if (fold->needs_predictions()) columns.push_back(fold->parts().prediction);
  }
  if (!columns.empty() && columns.front() == parts.prediction) columns.resize(1);
  return columns;
}

}  // namespace

void check_folds(const ModelParts& parts) {
  if (parts.folds.size() < 2 || parts.folds.size() > kMaxFolds) {
    refuse(fmt::format("expected 2 to {} folds, found {}", kMaxFolds, parts.folds.size()));
  }
  for (std::size_t k = 0; k < parts.folds.size(); ++k) check_fold(parts, k);
  if (!same_rule(parts.rule, parts.folds.front()->parts().rule)) refuse("the rule is not that of the first fold");
  // Either all folds read the prediction of the model, or each its own column.
  const std::string& first = parts.folds.front()->parts().prediction;
  for (std::size_t k = 0; k < parts.folds.size(); ++k) {
    const std::string expected = first == parts.prediction ? first : fold_prediction(parts.prediction, k);
    if (parts.folds[k]->parts().prediction != expected) {
      refuse(fmt::format("fold {} reads the prediction column '{}'; expected '{}'", k,
                         printable(parts.folds[k]->parts().prediction), printable(expected)));
    }
  }
  if (!parts.upper_prediction.empty()) {
    refuse(
        fmt::format("the column of upper quantiles '{}' needs split calibration", printable(parts.upper_prediction)));
  }
  if (parts.base != nullptr || parts.localizer != nullptr || parts.calibration.rows_seen() > 0) {
    refuse("a cross-calibrated model has base models, localizers and calibrations in its folds only");
  }
}

/// A block of rows, evaluated by all fold models.
struct FoldModels::Block {
  std::size_t count = 0;
  std::vector<std::vector<double>> predictions;  // per fold, unscaled
  std::vector<std::vector<double>> scaled;       // the same in the units of the fold; NaN if not finite
  std::vector<std::vector<double>> parameters;   // per fold, count x its parameters
  std::vector<double> x;                         // copies for one fold
  std::vector<double> given;
};

/// Finds the bounds of one row after another.
class FoldModels::Search {
 public:
  explicit Search(const FoldModels& folds) : folds_(folds), selection_(lists_of(folds)) {}

  /// The lower or upper bound of a row: the rank-th largest lower bound, or the rank-th smallest upper bound, over all
  /// calibration rows, each with its fold model.
  [[nodiscard]] double bound(const Block& block, std::size_t row, const Level& level, bool above) {
    const std::uint64_t rank = level.rank(selection_.size());
    const double sign = above ? 1 : -1;
    if (rank > selection_.size()) return sign * kInfinity;
    return sign * selection_.select(rank, [&](std::size_t k, double score) {
      const ModelParts& fold = folds_.models_[k]->parts();
      const std::size_t columns = fold.rule.parameter_count();
      return sign * fold.unit *
             fold.rule.bound(block.scaled[k][row], std::span(block.parameters[k]).subspan(row * columns, columns),
                             score, above);
    });
  }

 private:
  [[nodiscard]] static std::vector<std::span<const double>> lists_of(const FoldModels& folds) {
    return {folds.scores_.begin(), folds.scores_.end()};
  }

  const FoldModels& folds_;
  ListSelection selection_;
};

FoldModels::FoldModels(const ModelParts& parts)
    : RowPredictor(columns_of(parts)),
      models_(parts.folds),
      categories_(parts.categories),
      own_predictions_(parts.folds.front()->parts().prediction != parts.prediction),
      space_(parts.outcome_space) {
  for (const auto& model : models_) {
    std::vector<double> scores;
    for (const CalibrationRow& row : model->parts().calibration.rows(0)) scores.push_back(row.score);
    std::ranges::sort(scores);
    rows_.push_back(scores.size());
    all_rows_ += scores.size();
    scores_.push_back(std::move(scores));
  }
}

std::size_t FoldModels::block_rows() const {
  std::size_t numbers = 0;
  for (const auto& model : models_) numbers += 1 + model->parts().rule.parameter_count();
  return std::clamp<std::size_t>(kBlockNumbers / numbers, 1, kMaxBlockRows);
}

Rows FoldModels::rows_for(std::size_t k, const Rows& rows, std::vector<double>& x,
                          std::vector<double>& predictions) const {
  Rows own = rows;
  const std::size_t n = rows.x.rows();
  const std::vector<Labels>& categories = models_[k]->parts().categories;
  // A category that the rows of this model did not have is missing, as it is in any new row.
  if (categories != categories_) {
    const std::size_t columns = rows.x.columns();
    x.resize(n * columns);
    for (std::size_t i = 0; i < n; ++i) std::ranges::copy(rows.x.row(i), x.data() + i * columns);
    for (std::size_t j = 0; j < columns; ++j) {
      if (categories_[j].size() > 0) renumber(x, j, columns, categories_[j], categories[j]);
    }
    own.x = {x.data(), n, columns};
  }
  if (own_predictions_) {
    predictions.resize(n);
    for (std::size_t i = 0; i < n; ++i) predictions[i] = rows.predictions[i * models_.size() + k];
    own.predictions = predictions;
  }
  return own;
}

void FoldModels::evaluate(const Rows& rows, Block& block) const {
  block.count = rows.x.rows();
  block.predictions.resize(models_.size());
  block.scaled.resize(models_.size());
  block.parameters.resize(models_.size());
  for (std::size_t k = 0; k < models_.size(); ++k) {
    const std::size_t columns = models_[k]->parts().rule.parameter_count();
    block.predictions[k].resize(block.count);
    block.parameters[k].resize(block.count * columns);
    models_[k]->parameters(rows_for(k, rows, block.x, block.given), block.predictions[k],
                           {block.parameters[k].data(), block.count, columns});
    block.scaled[k].resize(block.count);
    for (std::size_t i = 0; i < block.count; ++i) {
      const double scaled = block.predictions[k][i] / models_[k]->parts().unit;
      block.scaled[k][i] = std::isfinite(scaled) ? scaled : kNaN;
    }
  }
}

double FoldModels::median_prediction(const Block& block, std::size_t row,
                                     std::vector<std::pair<double, std::uint64_t>>& sorted) const {
  sorted.clear();
  for (std::size_t k = 0; k < models_.size(); ++k) {
    if (!std::isfinite(block.predictions[k][row])) return kNaN;
    sorted.emplace_back(block.predictions[k][row], rows_[k]);
  }
  std::ranges::sort(sorted);
  std::uint64_t weight = 0;
  std::size_t k = 0;
  while (2 * (weight += sorted[k].second) < all_rows_) ++k;
  const double median = sorted[k].first;
  // With exactly half of the weight on each side, the middle of the two.
  return 2 * weight == all_rows_ ? median + (sorted[k + 1].first - median) / 2 : median;
}

void FoldModels::predictions(const Rows& rows, std::span<double> out) const {
  intervals(rows, {}, out, {nullptr, out.size(), 0}, {nullptr, out.size(), 0});
}

void FoldModels::intervals(const Rows& rows, std::span<const Level> levels, std::span<double> predictions,
                           MutableMatrixView lower, MutableMatrixView upper) const {
  refuse_groups(rows.groups);
  const std::size_t n = rows.x.rows();
  const std::size_t part = block_rows();
  Search search(*this);
  Block block;
  std::vector<std::pair<double, std::uint64_t>> sorted;
  for (std::size_t first = 0; first < n; first += part) {
    evaluate(rows.slice(first, std::min(part, n - first)), block);
    for (std::size_t i = 0; i < block.count; ++i) {
      const double prediction = median_prediction(block, i, sorted);
      predictions[first + i] = prediction;
      for (std::size_t j = 0; j < levels.size(); ++j) {
        double low = search.bound(block, i, levels[j], false);
        double high = search.bound(block, i, levels[j], true);
        // Below level 0.5, the bounds may cross: no outcome conforms, and any interval is valid.
        if (low > high) {
          low = std::isnan(prediction) ? -kInfinity : prediction;
          high = std::isnan(prediction) ? kInfinity : prediction;
        }
        const Interval inside = space_.inside(Interval{low, high});
        lower(first + i, j) = inside.lower;
        upper(first + i, j) = inside.upper;
      }
    }
  }
}

PredictedInterval FoldModels::predict(std::span<const double> x, const Level& level, std::span<const double> given,
                                      std::optional<std::int64_t> group, std::optional<double> /*weight*/) const {
  if (group) refuse_part("groups");
  PredictedInterval found;
  intervals({.x = {x.data(), 1, x.size()}, .predictions = given}, {&level, 1}, {&found.prediction, 1},
            {&found.lower, 1, 1}, {&found.upper, 1, 1});
  return found;
}

const OneModel& FoldModels::one(std::string_view what) const { refuse_part(what); }

void FoldModels::p_values(const Rows& rows, std::span<const double> outcomes, std::span<double> out) const {
  refuse_groups(rows.groups);
  const std::size_t n = rows.x.rows();
  const std::size_t part = block_rows();
  std::vector<double> scores(part);
  std::vector<double> x;
  std::vector<double> predictions;
  std::ranges::fill(out, 1.0);  // the new row
  for (std::size_t first = 0; first < n; first += part) {
    const Rows some = rows.slice(first, std::min(part, n - first));
    const std::size_t count = some.x.rows();
    for (std::size_t k = 0; k < models_.size(); ++k) {
      models_[k]->scores(rows_for(k, some, x, predictions), outcomes.subspan(first, count), {scores.data(), count});
      for (std::size_t i = 0; i < count; ++i) {
        // A score that is missing is at most every other one, as in SortedScores::p_value.
        const auto found = std::isnan(scores[i]) ? scores_[k].begin() : std::ranges::lower_bound(scores_[k], scores[i]);
        out[first + i] += static_cast<double>(scores_[k].end() - found);
      }
    }
  }
  for (double& value : out) value /= static_cast<double>(all_rows_ + 1);
}

}  // namespace widthwise::internal
