#include "train/xgboost/booster.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include <widthwise/error.hpp>

namespace widthwise::internal {
namespace {

using Functions = XgboostLibrary::Functions;
using Json = nlohmann::json;

/// Throw XGBoost's own words: the first line, without the time and the place in its source that it puts before.
void check(const Functions& f, int status, const char* what) {
  if (status == 0) return;
  std::string words = f.XGBGetLastError();
  if (const auto end = words.find('\n'); end != std::string::npos) words.resize(end);
  if (words.starts_with('[')) {
    if (const auto place = words.find(": "); place != std::string::npos) words.erase(0, place + 2);
  }
  throw Error(ErrorCode::kInvalidArgument, std::string("XGBoost: ") + what + ": " + words);
}

/// An array as the array interface of NumPy describes it, in JSON: how XGBoost borrows memory.
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

/// "[5E-1]" or "5E-1": one number for each output, or one for all.
std::vector<float> base_scores(const std::string& text, std::size_t outputs) {
  std::vector<float> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    float value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc()) {
      values.push_back(value);
      at = next;
    } else {
      ++at;
    }
  }
  if (values.size() == 1) values.resize(outputs, values[0]);
  if (values.size() != outputs) throw Error(ErrorCode::kBadData, "XGBoost: base_score of its model is " + text);
  return values;
}

/// Append one tree of XGBoost's, renumbered so that children come after their parents and no place is left empty.
void append_tree(const Json& tree, ForestArrays& out) {
  const auto& left = tree.at("left_children");
  const auto& right = tree.at("right_children");
  const auto& feature = tree.at("split_indices");
  const auto& value = tree.at("split_conditions");
  const auto& missing_left = tree.at("default_left");
  const auto root = static_cast<std::uint32_t>(out.feature.size());
  out.roots.push_back(root);
  std::vector<int> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto node = static_cast<std::size_t>(queue[i]);
    const int left_child = left.at(node).get<int>();
    const bool leaf = left_child == -1;
    out.feature.push_back(leaf ? -1 : feature.at(node).get<int>());
    out.value.push_back(value.at(node).get<float>());
    out.missing_left.push_back(leaf ? 0 : static_cast<std::uint8_t>(missing_left.at(node).get<int>() != 0));
    out.left.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()));
    out.right.push_back(leaf ? 0 : root + static_cast<std::uint32_t>(queue.size()) + 1);
    if (leaf) continue;
    queue.push_back(left_child);
    queue.push_back(right.at(node).get<int>());
  }
}

}  // namespace

// --- TrainingMatrix
// --------------------------------------------------------------------------------------------------------

TrainingMatrix::TrainingMatrix(std::shared_ptr<const XgboostLibrary> library, MatrixView x, std::size_t threads)
    : library_(std::move(library)), rows_(x.rows()) {
  std::vector<double> copy;
  if (!x.contiguous()) {
    for (std::size_t i = 0; i < x.rows(); ++i) copy.insert(copy.end(), x.row(i).begin(), x.row(i).end());
  }
  const Json config = {{"missing", std::numeric_limits<double>::quiet_NaN()}, {"nthread", threads}};
  std::string config_text = config.dump();  // NaN becomes null in JSON; XGBoost wants the word
  config_text.replace(config_text.find("null"), 4, "NaN");
  check(library_->functions(),
        library_->functions().XGDMatrixCreateFromDense(
            borrow(x.contiguous() ? x.data() : copy.data(), {x.rows(), x.columns()}).c_str(), config_text.c_str(),
            &handle_),
        "rows");
}

TrainingMatrix::~TrainingMatrix() { library_->functions().XGDMatrixFree(handle_); }

void TrainingMatrix::set_labels(std::span<const double> y) {
  const std::vector<float> labels(y.begin(), y.end());
  check(library_->functions(),
        library_->functions().XGDMatrixSetInfoFromInterface(handle_, "label",
                                                            borrow(labels.data(), {labels.size()}).c_str()),
        "labels");
}

// --- Booster
// ---------------------------------------------------------------------------------------------------------------

Booster::Booster(std::shared_ptr<const XgboostLibrary> library, std::span<const TrainingMatrix* const> matrices,
                 const Parameters& parameters)
    : library_(std::move(library)) {
  const Functions& f = library_->functions();
  std::vector<Functions::Handle> handles;
  for (const TrainingMatrix* matrix : matrices) handles.push_back(matrix->handle());
  check(f, f.XGBoosterCreate(handles.data(), handles.size(), &handle_), "create");
  try {
    for (const auto& [name, value] : parameters) {
      check(f, f.XGBoosterSetParam(handle_, name.c_str(), value.c_str()), name.c_str());
    }
  } catch (...) {
    f.XGBoosterFree(handle_);
    throw;
  }
}

Booster::~Booster() { library_->functions().XGBoosterFree(handle_); }

void Booster::update(const TrainingMatrix& matrix, std::size_t round) {
  const Functions& f = library_->functions();
  check(f, f.XGBoosterUpdateOneIter(handle_, static_cast<int>(round), matrix.handle()), "training");
}

void Booster::update(const TrainingMatrix& matrix, std::size_t round, std::span<const float> gradient,
                     std::span<const float> hessian, std::size_t outputs) {
  const Functions& f = library_->functions();
  const std::vector<std::size_t> shape{matrix.rows(), outputs};
  check(f,
        f.XGBoosterTrainOneIter(handle_, matrix.handle(), static_cast<int>(round),
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
  check(f, f.XGBoosterPredictFromDMatrix(handle_, matrix.handle(), config.dump().c_str(), &shape, &dimensions, &out),
        "prediction");
  std::size_t size = 1;
  for (std::size_t d = 0; d < dimensions; ++d) size *= shape[d];
  return {out, size};
}

ForestArrays Booster::forest(std::size_t inputs, std::size_t outputs, std::size_t rounds) const {
  const Functions& f = library_->functions();
  Functions::Size length = 0;
  const char* bytes = nullptr;
  check(f, f.XGBoosterSaveModelToBuffer(handle_, R"({"format": "ubj"})", &length, &bytes), "model");
  try {
    const Json model = Json::from_ubjson(bytes, bytes + length);
    const Json& learner = model.at("learner");
    const Json& trees = learner.at("gradient_booster").at("model").at("trees");
    const Json& output_of = learner.at("gradient_booster").at("model").at("tree_info");
    ForestArrays arrays;
    arrays.inputs = static_cast<std::uint32_t>(inputs);
    arrays.base = base_scores(learner.at("learner_model_param").at("base_score").get<std::string>(), outputs);
    const std::size_t count = std::min(trees.size(), rounds * outputs);
    for (std::size_t t = 0; t < count; ++t) {
      append_tree(trees.at(t), arrays);
      arrays.output_of.push_back(output_of.at(t).get<std::uint32_t>());
    }
    return arrays;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kBadData, "XGBoost " + library_->version() +
                                         " writes its model in a form this program does not know: " + error.what());
  }
}

}  // namespace widthwise::internal
