#include <widthwise/knn.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nanoflann.hpp>
#include <string>
#include <utility>

#include <widthwise/error.hpp>

#include "knn_bounds.hpp"
#include "message.hpp"
#include "row_function_checks.hpp"
#include "text.hpp"

namespace widthwise {
namespace {

using internal::kFarthest;
using internal::kNearest;

// The search tree splits only by these columns; with more columns, computing distances is cheaper than further splits.
// Together with the bounds of the points this limits the depth of the tree for any file: halving boxes from kFarthest
// to the smallest gap between two points takes about 180 steps per column.
constexpr std::size_t kTreeColumns = 16;
constexpr std::size_t kLeafRows = 10;
constexpr std::size_t kMaxRows = std::size_t{1} << 31U;
constexpr std::size_t kMaxInputs = std::size_t{1} << 24U;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorCode::kBadData, "Knn: " + what); }

std::string of_column(const char* what, std::size_t column) { return fmt::format("{} of column {}", what, column + 1); }

void check(const KnnArrays& arrays) {
  const std::size_t inputs = arrays.centre.size();
  const std::size_t rows = arrays.values.size();
  const auto found = [](std::size_t count) { return fmt::format(", found {}", count); };
  if (inputs > kMaxInputs) refuse(fmt::format("expected at most {} inputs{}", kMaxInputs, found(inputs)));
  if (arrays.scale.size() != inputs) {
    refuse(fmt::format("expected as many scales as centres, {}{}", inputs, found(arrays.scale.size())));
  }
  if (rows == 0 || rows > kMaxRows) refuse(fmt::format("expected 1 to {} rows{}", kMaxRows, found(rows)));
  if (arrays.points.size() != rows * inputs) {
    refuse(fmt::format("expected points of {} x {} numbers{}", rows, inputs, found(arrays.points.size())));
  }
  if (arrays.neighbours == 0 || arrays.neighbours > rows) {
    refuse(fmt::format("expected 1 to {} neighbours, at most one per row{}", rows, found(arrays.neighbours)));
  }
  for (std::size_t j = 0; j < inputs; ++j) {
    if (!std::isfinite(arrays.centre[j])) refuse(of_column("the centre", j) + " is not finite");
    if (!(arrays.scale[j] > 0) || !std::isfinite(arrays.scale[j])) {
      refuse(of_column("the scale", j) + " is not positive and finite");
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (!std::isfinite(arrays.values[i])) refuse(fmt::format("row {}: the value is not finite", i + 1));
    for (std::size_t j = 0; j < inputs; ++j) {
      const double size = std::abs(arrays.points[i * inputs + j]);
      const bool good = size == 0 || (size >= kNearest && size <= kFarthest);
      if (!good) {
        refuse(
            fmt::format("row {}: column {} is out of range; expected 0 or a magnitude of 1e-30 to 1e6", i + 1, j + 1));
      }
    }
  }
}

/// The stored points, with the interface of the search tree.
struct Points {
  const std::vector<double>& numbers;
  std::size_t rows;
  std::size_t columns;

  [[nodiscard]] std::size_t kdtree_get_point_count() const { return rows; }
  [[nodiscard]] double kdtree_get_pt(std::size_t row, std::size_t column) const {
    return numbers[row * columns + column];
  }
  template <class Box>
  bool kdtree_get_bbox(Box& /*box*/) const {
    return false;
  }
};

/// Squared distances over all columns, including those that the tree does not use.
struct SquaredDistance {
  using ElementType = double;
  using DistanceType = double;
  const Points& points;

  explicit SquaredDistance(const Points& all) : points(all) {}

  // NOLINTNEXTLINE(readability-identifier-naming): the tree's name for it
  [[nodiscard]] double evalMetric(const double* x, std::size_t row, std::size_t /*tree_columns*/) const {
    const double* point = points.numbers.data() + row * points.columns;
    double sum = 0;
    for (std::size_t j = 0; j < points.columns; ++j) sum += (x[j] - point[j]) * (x[j] - point[j]);
    return sum;
  }
  template <class A, class B>
  [[nodiscard]] double accum_dist(A a, B b, std::size_t /*column*/) const {
    return (a - b) * (a - b);
  }
};

#if NANOFLANN_VERSION < 0x150
using SearchParameters = nanoflann::SearchParams;
#else
using SearchParameters = nanoflann::SearchParameters;
#endif
using SearchTree = nanoflann::KDTreeSingleIndexAdaptor<SquaredDistance, Points, -1, std::uint32_t>;

/// The k nearest rows so far, with the interface of the search tree; of equal distances the earlier row comes first.
class Nearest {
 public:
  using DistanceType = double;

  explicit Nearest(std::size_t k) { rows_.reserve(k + 1); }

  void clear(std::size_t k) {
    k_ = k;
    rows_.clear();
  }

  [[nodiscard]] bool full() const { return rows_.size() == k_; }

  // NOLINTNEXTLINE(readability-identifier-naming): the tree's name for it
  bool addPoint(double distance, std::uint32_t row) {
    const std::pair entry(distance, row);
    if (full() && rows_.back() < entry) return true;
    rows_.insert(std::upper_bound(rows_.begin(), rows_.end(), entry), entry);
    if (rows_.size() > k_) rows_.pop_back();
    return true;
  }

  /// The tree skips distances that are not below this bound. It is just above the k-th distance, so that an earlier row
  /// at
  /// the same distance is considered.
  // NOLINTNEXTLINE(readability-identifier-naming): the tree's name for it
  [[nodiscard]] double worstDist() const {
    constexpr double kMax = std::numeric_limits<double>::max();
    return full() ? std::nextafter(rows_.back().first, kMax) : kMax;
  }

  void sort() const {}  ///< the rows are always sorted

  [[nodiscard]] const std::vector<std::pair<double, std::uint32_t>>& rows() const { return rows_; }

 private:
  std::size_t k_ = 0;
  std::vector<std::pair<double, std::uint32_t>> rows_;
};

}  // namespace

struct Knn::Tree {
  KnnArrays arrays;
  Points points;
  std::unique_ptr<SearchTree> search;  ///< null without columns, where all distances are equal

  explicit Tree(KnnArrays from)
      : arrays(std::move(from)), points{arrays.points, arrays.values.size(), arrays.centre.size()} {
    if (points.columns == 0) return;
    search = std::make_unique<SearchTree>(static_cast<int>(std::min(points.columns, kTreeColumns)), points,
                                          nanoflann::KDTreeSingleIndexAdaptorParams(kLeafRows));
    search->buildIndex();
  }

  void find(const double* x, Nearest& nearest) const {
    nearest.clear(arrays.neighbours);
    if (!search) {
      for (std::uint32_t row = 0; row < arrays.neighbours; ++row) nearest.addPoint(0, row);
      return;
    }
    SearchParameters parameters;
    // The distance bounds of the tree are rounded; searching slightly farther keeps the result exact.
    parameters.eps = -1e-6F;
    search->findNeighbors(nearest, x, parameters);
  }
};

Knn::Knn(KnnArrays arrays) {
  check(arrays);
  tree_ = std::make_unique<const Tree>(std::move(arrays));
}

Knn::~Knn() = default;

const KnnArrays& Knn::arrays() const { return tree_->arrays; }
std::size_t Knn::inputs() const { return tree_->points.columns; }

void Knn::evaluate(MatrixView x, MutableMatrixView out) const {
  internal::check_shapes("Knn::evaluate", *this, x, out);
  const KnnArrays& arrays = tree_->arrays;
  std::vector<double> scaled(inputs());
  Nearest nearest(arrays.neighbours);
  for (std::size_t row = 0; row < x.rows(); ++row) {
    for (std::size_t j = 0; j < scaled.size(); ++j) {
      scaled[j] = internal::standardised(x(row, j), arrays.centre[j], arrays.scale[j]);
    }
    tree_->find(scaled.data(), nearest);
    // Add values divided by k, so that the sum cannot overflow.
    double mean = 0;
    for (const auto& [distance, neighbour] : nearest.rows()) mean += arrays.values[neighbour] / arrays.neighbours;
    out(row, 0) = mean;
  }
}

RowFunctionDescription Knn::describe() const {
  const KnnArrays& known = arrays();
  const std::uint64_t rows = known.values.size();
  RowFunctionDescription description{.kind = "knn",
                                     .summary = "mean of the " + internal::count_of(known.neighbours, "nearest row") +
                                                " out of " + internal::count(rows),
                                     .figures = {{"neighbours", known.neighbours}, {"rows", rows}},
                                     .numbers = {{"neighbours", std::uint64_t{known.neighbours}}}};
  description.add("centre", known.centre);
  description.add("scale", known.scale);
  description.add("points", known.points, {known.values.size(), known.centre.size()});
  description.add("values", known.values);
  return description;
}

}  // namespace widthwise
