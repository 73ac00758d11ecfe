#pragma once

#include <string>
#include <utility>

#include <widthwise/schemes.hpp>

#include "conformal/schemes/factories.hpp"

namespace widthwise::internal {

/// A scheme that changes some answers of another one.
class WrappedScheme : public CalibrationScheme {
 public:
  [[nodiscard]] bool reads(Role role, Step step) const override { return inner_->reads(role, step); }
  [[nodiscard]] bool weighs_new_rows() const override { return inner_->weighs_new_rows(); }
  [[nodiscard]] std::string approximate_because() const override { return inner_->approximate_because(); }
  [[nodiscard]] bool has_independent_rows() const override { return inner_->has_independent_rows(); }
  [[nodiscard]] bool takes_rows() const override { return inner_->takes_rows(); }
  [[nodiscard]] Combination combination() const override { return inner_->combination(); }
  void check_rows(const Calibration& calibration) const override { inner_->check_rows(calibration); }
  [[nodiscard]] std::string refuses(const Calibration& calibration) const override {
    return inner_->refuses(calibration);
  }
  [[nodiscard]] GuaranteeStatement guarantee(const Level& level) const override { return inner_->guarantee(level); }
  [[nodiscard]] CalibrationRanks law(const Calibration& calibration, const Level& level,
                                     std::span<const std::int64_t> row_groups) const override {
    return inner_->law(calibration, level, row_groups);
  }
  [[nodiscard]] std::uint64_t rows(const Calibration& calibration) const override { return inner_->rows(calibration); }
  [[nodiscard]] std::uint64_t units(const Calibration& calibration) const override {
    return inner_->units(calibration);
  }
  [[nodiscard]] std::uint64_t units_in(const Calibration& calibration, std::int64_t group) const override {
    return inner_->units_in(calibration, group);
  }
  [[nodiscard]] const char* unit_name() const override { return inner_->unit_name(); }
  [[nodiscard]] LevelNeeds needs(const Calibration& calibration, const Level& level) const override {
    return inner_->needs(calibration, level);
  }
  [[nodiscard]] LevelNeeds needs_in(const Calibration& calibration, const Level& level,
                                    std::int64_t group) const override {
    return inner_->needs_in(calibration, level, group);
  }
  [[nodiscard]] GroupRank rank_in(const Calibration& calibration, const Level& level,
                                  std::int64_t group) const override {
    return inner_->rank_in(calibration, level, group);
  }
  [[nodiscard]] std::optional<CoverageSpread> spread(const Calibration& calibration,
                                                     const Level& level) const override {
    return inner_->spread(calibration, level);
  }
  [[nodiscard]] bool spread_is_exact() const override { return inner_->spread_is_exact(); }
  [[nodiscard]] std::optional<double> least_coverage(const Level& level) const override {
    return inner_->least_coverage(level);
  }
  [[nodiscard]] std::string coverage(const Calibration& calibration, const Level& level, bool plural) const override {
    return inner_->coverage(calibration, level, plural);
  }
  [[nodiscard]] std::string infinite_warning(const Calibration& calibration, const Level& level) const override {
    return inner_->infinite_warning(calibration, level);
  }
  [[nodiscard]] std::string uncertainty(const Calibration& calibration, const Level& level) const override {
    return inner_->uncertainty(calibration, level);
  }
  [[nodiscard]] SchemeDescription describe(const Calibration& calibration) const override {
    return inner_->describe(calibration);
  }
  [[nodiscard]] std::string scope() const override { return inner_->scope(); }
  [[nodiscard]] bool is_approximate(const Calibration& calibration) const override {
    return inner_->is_approximate(calibration);
  }
  [[nodiscard]] std::string condition(const Calibration& calibration) const override {
    return inner_->condition(calibration);
  }

 protected:
  WrappedScheme(SchemePointer inner, const Calibration& calibration)
      : CalibrationScheme(inner->options(), calibration), inner_(std::move(inner)) {}

  [[nodiscard]] const CalibrationScheme& inner() const { return *inner_; }

 private:
  SchemePointer inner_;
};

}  // namespace widthwise::internal
