#include "train/engines/net/training.hpp"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>
#include <widthwise/error.hpp>
#include <widthwise/random.hpp>
#include <widthwise/train/threads.hpp>

#include "base/message.hpp"
#include "train/engines/net/start.hpp"
#include "train/engines/threads/waiting.hpp"

namespace widthwise::internal {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Maximum number of consecutive steps skipped because of non-finite values before training fails.
constexpr std::size_t kMaxBadSteps = 50;

/// Number of rows evaluated at once without a gradient.
constexpr std::size_t kEvaluatedAtOnce = 8192;

constexpr std::chrono::milliseconds kBetweenReports{250};

/// Engines flush denormals to zero: dead units leave denormal moments, which are slow. Restores the environment.
class TrainingEnvironment {
 public:
  explicit TrainingEnvironment(std::size_t threads) : waiting_(threads) { std::fegetenv(&floating_point_); }
  ~TrainingEnvironment() { std::fesetenv(&floating_point_); }
  TrainingEnvironment(const TrainingEnvironment&) = delete;
  TrainingEnvironment& operator=(const TrainingEnvironment&) = delete;

 private:
  PassiveWaiting waiting_;
  std::fenv_t floating_point_{};
};

/// Calls the progress callback at intervals.
class Reporter {
 public:
  Reporter(const ProgressCallback& callback, std::string_view stage, std::size_t total)
      : callback_(&callback), progress_{stage, 0, total, kNaN} {
    report_now();
  }

  void epoch_done(double loss) {
    ++progress_.done;
    progress_.loss = loss;
    report_now();
  }

  void maybe_report() {
    if (std::chrono::steady_clock::now() - last_ >= kBetweenReports) report_now();
  }

 private:
  void report_now() {
    report(*callback_, progress_);
    last_ = std::chrono::steady_clock::now();
  }

  const ProgressCallback* callback_;
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
};

/// A batch of copied rows, with the outputs of the net and the gradient of the objective.
struct Batch {
  std::vector<float> x;
  std::vector<double> residuals;
  std::vector<double> weights;
  std::vector<double> outputs;
  std::vector<double> gradient;
};

/// A net during training.
class Training {
 public:
  Training(const TrainingRows& rows, const Objective& objective, const NetOptions& options, std::size_t threads,
           const NetEngineMaker& make_engine, Reporter& reporter)
      : options_(options),
        reporter_(reporter),
        objective_(objective),
        random_(options.seed),
        arrays_(initial_net(rows, objective, options, random_)),
        environment_(threads),
        engine_(make_engine(arrays_, options, threads)),
        x_(standardised_rows(arrays_, rows.x)),
        residuals_(rows.residuals),
        order_(counting_rows(rows.residuals)),
        batches_(batch_count(order_.size(), options)) {}

  /// Train one epoch; the learning rate is that after `epochs_done` of `epochs`.
  void epoch(std::size_t epochs_done, std::size_t epochs) {
    random_.shuffle(std::span(order_));
    for (std::size_t i = 0; i < batches_; ++i) {
      const std::size_t first = i * order_.size() / batches_;
      const std::size_t last = (i + 1) * order_.size() / batches_;
      const double done = static_cast<double>(epochs_done) + static_cast<double>(i) / static_cast<double>(batches_);
      step(std::span(order_).subspan(first, last - first), rate_share(done / static_cast<double>(epochs), options_));
      reporter_.maybe_report();
    }
  }

  /// The objective over other rows; NaN if it is not finite.
  class Holdout {
   public:
    Holdout(const Training& training, const TrainingRows& holdout)
        : x_(standardised_rows(training.arrays_, holdout.x)),
          rows_(holdout.residuals),
          outputs_(holdout.x.rows() * training.objective_.parameter_count()) {}

    double loss(const Training& training) {
      const std::size_t n = rows_.residuals.size();
      const std::size_t inputs = x_.size() / n;
      const std::size_t columns = outputs_.size() / n;
      for (std::size_t first = 0; first < n; first += kEvaluatedAtOnce) {
        const std::size_t count = std::min(kEvaluatedAtOnce, n - first);
        training.engine_->evaluate(std::span(x_).subspan(first * inputs, count * inputs),
                                   {outputs_.data() + first * columns, count, columns});
        training.reporter_.maybe_report();
      }
      try {
        return training.objective_.evaluate(rows_, {outputs_.data(), n, columns}, {}, {}, workspace_, SingleWorker());
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kNotFinite) throw;
        return kNaN;
      }
    }

   private:
    std::vector<float> x_;
    ResidualRows rows_;
    std::vector<double> outputs_;
    Workspace workspace_;
  };

  [[nodiscard]] DenseNetArrays arrays() const {
    DenseNetArrays arrays = arrays_;
    engine_->write(arrays);
    return arrays;
  }

 private:
  void copy_batch(std::span<const std::size_t> rows) {
    const std::size_t inputs = arrays_.centre.size();
    batch_.x.clear();
    batch_.residuals.clear();
    batch_.weights.clear();
    for (const std::size_t row : rows) {
      const auto from = x_.begin() + static_cast<std::ptrdiff_t>(row * inputs);
      batch_.x.insert(batch_.x.end(), from, from + static_cast<std::ptrdiff_t>(inputs));
      batch_.residuals.push_back(residuals_.residuals[row]);
      if (!residuals_.weights.empty()) batch_.weights.push_back(residuals_.weights[row]);
    }
    batch_.outputs.resize(rows.size() * objective_.parameter_count());
    batch_.gradient.resize(batch_.outputs.size());
  }

  void step(std::span<const std::size_t> rows, double rate_share) {
    copy_batch(rows);
    const std::size_t columns = objective_.parameter_count();
    const MutableMatrixView outputs(batch_.outputs.data(), rows.size(), columns);
    const MutableMatrixView gradient(batch_.gradient.data(), rows.size(), columns);
    try {
      engine_->forward(batch_.x, outputs);
      const double loss =
          objective_.evaluate({batch_.residuals, batch_.weights}, outputs, gradient, {}, workspace_, SingleWorker());
      // All residuals of the batch are 0, so all parameters are equally good.
      if (loss == -kInfinity) return;
      if (std::isfinite(loss) && engine_->step(gradient, rate_share)) {
        bad_steps_ = 0;
        return;
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFinite) throw;
    }
    if (++bad_steps_ < kMaxBadSteps) return;
    throw make_error(ErrorCode::kNotFinite,
                     "net trainer: the loss or gradient was not finite in {} consecutive batches; use a smaller "
                     "learning_rate or clip, or rescale the residuals to about 1",
                     bad_steps_);
  }

  const NetOptions& options_;
  Reporter& reporter_;
  const Objective& objective_;
  Random random_;
  DenseNetArrays arrays_;
  TrainingEnvironment environment_;
  std::unique_ptr<NetEngine> engine_;
  std::vector<float> x_;
  ResidualRows residuals_;
  std::vector<std::size_t> order_;
  std::size_t batches_;
  Batch batch_;
  Workspace workspace_;
  std::size_t bad_steps_ = 0;
};

class NetTrainer final : public LocalizerTrainer {
 public:
  NetTrainer(const NetOptions& options, std::string version, NetEngineMaker make_engine)
      : options_(options), version_(std::move(version)), make_engine_(std::move(make_engine)) {
    NetOptions::table().check(options_);
  }

  [[nodiscard]] std::string_view name() const override { return "net"; }
  [[nodiscard]] std::string engine() const override { return version_; }
  [[nodiscard]] std::string settings() const override { return options_.to_string(); }

  [[nodiscard]] Trained train(const TrainingRows& rows, const TrainingRows& holdout, const Objective& objective,
                              const ProgressCallback& progress) const override {
    check_rows(rows, "training rows");
    check_rows(holdout, "hold-out");
    if (holdout.x.columns() != rows.x.columns()) {
      throw make_error(ErrorCode::kShapeMismatch, "net trainer: training rows have {} columns but the hold-out has {}",
                       rows.x.columns(), holdout.x.columns());
    }
    Reporter reporter(progress, "training the net", options_.max_epochs);
    Training training(rows, objective, options_, threads_for(rows), make_engine_, reporter);
    Training::Holdout held_out(training, holdout);
    // The untrained net is a valid result, and the best if widths do not depend on x.
    DenseNetArrays best = training.arrays();
    double minimum = held_out.loss(training);
    std::size_t iterations = 0;
    for (std::size_t done = 0; done < options_.max_epochs && done < iterations + options_.patience; ++done) {
      training.epoch(done, options_.max_epochs);
      const double loss = held_out.loss(training);
      if (loss < minimum || (std::isnan(minimum) && !std::isnan(loss))) {
        best = training.arrays();
        minimum = loss;
        iterations = done + 1;
      }
      reporter.epoch_done(loss);
    }
    return Trained{std::make_shared<const DenseNet>(std::move(best)), iterations, minimum};
  }

  // The learning rate follows the schedule of train, so that the net stops at the same stage; more rows mean more steps
  // per epoch.
  [[nodiscard]] Trained retrain(const TrainingRows& rows, const Objective& objective, std::size_t iterations,
                                const ProgressCallback& progress) const override {
    check_rows(rows, "training rows");
    Reporter reporter(progress, "training the net on all rows", iterations);
    Training training(rows, objective, options_, threads_for(rows), make_engine_, reporter);
    for (std::size_t done = 0; done < iterations; ++done) {
      training.epoch(done, options_.max_epochs);
      reporter.epoch_done(kNaN);
    }
    return Trained{std::make_shared<const DenseNet>(training.arrays()), iterations, kNaN};
  }

 private:
  /// Threads divide the rows of a batch in each layer.
  [[nodiscard]] std::size_t threads_for(const TrainingRows& rows) const {
    const std::size_t n = rows.x.rows();
    return training_threads(options_.threads, n / batch_count(n, options_), options_.width);
  }

  NetOptions options_;
  std::string version_;
  NetEngineMaker make_engine_;
};

}  // namespace

std::unique_ptr<const LocalizerTrainer> make_net_trainer(const NetOptions& options, std::string version,
                                                         NetEngineMaker make_engine) {
  return std::make_unique<const NetTrainer>(options, std::move(version), std::move(make_engine));
}

}  // namespace widthwise::internal
