#include "train/engines/xgboost/booster.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

using Functions = XgboostLibrary::Functions;
using Json = nlohmann::json;

/// An array in NumPy's array interface as JSON, with which XGBoost borrows memory.
template <class T>
std::string borrow(const T* data, const std::vector<std::size_t>& shape) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  Json interface;
  interface["data"] = {reinterpret_cast<std::uintptr_t>(data), true};
  interface["shape"] = shape;
  interface["typestr"] = sizeof(T) == 4 ? "<f4" : "<f8";
  interface["version"] = 3;
  return interface.dump();
}

}  // namespace

// ---- TrainingMatrix

TrainingMatrix::TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, const InputRows& rows,
                               std::size_t threads)
    : library_(std::move(library)), rows_(rows.x.rows()) {
  const MatrixView x = rows.x;
  std::vector<double> copy;
  if (!x.contiguous()) {
    for (std::size_t i = 0; i < x.rows(); ++i) copy.insert(copy.end(), x.row(i).begin(), x.row(i).end());
  }
  create(borrow(x.contiguous() ? x.data() : copy.data(), {x.rows(), x.columns()}), rows.categorical, threads);
}

TrainingMatrix::TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, BasicMatrixView<const float> x,
                               std::span<const std::uint8_t> categorical, std::size_t threads)
    : library_(std::move(library)), rows_(x.rows()) {
  create(borrow(x.data(), {x.rows(), x.columns()}), categorical, threads);
}

void TrainingMatrix::create(const std::string& values, std::span<const std::uint8_t> categorical, std::size_t threads) {
  const Functions& f = library_->functions();
  const Json config = {{"missing", std::numeric_limits<double>::quiet_NaN()}, {"nthread", threads}};
  std::string config_text = config.dump();  // JSON writes NaN as null; XGBoost needs NaN
  config_text.replace(config_text.find("null"), 4, "NaN");
  f.check(f.XGDMatrixCreateFromDense(values.c_str(), config_text.c_str(), &handle_), "rows");
  try {
    set_types(categorical);
  } catch (...) {
    f.XGDMatrixFree(handle_);
    throw;
  }
}

void TrainingMatrix::set_types(std::span<const std::uint8_t> categorical) {
  if (std::ranges::count(categorical, 1) == 0) return;
  std::vector<const char*> types;
  for (const std::uint8_t category : categorical) types.push_back(category != 0 ? "c" : "q");
  const Functions& f = library_->functions();
  f.check(f.XGDMatrixSetStrFeatureInfo(handle_, "feature_type", types.data(), types.size()), "categories");
}

TrainingMatrix::~TrainingMatrix() { library_->functions().XGDMatrixFree(handle_); }

void TrainingMatrix::set_labels(std::span<const double> y) {
  set_numbers("label", std::vector<float>(y.begin(), y.end()));
}

void TrainingMatrix::set_column_weights(std::span<const float> weights) {
  if (!weights.empty()) set_numbers("feature_weights", weights);
}

void TrainingMatrix::set_numbers(const char* name, std::span<const float> numbers) {
  const Functions& f = library_->functions();
  f.check(f.XGDMatrixSetInfoFromInterface(handle_, name, borrow(numbers.data(), {numbers.size()}).c_str()), name);
}

// ---- Booster

Booster::Booster(std::shared_ptr<const XgboostLibrary> library, std::span<const TrainingMatrix* const> matrices,
                 const Parameters& parameters)
    : library_(std::move(library)) {
  std::vector<Functions::Handle> handles;
  for (const TrainingMatrix* matrix : matrices) handles.push_back(matrix->handle());
  const Functions& f = library_->functions();
  f.check(f.XGBoosterCreate(handles.data(), handles.size(), &handle_), "create");
  try {
    for (const auto& [name, value] : parameters)
      f.check(f.XGBoosterSetParam(handle_, name.c_str(), value.c_str()), name);
    // XGBoost reads its parameters now. It would copy the first derivatives with all threads otherwise.
    int rounds = 0;
    f.check(f.XGBoosterBoostedRounds(handle_, &rounds), "create");
  } catch (...) {
    f.XGBoosterFree(handle_);
    throw;
  }
}

Booster::~Booster() { library_->functions().XGBoosterFree(handle_); }

void Booster::update(const TrainingMatrix& matrix, std::size_t round, std::span<const float> gradient,
                     std::span<const float> hessian, std::size_t outputs) {
  const Functions& f = library_->functions();
  const std::vector<std::size_t> shape{matrix.rows(), outputs};
  f.check(f.XGBoosterTrainOneIter(handle_, matrix.handle(), static_cast<int>(round),
                                  borrow(gradient.data(), shape).c_str(), borrow(hessian.data(), shape).c_str()),
          "training");
}

std::span<const float> Booster::margins(const TrainingMatrix& matrix, bool training) const {
  const Functions& f = library_->functions();
  const Json config = {
      {"type", 1}, {"training", training}, {"iteration_begin", 0}, {"iteration_end", 0}, {"strict_shape", true}};
  const Functions::Size* shape = nullptr;
  Functions::Size dimensions = 0;
  const float* out = nullptr;
  f.check(f.XGBoosterPredictFromDMatrix(handle_, matrix.handle(), config.dump().c_str(), &shape, &dimensions, &out),
          "prediction");
  std::size_t size = 1;
  for (std::size_t d = 0; d < dimensions; ++d) size *= shape[d];
  return {out, size};
}

std::vector<std::byte> Booster::save() const {
  const Functions& f = library_->functions();
  Functions::Size length = 0;
  const char* bytes = nullptr;
  f.check(f.XGBoosterSaveModelToBuffer(handle_, R"({"format": "ubj"})", &length, &bytes), "model");
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes);
  return {begin, begin + length};
}

TreeArrays Booster::trees(std::size_t inputs, std::size_t outputs, std::size_t rounds) const {
  return read_tree_arrays(save(), inputs, outputs, 0, rounds * outputs);
}

// ---- TreeGrower

TreeArrays TreeGrower::grow(std::size_t inputs, std::span<const float> gradient, std::span<const float> hessian) {
  if (!booster_ || trees_ == kTrees) {
    const TrainingMatrix* const matrices[] = {&matrix_};
    booster_.emplace(library_, matrices, parameters_);
    trees_ = 0;
  }
  booster_->update(matrix_, trees_, gradient, hessian, 1);
  ++trees_;
  return read_tree_arrays(booster_->save(), inputs, 1, trees_ - 1, trees_);
}

}  // namespace widthwise::internal
