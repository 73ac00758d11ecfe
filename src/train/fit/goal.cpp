#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <widthwise/error.hpp>
#include <widthwise/train/fit.hpp>
#include <widthwise/transform.hpp>

#include "base/message.hpp"
#include "base/text.hpp"
#include "train/fit/steps.hpp"

namespace widthwise {

using internal::text_of;

// ---- Goal

Goal Goal::evenness(double value) {
  if (!(value >= 0 && value <= 1)) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "goal: evenness is {}; expected 0 to 1", value);
  }
  return Goal(value, text_of(value));
}

Goal Goal::parse(std::string_view text) {
  if (text == "balanced") return balanced();
  if (text == "even") return even();
  if (text == "narrow") return narrow();
  const auto value = internal::read_whole<double>(text);
  if (!value) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "goal: '{}' is not balanced, even, narrow or a number from 0 to 1", text);
  }
  return evenness(*value);
}

// ---- ResolvedGoal

ResolvedGoal resolve_goal(const std::optional<Goal>& goal, const std::string& transform, Sides sides,
                          const std::optional<LevelWindow>& level_window, const ScoreOptions& score) {
  const bool automatic = transform == "auto";
  const Goal wish = goal.value_or(Goal::by_default());
  const std::shared_ptr<const Transform> phi =
      make_transform(automatic ? (wish.is_narrow() ? "affine" : "exp") : transform, score.transform);
  const ConformalRule rule(phi, score.score, sides);
  if (phi->parameter_count() == 0) return {wish, rule, nullptr, std::nullopt};
  const AffineForm* form = phi->affine_form();
  const bool is_scale = form != nullptr && !form->has_offset() && score.score != Score::kLog;
  const bool is_distribution = phi->has_spline_inverse() && score.score == Score::kAbsolute;
  const bool has_evenness = is_scale || is_distribution;
  if (!has_evenness && goal && !goal->is_narrow()) {
    throw internal::make_error(
        ErrorCode::kInvalidArgument,
        "fit: the transform {} is for the goal narrow; for {} leave the transform out, or use exp", phi->name(),
        goal->to_string());
  }
  const Goal served = has_evenness ? wish : Goal::narrow();
  if (is_distribution) {
    const LevelWindow window = level_window.value_or(LevelWindow::all());
    return {served, rule, make_distribution_objective(*phi, {sides, served.evenness(), window}), level_window};
  }
  WidthOptions width;
  width.sides = sides;
  width.evenness = has_evenness ? served.evenness() : 0;
  if (level_window && level_window->outside < 1) width.level_window = level_window;
  return {served, rule, make_width_objective(phi, score.score, width), width.level_window};
}

double unit_near(double typical_residual) {
  if (!(typical_residual > 0)) return 1;
  return std::exp2(std::clamp(std::round(std::log2(typical_residual)), -500.0, 500.0));
}

// ---- Goals of one fit

namespace {

ResolvedGoal resolve_with(const FitOptions& options, const std::optional<Goal>& goal, const std::string& transform,
                          Sides sides, const ScoreOptions& score = {}) {
  ResolvedGoal resolved = resolve_goal(goal, transform, sides, options.level_window, score);
  const bool follows_levels = resolved.goal.is_narrow() || resolved.rule.transform().has_spline_inverse();
  if (options.level_window || !follows_levels || options.levels.empty()) return resolved;
  // The goal is known only now, because some transforms support only narrow.
  return resolve_goal(goal, transform, sides, LevelWindow::around(options.levels), score);
}

/// The sides to train first. A transform that joins two sides is meant for two.
Sides first_sides(const FitOptions& options, const std::string& transform) {
  if (options.sides) return *options.sides;
  const bool joins = transform != "auto" && make_transform(transform)->joins_sides();
  return joins ? Sides::kTwo : Sides::kOne;
}

}  // namespace

internal::Goals internal::resolve_goals(const FitOptions& options, bool quantiles) {
  const Goal wish = options.goal.value_or(Goal::by_default());
  const bool of_distribution = wish.is_of_distribution() && options.score_transform == "auto" &&
                               options.score == Score::kAbsolute && options.sides != Sides::kOne;
  const std::string transform = of_distribution ? "shortest" : options.score_transform;
  const Sides sides = first_sides(options, transform);
  const ScoreOptions score{options.score, {.gamma = options.gamma, .epsilon = options.epsilon}};
  Goals goals{.chosen = resolve_with(options, options.goal, transform, sides, score),
              .two_sided = std::nullopt,
              .central = std::nullopt,
              .fixed = resolve_with(options, options.goal, "identity", sides),
              .other = std::nullopt};
  const ResolvedGoal& chosen = goals.chosen;
  if (chosen.objective == nullptr) return goals;
  if (of_distribution) goals.central = resolve_with(options, options.goal, "spline", sides);
  // The transform mixture has an inverse per row and level to find, which is too slow to train twice.
  const Transform& phi = chosen.rule.transform();
  const bool may_have_two_sides =
      phi.has_spline_inverse() || ((chosen.goal.is_narrow() || quantiles) && phi.affine_form() != nullptr);
  if (!options.sides && may_have_two_sides && sides == Sides::kOne) {
    goals.two_sided = resolve_with(options, options.goal, transform, Sides::kTwo, score);
  }
  if (options.compare) {
    const bool narrow = chosen.goal.is_narrow();
    goals.other = resolve_with(options, narrow ? Goal::even() : Goal::narrow(), narrow ? "shortest" : "auto",
                               narrow ? Sides::kTwo : options.sides.value_or(Sides::kOne));
  }
  return goals;
}

}  // namespace widthwise
