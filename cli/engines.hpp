#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <widthwise/train/trainer.hpp>
#include <widthwise/train/xgboost.hpp>

namespace widthwise::cli {

/// What the user said about how to train.
struct EngineChoice {
  std::string base;                 ///< one of base_names(), or empty: the table brings predictions
  std::string localizer = "trees";  ///< one of localizer_names()
  std::string xgboost;              ///< library file; empty: look for it
  std::size_t threads = 0;          ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;
};

[[nodiscard]] std::vector<std::string> base_names();
[[nodiscard]] std::vector<std::string> localizer_names();

/// The trainers for a fit. Throws kMissingEngine, saying what to do, when this build or machine lacks one.
struct Engines {
  std::unique_ptr<const BaseTrainer> base;            ///< null when the table brings predictions
  std::unique_ptr<const LocalizerTrainer> localizer;  ///< null when not wanted
};
[[nodiscard]] Engines make_engines(const EngineChoice& choice, bool with_localizer,
                                   const TrainingContext& context = {});

/// XGBoost's library, as chosen.
[[nodiscard]] std::shared_ptr<const XgboostLibrary> load_xgboost(const EngineChoice& choice);

}  // namespace widthwise::cli
