#include "train/progress_steps.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <widthwise/error.hpp>

namespace widthwise {

void report(const ProgressCallback& callback, const Progress& progress) {
  if (!callback || callback(progress)) return;
  throw Error(ErrorCode::kCancelled, std::string(progress.stage) + ": cancelled");
}

}  // namespace widthwise

namespace widthwise::internal {
namespace {

constexpr double kShortestRest = 0.5;           // of a step that takes longer than expected, as a share of its time
constexpr std::size_t kShareParts = 1'000'000;  // that reports count

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressSteps::ProgressSteps(const ProgressCallback& callback, Clock clock)
    : callback_(callback), clock_(clock ? std::move(clock) : steady_seconds), start_(clock_()) {}

void ProgressSteps::plan(const std::string& kind, double seconds, Length length, std::size_t count) {
  steps_.insert(steps_.end(), count, {kind, seconds, length});
}

void ProgressSteps::begin() {
  const double now = clock_();
  if (begun_ > 0) {
    const Step& step = steps_[begun_ - 1];
    Time& time = finished_[step.kind];
    time.guessed += step.guess;
    time.taken += now - step_start_;
  }
  if (begun_ == steps_.size()) steps_.emplace_back();
  ++begun_;
  step_start_ = now;
}

double ProgressSteps::expected(const Step& step) const {
  const auto found = finished_.find(step.kind);
  if (found == finished_.end() || found->second.guessed <= 0) return step.guess;
  return step.guess * found->second.taken / found->second.guessed;
}

double ProgressSteps::share(double part) {
  if (begun_ == 0 || (part <= 0 && finished_.empty())) return share_;
  const double now = clock_();
  const Step& step = steps_[begun_ - 1];
  const double taken = now - step_start_;
  const double usual = std::max(expected(step) - taken, kShortestRest * taken);
  const double in_proportion = part > 0 ? taken * (1 - part) / part : usual;
  const bool has_rate = part > 0 && step.length == Length::kKnown;
  double left = has_rate ? in_proportion : std::min(usual, in_proportion);
  // Neither the pace within a step nor the time of earlier ones is reliable alone: folds have slow and fast parts.
  const bool is_known = finished_.contains(step.kind);
  if (has_rate && is_known && part < 1) left = (left + std::max(expected(step) - taken, 0.0)) / 2;
  // A step that knows its rate corrects the guesses of those of its kind.
  const double ratio = has_rate && step.guess > 0 ? (taken + left) / step.guess : 0;
  for (std::size_t i = begun_; i < steps_.size(); ++i) {
    const bool is_alike = ratio > 0 && steps_[i].kind == step.kind;
    left += is_alike ? steps_[i].guess * ratio : expected(steps_[i]);
  }
  const double elapsed = now - start_;
  if (elapsed + left > 0) share_ = std::max(share_, elapsed / (elapsed + left));
  return share_;
}

ProgressCallback ProgressSteps::next() {
  begin();
  if (!callback_) return {};
  return [this](const Progress& of_step) {
    const double part = of_step.total == 0 ? 0 : static_cast<double>(of_step.done) / static_cast<double>(of_step.total);
    Progress whole = of_step;
    whole.done = static_cast<std::size_t>(share(std::min(part, 1.0)) * static_cast<double>(kShareParts));
    whole.total = kShareParts;
    return callback_(whole);
  };
}

}  // namespace widthwise::internal
