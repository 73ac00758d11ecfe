#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <widthwise/train/checkpoint.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/trees.hpp>

namespace widthwise {

/// XGBoost's C library, loaded when the program runs, so that nothing here links to it and a Python process keeps the
/// one XGBoost it has. Thread safety: full; immutable.
class XgboostLibrary {
 public:
  /// Load from `path` or, when it is empty, from the file that the variable WIDTHWISE_XGBOOST names, else from the
  /// library that is already in this process, else from the `xgboost` package of python3: that of the active virtual
  /// environment ($VIRTUAL_ENV/bin/python3), else the one on the PATH. The package is found, not imported, and nothing
  /// in the current folder is run. Throws kMissingEngine, saying what was tried and what to do, when there is none, or
  /// one of another major version than 3.
  [[nodiscard]] static std::shared_ptr<const XgboostLibrary> load(const std::filesystem::path& path = {});

  ~XgboostLibrary();
  XgboostLibrary(const XgboostLibrary&) = delete;
  XgboostLibrary& operator=(const XgboostLibrary&) = delete;

  /// "3.2.0".
  [[nodiscard]] const std::string& version() const;
  [[nodiscard]] const std::filesystem::path& path() const;

  struct Functions;
  [[nodiscard]] const Functions& functions() const { return *functions_; }

 private:
  XgboostLibrary();
  std::unique_ptr<Functions> functions_;
};

/// Where workers meet.
struct CommunicatorOptions {
  std::string host = "127.0.0.1";  ///< address of the first worker, which introduces the others to each other
  std::uint16_t port = 0;
  std::size_t rank = 0;  ///< of this worker, from 0
  std::size_t workers = 1;
  /// How long to wait for workers: to come, and then for each other, longer than any of them takes to read its rows or
  /// to train a round.
  std::chrono::seconds timeout{300};
  /// Called with a complaint, on another thread, when XGBoost itself does not notice that a worker is gone and goes on
  /// waiting after the timeout: nothing but the end of the process ends that wait. None: it waits on.
  std::function<void(const std::string&)> stuck;
};

/// Join the communicator of all processes that call this with the same options but their rank; return when all are
/// there. While the communicator lives, all that XGBoost does in this process is done by all workers together. One
/// communicator per process. SIGPIPE is ignored from then on, unless the process handles it. Workers listen on every
/// network interface and accept anyone: use it in a private network only (SECURITY.md). Throws kLostWorker, saying who
/// was waited for where, after the timeout.
[[nodiscard]] std::unique_ptr<const Communicator> join_workers(std::shared_ptr<const XgboostLibrary> library,
                                                               const CommunicatorOptions& options);

/// What trainers need to train as one of several, or to go on with what was begun. Borrowed.
struct TrainingContext {
  const Communicator* communicator = nullptr;
  Checkpoint* checkpoint = nullptr;
};

/// Settings of the trees of a localizer.
struct TreeOptions {
  double learning_rate = 0.05;  ///< shrinkage per tree, in (0, 1]
  std::size_t max_depth = 4;
  double min_child_weight = 10;   ///< least sum of Hessians in a leaf, about its number of rows
  double subsample = 0.7;         ///< share of rows each round sees
  double column_sample = 0.7;     ///< share of columns each tree sees
  double lambda = 5;              ///< L2 penalty on leaves
  std::size_t max_rounds = 2000;  ///< stops early on the objective
  std::size_t patience = 40;      ///< rounds without a better hold-out loss before it stops
  double retrain_factor = 1.15;   ///< retrain goes on for this many times the rounds found
  std::size_t threads = 0;        ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;
};

/// Train trees on any objective of this library.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_tree_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                                        const TreeOptions& options = {},
                                                                        const TrainingContext& context = {});

/// Settings of a base model of trees.
struct TreeBaseOptions {
  double learning_rate = 0.05;
  std::size_t max_depth = 6;
  double min_child_weight = 5;
  double subsample = 0.8;
  double column_sample = 0.8;
  std::size_t rounds = 400;
  std::size_t threads = 0;  ///< 0: automatic, see training_threads
  std::uint64_t seed = 0;
};

/// Train trees that predict the median of y: what symmetric intervals are narrowest around.
[[nodiscard]] std::unique_ptr<const BaseTrainer> make_tree_base_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                                        const TreeBaseOptions& options = {},
                                                                        const TrainingContext& context = {});

/// Read the trees of a model that XGBoost saved as UBJSON (Booster.save_raw in Python): a localizer that somebody
/// trained with their own loop. Needs no XGBoost. Throws kBadData, saying why, for what is not plain trees.
[[nodiscard]] std::shared_ptr<const Trees> read_trees(std::span<const std::byte> saved);

}  // namespace widthwise
