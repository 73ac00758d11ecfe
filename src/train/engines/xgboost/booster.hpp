#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
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

  /// Change a parameter, until the next load.
  void set_parameter(const std::string& name, const std::string& value);

  /// Train one round with the given derivatives (n x outputs, contiguous). Objectives of XGBoost are not used: they
  /// differ between its versions.
  void update(const TrainingMatrix& matrix, std::size_t round, std::span<const float> gradient,
              std::span<const float> hessian, std::size_t outputs);

  /// Margins of a matrix (n x outputs), valid until the next call.
  [[nodiscard]] std::span<const float> margins(const TrainingMatrix& matrix, bool training) const;

  /// The current state as UBJSON. load resumes from the state of another booster with the same parameters. Throws
  /// kBadData for bytes that are not plain trees.
  [[nodiscard]] std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);

  /// The tree of a round, of a booster with one output.
  [[nodiscard]] TreeArrays tree(std::size_t inputs, std::size_t round) const;

  /// The trees of the first `rounds` rounds, for `outputs` outputs.
  [[nodiscard]] TreeArrays trees(std::size_t inputs, std::size_t outputs, std::size_t rounds) const;

 private:
  void create();
  void free();
  [[nodiscard]] std::vector<std::byte> save(XgboostLibrary::Functions::Handle handle) const;

  std::shared_ptr<const XgboostLibrary> library_;
  Parameters parameters_;
  std::vector<XgboostLibrary::Functions::Handle> matrices_;
  XgboostLibrary::Functions::Handle handle_ = nullptr;
};

}  // namespace widthwise::internal
