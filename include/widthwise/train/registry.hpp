#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/train/communicator.hpp>
#include <widthwise/train/options.hpp>
#include <widthwise/train/trainer.hpp>

namespace widthwise {

/// What a trainer trains.
enum class TrainerKind : std::uint8_t {
  kBase,       ///< a base model, x -> f(x)
  kLocalizer,  ///< a localizer, (x, f(x)) -> parameters of the transform
};

/// "base", "localizer".
[[nodiscard]] std::string_view name_of(TrainerKind kind);

/// The arguments of a trainer.
struct TrainerRequest {
  OptionValues options = {};           ///< of the trainer, by name; others keep their defaults
  std::size_t threads = 0;             ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;              ///< random seed of the trainer
  std::filesystem::path library = {};  ///< file of an engine that is loaded at run time; empty: search for it
  TrainingContext context = {};        ///< workers and checkpoint; borrowed while the trainer exists
};

/// A trainer by name, with the options it takes.
struct TrainerEntry {
  TrainerKind kind = TrainerKind::kBase;  ///< names are unique per kind
  std::string name;                       ///< "trees"
  std::string help;                       ///< "gradient-boosted trees (XGBoost)"
  std::string engine;  ///< the CMake option that builds its engine, such as WIDTHWISE_XGBOOST; empty: always there
  bool distributed = false;              ///< several workers can train it together
  bool takes_categories = false;         ///< inputs may be categories
  std::vector<OptionInfo> options = {};  ///< except threads and seed, which are the same for all trainers
  /// All options in text form, with those given; throws kInvalidArgument for invalid ones.
  std::function<std::string(const OptionValues&)> settings = {};
  /// One of the two, by kind; empty if the engine is not built.
  std::function<std::unique_ptr<const BaseTrainer>(const TrainerRequest&)> make_base = {};
  std::function<std::unique_ptr<const LocalizerTrainer>(const TrainerRequest&)> make_localizer = {};  ///< as make_base
};

/// All trainers, including those of engines that are not built. A new trainer is one source file and one entry in
/// src/train/registry.cpp, from which the command line and Python take it.
[[nodiscard]] std::span<const TrainerEntry> trainers();
/// The names of all trainers of this kind, in the order of trainers().
[[nodiscard]] std::vector<std::string> trainer_names(TrainerKind kind);

/// Throws kInvalidArgument for an unknown name, with the nearest known name.
[[nodiscard]] const TrainerEntry& find_trainer(TrainerKind kind, std::string_view name);

/// Throws kMissingEngine if the engine is not built, not registered or not installed.
[[nodiscard]] std::unique_ptr<const BaseTrainer> make_base_trainer(std::string_view name,
                                                                   const TrainerRequest& request = {});
/// The same for a localizer.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_localizer_trainer(std::string_view name,
                                                                             const TrainerRequest& request = {});

// ---- engines

/// The options of a trainer: these defaults with the values of a request.
template <class Options>
[[nodiscard]] Options requested(const TrainerRequest& request, Options options = {}) {
  Options::table().set(options, request.options);
  if constexpr (requires { options.threads; }) options.threads = request.threads;
  options.seed = request.seed;
  return options;
}

/// Register the function that makes a trainer. Engines are registered by an explicit call at the start of a program
/// (register_xgboost, register_torch), because linkers drop unreferenced registrations in static libraries.
/// Thread safety: none; register before other threads train.
void provide_base_trainer(std::string_view name,
                          std::function<std::unique_ptr<const BaseTrainer>(const TrainerRequest&)> make);
/// The same for a localizer.
void provide_localizer_trainer(std::string_view name,
                               std::function<std::unique_ptr<const LocalizerTrainer>(const TrainerRequest&)> make);

/// The engine that connects workers.
struct WorkerEngine {
  /// Name and version, as in "xgboost 3.2.0".
  std::function<std::string(const std::filesystem::path& library)> version;
  /// Connect this process, see join_workers. An empty path: search for the library.
  std::function<std::unique_ptr<const Communicator>(const std::filesystem::path& library, const CommunicatorOptions&)>
      join;
};
/// Register the engine; the last call counts. Thread safety as for provide_base_trainer.
void provide_worker_engine(WorkerEngine engine);
/// Throws kMissingEngine if none is built.
[[nodiscard]] const WorkerEngine& worker_engine();

// ---- the trainers of a fit

/// The trainers and their settings. A new field is described in table().
struct TrainerOptions {
  std::string base = {};                ///< a base trainer, or empty: predictions are given
  OptionValues base_options = {};       ///< of the base trainer, by name; others keep their defaults
  std::string localizer = "trees";      ///< a localizer trainer
  OptionValues localizer_options = {};  ///< of the localizer trainer, likewise
  std::size_t threads = 0;              ///< 0: automatic, see training_threads
  std::string xgboost = {};             ///< XGBoost's library file; empty: search for it

  [[nodiscard]] static const OptionTable<TrainerOptions>& table();  ///< text form, range and help of every field
  /// The checkpoint key: equal for equal options only.
  [[nodiscard]] std::string to_string() const { return table().to_string(*this); }
};

/// The trainers of one fit, owned.
struct Trainers {
  std::unique_ptr<const BaseTrainer> base;            ///< null: predictions are given
  std::unique_ptr<const LocalizerTrainer> localizer;  ///< null if not requested
};

/// The trainer of classifiers, of rows to predict (FitTable::shift_to) and of covered rows
/// (train/conditional_coverage.hpp): small, regularised trees. Throws kMissingEngine.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_classifier_trainer(const TrainerOptions& options = {},
                                                                              std::uint64_t seed = 0);

/// Throws kInvalidArgument for options that the trainers do not take, and kMissingEngine.
[[nodiscard]] Trainers make_trainers(const TrainerOptions& options, std::uint64_t seed, bool with_localizer,
                                     const TrainingContext& context = {});

}  // namespace widthwise
