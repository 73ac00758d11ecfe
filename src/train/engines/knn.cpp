#include <widthwise/train/knn.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/knn.hpp>
#include <widthwise/random.hpp>
#include <widthwise/version.hpp>

#include "knn_bounds.hpp"
#include "message.hpp"
#include "text.hpp"
#include "train/option_fields.hpp"

namespace widthwise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kReportRows = 1000;  // between two progress reports: a few milliseconds, rarely a second

struct Standard {
  double centre = 0;
  double scale = 1;
};

/// Mean and standard deviation of the finite values of a column over some rows; a scale of 1 for a constant column.
Standard standard_of(const MatrixView& x, std::size_t column, std::span<const std::size_t> rows) {
  // Divide by the largest value first, so that sums of squares cannot overflow and constant columns are detected
  // exactly.
  double largest = 0;
  double count = 0;
  for (const std::size_t row : rows) {
    if (!std::isfinite(x(row, column))) continue;
    largest = std::max(largest, std::abs(x(row, column)));
    ++count;
  }
  if (largest == 0) return {};
  const auto mean_of = [&](const auto& term) {
    double sum = 0;
    for (const std::size_t row : rows) {
      if (std::isfinite(x(row, column))) sum += term(x(row, column) / largest);
    }
    return sum / count;
  };
  const double mean = mean_of([](double share) { return share; });
  const double variance = mean_of([mean](double share) { return (share - mean) * (share - mean); });
  const double scale = largest * std::sqrt(variance);
  return {.centre = largest * mean, .scale = scale > 0 ? scale : 1};
}

/// The rows of a table as the arrays of Knn.
KnnArrays remember(const MatrixView& x, std::span<const double> y, std::span<const std::size_t> rows,
                   std::span<const Standard> standards, std::size_t neighbours) {
  KnnArrays arrays;
  arrays.neighbours = static_cast<std::uint32_t>(neighbours);
  for (const Standard& standard : standards) {
    arrays.centre.push_back(standard.centre);
    arrays.scale.push_back(standard.scale);
  }
  arrays.points.reserve(rows.size() * standards.size());
  arrays.values.reserve(rows.size());
  for (const std::size_t row : rows) {
    for (std::size_t j = 0; j < standards.size(); ++j) {
      arrays.points.push_back(internal::standardised(x(row, j), standards[j].centre, standards[j].scale));
    }
    arrays.values.push_back(y[row]);
  }
  return arrays;
}

class KnnTrainer final : public BaseTrainer {
 public:
  explicit KnnTrainer(KnnOptions options) : options_(std::move(options)) {
    KnnOptions::table().check(options_);
    auto& candidates = options_.candidates;
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  }

  [[nodiscard]] std::string_view name() const override { return "knn"; }
  [[nodiscard]] std::string engine() const override { return std::string("widthwise ") + kVersion; }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }

  [[nodiscard]] std::shared_ptr<const RowFunction> train(const InputRows& inputs, std::span<const double> y,
                                                         std::string_view stage,
                                                         const ProgressCallback& progress) const override {
    const MatrixView x = inputs.x;
    check(x, y);
    const std::vector<std::size_t> rows = choose_rows(y.size());
    std::vector<Standard> standards(x.columns());
    for (std::size_t j = 0; j < standards.size(); ++j) standards[j] = standard_of(x, j, rows);

    // The rows are in random order, so the first ones are a random sample.
    const auto wanted = static_cast<std::size_t>(options_.holdout_fraction * static_cast<double>(rows.size()));
    const std::size_t held = std::clamp<std::size_t>(wanted, 1, rows.size() - 1);
    const auto holdout = std::span(rows).first(held);
    const auto fit = std::span(rows).subspan(held);
    const std::size_t steps = (held + kReportRows - 1) / kReportRows;
    const auto candidates = candidates_for(rows.size(), fit.size());
    std::size_t done = 0;
    const auto tell = [&](double loss) {
      report(progress, {.stage = stage, .done = done, .total = candidates.size() * steps + 1, .loss = loss});
    };
    tell(kNaN);
    std::size_t best = candidates[0];
    double best_loss = std::numeric_limits<double>::infinity();
    // A single candidate needs no comparison, and may need more rows than remain without the hold-out.
    for (const std::size_t k : candidates.size() > 1 ? candidates : std::span<const std::size_t>()) {
      const Knn model(remember(x, y, fit, standards, k));
      double sum = 0;
      for (std::size_t i = 0; i < held; ++i) {
        double prediction = 0;
        model.evaluate({x.row(holdout[i]).data(), 1, x.columns()}, {&prediction, 1, 1});
        sum += std::abs(y[holdout[i]] - prediction) / static_cast<double>(held);
        if ((i + 1) % kReportRows == 0 || i + 1 == held) {
          ++done;
          tell(sum * static_cast<double>(held) / static_cast<double>(i + 1));
        }
      }
      if (sum < best_loss) {
        best = k;
        best_loss = sum;
      }
    }
    auto model = std::make_shared<Knn>(remember(x, y, rows, standards, best));
    done = candidates.size() * steps + 1;
    tell(std::isfinite(best_loss) ? best_loss : kNaN);
    return model;
  }

 private:
  static void check(const MatrixView& x, std::span<const double> y) {
    if (x.rows() != y.size()) {
      throw internal::make_error(ErrorCode::kShapeMismatch, "knn: {} rows of x but {} of y", x.rows(), y.size());
    }
    if (y.size() < 2) {
      throw internal::make_error(ErrorCode::kTooFewRows, "knn: expected at least 2 rows, found {}", y.size());
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(y[i])) {
        throw internal::make_error(ErrorCode::kNotFinite, "knn: y of row {} is {}; expected a finite number", i + 1,
                                   y[i]);
      }
    }
  }

  /// Return the rows to store, in random order.
  [[nodiscard]] std::vector<std::size_t> choose_rows(std::size_t n) const {
    std::vector<std::size_t> rows(n);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    Random random(options_.seed);
    random.shuffle(std::span(rows));
    if (options_.max_rows > 0 && options_.max_rows < n) rows.resize(options_.max_rows);
    return rows;
  }

  /// Return the candidates for k that are possible with `fit` rows, or the smallest if it needs all rows.
  [[nodiscard]] std::span<const std::size_t> candidates_for(std::size_t rows, std::size_t fit) const {
    const auto& all = options_.candidates;
    if (all[0] > rows) {
      throw internal::make_error(ErrorCode::kTooFewRows,
                                 "knn: the smallest candidate for k is {}, but there are only {} rows", all[0], rows);
    }
    const auto tried = static_cast<std::size_t>(std::upper_bound(all.begin(), all.end(), fit) - all.begin());
    return std::span(all).first(std::max<std::size_t>(tried, 1));
  }

  KnnOptions options_;
};

}  // namespace

namespace {

OptionTable<KnnOptions>::Field max_rows_field() {
  auto field =
      internal::count_field("max_rows", &KnnOptions::max_rows, 0, "number of rows stored, chosen at random; 0 for all");
  field.info.expected = "0, or a whole number of at least 2";
  field.read = [read = field.read](KnnOptions& options, std::string_view text) {
    return read(options, text) && options.max_rows != 1;
  };
  return field;
}

}  // namespace

const OptionTable<KnnOptions>& KnnOptions::table() {
  static const OptionTable<KnnOptions> kAll({
      {{.name = "candidates",
        .form = "K,...",
        .expected = "whole numbers of at least 1, such as 2,4,8",
        .help = "candidates for the number of neighbours; the best on a hold-out is used"},
       [](KnnOptions& options, std::string_view text) {
         std::vector<std::size_t> candidates;
         for (const std::string_view part : internal::split(text)) {
           const auto value = internal::read_whole<std::size_t>(part);
           if (!value || *value == 0) return false;
           candidates.push_back(*value);
         }
         options.candidates = std::move(candidates);
         return true;
       },
       [](const KnnOptions& options) {
         std::vector<std::string> texts;
         for (const std::size_t k : options.candidates) texts.push_back(std::to_string(k));
         return internal::joined(texts, ",");
       }},
      internal::number_field("holdout_fraction", &KnnOptions::holdout_fraction, internal::NumberRange::fraction(),
                             "share of the rows held out to choose the number of neighbours"),
      max_rows_field(),
      internal::seed_field(&KnnOptions::seed),
  });
  return kAll;
}

std::unique_ptr<const BaseTrainer> make_knn_trainer(const KnnOptions& options) {
  return std::make_unique<const KnnTrainer>(options);
}

}  // namespace widthwise
