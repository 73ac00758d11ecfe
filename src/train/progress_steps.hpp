#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <widthwise/train/trainer.hpp>

namespace widthwise::internal {

/// The steps of a long operation, planned before it begins, and the share of the whole that is done. The share is one
/// of time: the time of a step is first a guess, and steps of its kind correct it. The time left follows from the share
/// and the time so far. A step may be an operation of steps itself. Invariant: the share never decreases. Thread
/// safety: none.
class ProgressSteps {
 public:
  /// Seconds since a fixed moment.
  using Clock = std::function<double()>;

  /// What a step reports: a part of its work, or of the largest work that it may take.
  enum class Length { kKnown, kAtMost };

  /// The callback gets the reports of all steps; it must outlive this object. The default clock is steady.
  explicit ProgressSteps(const ProgressCallback& callback, Clock clock = {});

  /// Plan `count` more steps, each of about this many seconds. The ratio of guess and time is learnt for each kind.
  void plan(const std::string& kind, double seconds, Length length = Length::kKnown, std::size_t count = 1);

  /// End the current step, if there is one, and begin the next of those planned; another one if there is none.
  void begin();

  /// The share of the whole if this part of the current step, in [0, 1], is done. 0 before the first step has shown how
  /// long it takes.
  [[nodiscard]] double share(double part);

  /// Begin the next step, and return a callback for it, which passes its reports on as a share of the whole: `done` of
  /// `total`. Empty if the callback of the whole is. This object must outlive it.
  [[nodiscard]] ProgressCallback next();

 private:
  struct Step {
    std::string kind;
    double guess = 0;
    Length length = Length::kKnown;
  };
  struct Time {
    double guessed = 0;
    double taken = 0;
  };

  [[nodiscard]] double expected(const Step& step) const;

  const ProgressCallback& callback_;
  Clock clock_;
  double start_;
  double step_start_ = 0;
  std::vector<Step> steps_;
  std::size_t begun_ = 0;  // steps begun, of which the last one is the current one
  std::map<std::string, Time> finished_;
  double share_ = 0;
};

}  // namespace widthwise::internal
