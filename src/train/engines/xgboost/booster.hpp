#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <widthwise/matrix_view.hpp>
#include <widthwise/trees.hpp>

#include "train/engines/xgboost/library.hpp"

namespace widthwise::internal {

/// Rows that XGBoost holds. Thread safety: none.
class TrainingMatrix {
 public:
  TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, MatrixView x, std::size_t threads);
  ~TrainingMatrix();
  TrainingMatrix(const TrainingMatrix&) = delete;
  TrainingMatrix& operator=(const TrainingMatrix&) = delete;

  void set_labels(std::span<const double> y);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] XgboostLibrary::Functions::Handle handle() const { return handle_; }

 private:
  std::shared_ptr<const XgboostLibrary> library_;
  XgboostLibrary::Functions::Handle handle_ = nullptr;
  std::size_t rows_;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

/// A model in training. Thread safety: none.
class Booster {
 public:
  /// The matrices are those it will be trained on or asked about: their predictions are kept up to date cheaply.
  Booster(std::shared_ptr<const XgboostLibrary> library, std::span<const TrainingMatrix* const> matrices,
          const Parameters& parameters);
  ~Booster();
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  /// One round on XGBoost's own objective.
  void update(const TrainingMatrix& matrix, std::size_t round);

  /// One round on derivatives given (n x outputs, contiguous).
  void update(const TrainingMatrix& matrix, std::size_t round, std::span<const float> gradient,
              std::span<const float> hessian, std::size_t outputs);

  /// Margins of a matrix (n x outputs), valid until the next call.
  [[nodiscard]] std::span<const float> margins(const TrainingMatrix& matrix, bool training) const;

  /// What it has learnt so far, as UBJSON, and the way back: load goes on with what another booster of the same
  /// parameters saved. Throws kBadData for bytes that are not plain trees.
  [[nodiscard]] std::vector<std::byte> save() const;
  void load(std::span<const std::byte> saved);

  /// The trees of the first `rounds` rounds, for `outputs` outputs.
  [[nodiscard]] TreeArrays trees(std::size_t inputs, std::size_t outputs, std::size_t rounds) const;

 private:
  void create();
  void free();
  void set_parameter(const std::string& name, const std::string& value);

  std::shared_ptr<const XgboostLibrary> library_;
  Parameters parameters_;
  std::vector<XgboostLibrary::Functions::Handle> matrices_;
  XgboostLibrary::Functions::Handle handle_ = nullptr;
};

}  // namespace widthwise::internal
