#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/row_function.hpp>
#include <widthwise/train/trainer.hpp>

#include "train/engines/xgboost/library.hpp"

namespace widthwise::internal {

/// Rows stored in XGBoost. Thread safety: none.
class TrainingMatrix {
 public:
  TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, const InputRows& rows, std::size_t threads);
  /// Of numbers in single precision; `categorical` as in InputRows.
  TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, BasicMatrixView<const float> x,
                 std::span<const std::uint8_t> categorical, std::size_t threads);
  ~TrainingMatrix();
  TrainingMatrix(const TrainingMatrix&) = delete;
  TrainingMatrix& operator=(const TrainingMatrix&) = delete;

  void set_labels(std::span<const double> y);
  /// Weights for the sampling of columns, one per column; empty: as they are.
  void set_column_weights(std::span<const float> weights);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] XgboostLibrary::Functions::Handle handle() const { return handle_; }

 private:
  void create(const std::string& values, std::span<const std::uint8_t> categorical, std::size_t threads);
  void set_types(std::span<const std::uint8_t> categorical);
  void set_numbers(const char* name, std::span<const float> numbers);

  std::shared_ptr<const XgboostLibrary> library_;
  XgboostLibrary::Functions::Handle handle_ = nullptr;
  std::size_t rows_;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// A model during training. Thread safety: none.
class Booster {
 public:
  /// The matrices for training and prediction; XGBoost caches their predictions.
  Booster(std::shared_ptr<const XgboostLibrary> library, std::span<const TrainingMatrix* const> matrices,
          const Parameters& parameters);
  ~Booster();
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  /// Train one round with the given derivatives (n x outputs, contiguous). Objectives of XGBoost are not used: they
  /// differ between its versions.
  void update(const TrainingMatrix& matrix, std::size_t round, std::span<const float> gradient,
              std::span<const float> hessian, std::size_t outputs);

  /// Margins of a matrix (n x outputs), valid until the next call.
  [[nodiscard]] std::span<const float> margins(const TrainingMatrix& matrix, bool training) const;

  /// The current state as UBJSON.
  [[nodiscard]] std::vector<std::byte> save() const;

  /// The trees of the first `rounds` rounds, for `outputs` outputs.
  [[nodiscard]] TreeArrays trees(std::size_t inputs, std::size_t outputs, std::size_t rounds) const;

 private:
  std::shared_ptr<const XgboostLibrary> library_;
  XgboostLibrary::Functions::Handle handle_ = nullptr;
};

/// Grows trees one by one, each from derivatives alone. Thread safety: none.
class TreeGrower {
 public:
  TreeGrower(std::shared_ptr<const XgboostLibrary> library, const TrainingMatrix& matrix, Parameters parameters)
      : library_(std::move(library)), matrix_(matrix), parameters_(std::move(parameters)) {}

  /// A tree for a matrix with `inputs` columns. Its leaves are those of XGBoost.
  [[nodiscard]] TreeArrays grow(std::size_t inputs, std::span<const float> gradient, std::span<const float> hessian);

 private:
  // XGBoost saves all trees or, about as slowly as a small tree is grown, a copy of some. A new booster is cheaper than
  // the copies of so many trees.
  static constexpr std::size_t kTrees = 8;

  std::shared_ptr<const XgboostLibrary> library_;
  const TrainingMatrix& matrix_;
  Parameters parameters_;
  std::optional<Booster> booster_;
  std::size_t trees_ = 0;  // of the booster
};

/// The trees first..last-1 of a model that XGBoost saved as UBJSON. Throws kBadData for anything else.
[[nodiscard]] TreeArrays read_tree_arrays(std::span<const std::byte> saved, std::size_t inputs, std::size_t outputs,
                                          std::size_t first, std::size_t last);

}  // namespace widthwise::internal
