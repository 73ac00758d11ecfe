#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <widthwise/row_function.hpp>
#include <widthwise/train/communicator.hpp>
#include <widthwise/train/trainer.hpp>
#include <widthwise/train/trainer_options.hpp>

namespace widthwise {

/// XGBoost's C library, loaded at run time. widthwise does not link to it, and a Python process uses the XGBoost that
/// it already has. Thread safety: full; immutable.
class XgboostLibrary {
 public:
  /// Load from `path`. If it is empty: from the file named by the variable WIDTHWISE_XGBOOST, else the library that is
  /// already in this process, else the `xgboost` package of python3, which is that of the active virtual environment
  /// ($VIRTUAL_ENV/bin/python3) or the one on the PATH. The package is located without importing it, and nothing in the
  /// current folder is run. Throws kMissingEngine, with the paths tried and a remedy, if there is none or its major
  /// version is not 3.
  [[nodiscard]] static std::shared_ptr<const XgboostLibrary> load(const std::filesystem::path& path = {});

  ~XgboostLibrary();
  XgboostLibrary(const XgboostLibrary&) = delete;
  XgboostLibrary& operator=(const XgboostLibrary&) = delete;

  /// "3.2.0".
  [[nodiscard]] const std::string& version() const;
  [[nodiscard]] const std::filesystem::path& path() const;  ///< file that was loaded

  /// XGBoost's C functions; defined in the sources of this library.
  struct Functions;
  [[nodiscard]] const Functions& functions() const { return *functions_; }  ///< for trainers of this library

 private:
  XgboostLibrary();
  std::unique_ptr<Functions> functions_;
};

/// Connect to all processes that call this with the same options except for the rank; return after all have connected.
/// While the communicator exists, XGBoost operations in this process are collective over all workers. One communicator
/// per process. SIGPIPE is ignored from then on, unless the process handles it. Workers listen on every network
/// interface and accept any connection: use it only in a private network (SECURITY.md). Throws kLostWorker with the
/// address after the timeout.
[[nodiscard]] std::unique_ptr<const Communicator> join_workers(std::shared_ptr<const XgboostLibrary> library,
                                                               const CommunicatorOptions& options);

/// Train localizers as trees, with any objective of this library.
[[nodiscard]] std::unique_ptr<const LocalizerTrainer> make_tree_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                                        const TreeOptions& options = {},
                                                                        const TrainingContext& context = {});

/// Train trees that predict the median of y, around which symmetric intervals are narrowest; or two quantiles of y, if
/// options.lower < options.upper.
[[nodiscard]] std::unique_ptr<const BaseTrainer> make_tree_base_trainer(std::shared_ptr<const XgboostLibrary> library,
                                                                        const TreeBaseOptions& options = {},
                                                                        const TrainingContext& context = {});

/// Register the trainers `trees` and `quantiles`, and the engine of workers (train/registry.hpp).
void register_xgboost();

/// Read the trees of a model that XGBoost saved as UBJSON (Booster.save_raw in Python), for localizers from the user's
/// own training loop. Does not need XGBoost. Throws kBadData with the reason for models other than plain trees.
[[nodiscard]] std::shared_ptr<const Trees> read_trees(std::span<const std::byte> saved);

}  // namespace widthwise
