#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/labels.hpp>
#include <widthwise/model.hpp>

namespace widthwise {

/// A label that a model does not know.
struct UnknownLabel {
  std::string label;    ///< as the table has it
  std::string similar;  ///< the most similar label that the model knows; empty if none is similar
};

/// Values of one categorical feature whose label a model does not know, such as another spelling. The model takes them
/// as missing, so intervals of such rows can be far too narrow. Missing values are not counted.
struct UnknownLabels {
  static constexpr std::size_t kNamed = 3;  ///< maximum size of `first`

  std::string feature;                   ///< name of the column
  std::uint64_t values = 0;              ///< number of values with a label, known or not
  std::uint64_t unknown = 0;             ///< how many of these labels the model does not know
  std::vector<UnknownLabel> first = {};  ///< distinct ones, in order of appearance
  bool more = false;                     ///< whether there are others than the first

  /// Count values with a label that is not among the known ones.
  void add(std::string_view label, const Labels& known, std::uint64_t rows = 1);

  /// Count the values of other rows of the same column.
  void merge(const UnknownLabels& other);

  /// Whether there are several values and the model knows none of their labels: a mistake, not a rare category. A
  /// single value may be a new category, which must not stop a service that predicts row by row.
  [[nodiscard]] bool none_known() const { return values > 1 && unknown == values; }

  /// "column 'clarity': 817 of 2,000 values are categories that the model does not know, such as 'si1' (did you mean
  /// 'SI1'?); ...".
  [[nodiscard]] std::string to_string() const;
};

/// Finds the numbers of categories for Rows::x by their labels, and counts the labels that the model does not
/// know. Thread safety: none.
class UnknownCategories {
 public:
  /// `model` has to outlive this.
  explicit UnknownCategories(const Model& model);

  /// The number of a label of a feature of the model; NaN if the model does not know it.
  double find(std::size_t feature, std::string_view label, std::uint64_t rows = 1);

  /// The counts of a feature, which readers of tables add to.
  [[nodiscard]] UnknownLabels& of(std::size_t feature) { return features_[feature]; }

  /// The features with unknown labels.
  [[nodiscard]] std::vector<UnknownLabels> found() const;

  /// Throw kBadData if there is a feature with several values of which no label is known. The message begins with
  /// `where`.
  void require_known(const std::string& where) const;

 private:
  const Model& model_;
  std::vector<UnknownLabels> features_;
};

}  // namespace widthwise
