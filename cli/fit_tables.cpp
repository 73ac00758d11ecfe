#include "fit_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>

#include <widthwise/error.hpp>
#include <widthwise/labels.hpp>

#include "base/message.hpp"
#include "base/values.hpp"
#include "conformal/outcomes.hpp"
#include "group_column.hpp"
#include "output.hpp"
#include "progress_bar.hpp"
#include "standard_streams.hpp"
#include "tables.hpp"
#include "terminal.hpp"
#include "time_column.hpp"

namespace widthwise::cli {
namespace {

/// Row groups of one table.
struct Piece {
  std::string table;
  std::optional<RowGroups> row_groups;  ///< empty: all
};

std::vector<Piece> pieces_of(const std::vector<std::string>& tables, const RowShare& share) {
  std::vector<Piece> pieces;
  if (share.workers == 1) {
    for (const auto& table : tables) pieces.push_back({table, std::nullopt});
    return pieces;
  }
  std::vector<std::size_t> counts;
  std::size_t all = 0;
  for (const auto& table : tables) {
    const auto groups = open_table(table)->row_groups();
    if (!groups) {
      throw Error(ErrorCode::kInvalidArgument,
                  table + ": not a Parquet file; several workers share the row groups of Parquet files");
    }
    counts.push_back(*groups);
    all += *groups;
  }
  if (all < share.workers) {
    throw internal::make_error(ErrorCode::kInvalidArgument,
                               "{} but {} to read; use fewer workers, or write files with more row groups",
                               internal::Count{share.workers, "worker"}, internal::Count{all, "row group"});
  }
  const std::size_t begin = all * share.rank / share.workers;
  const std::size_t end = all * (share.rank + 1) / share.workers;
  std::size_t first = 0;
  for (std::size_t i = 0; i < tables.size(); first += counts[i], ++i) {
    const std::size_t from = std::max(begin, first);
    const std::size_t to = std::min(end, first + counts[i]);
    if (from < to) pieces.push_back({tables[i], RowGroups{from - first, to - from}});
  }
  return pieces;
}

/// Throw kBadData with file and row for a feature outside the range of single precision, which engines use.
void require_single_precision(MatrixView numbers, const std::vector<FitFeature>& features, const CellPlace& place) {
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    for (std::size_t j = 0; j < features.size(); ++j) {
      const double x = numbers(i, j);
      if (std::isnan(x) || std::abs(x) <= std::numeric_limits<float>::max()) continue;
      throw internal::make_error(
          ErrorCode::kBadData,
          "{}: {}: '{}' is {}; expected a magnitude of at most 3.4e38, or an empty cell for a missing value",
          place.where, place.row(i), features[j].name, x);
    }
  }
}

/// Reads the columns by role of one table.
class RoleReader {
 public:
  RoleReader(const FitColumns& columns, FitData& data) : columns_(columns), data_(data) {}

  /// Add the columns to those that a reader selects; this has to outlive the reader.
  void select(const TableReader& reader, std::vector<SelectedColumn>& selected) {
    for (const RoleEntry& entry : roles()) {
      if (!columns_.roles.has(entry.role)) continue;
      const std::vector<std::string> names = columns_.columns_of(entry.role);
      const auto index = static_cast<std::size_t>(entry.role);
      switch (entry.kind) {
        case RoleKind::kNumber:
          selected.push_back({.name = names.front()});
          break;
        case RoleKind::kTime:
          selected.push_back(times_.select(reader, names.front()));
          break;
        case RoleKind::kText:
          selected.push_back({.name = names.front(), .texts = &data_.columns.texts(entry.role)});
          break;
        case RoleKind::kLabel:
          labels_[index] = std::make_unique<GroupColumn>(
              [&labels = data_.labels[index]](std::string_view label) { return labels.add(label); });
          std::ranges::move(labels_[index]->select(names), std::back_inserter(selected));
          break;
      }
      ends_[index] = selected.size();
    }
  }

  /// Append the cells of a batch, and throw for a cell outside the rule of its role.
  void append(const std::string& table, const TableBatch& batch) {
    for (const RoleEntry& entry : roles()) {
      const std::size_t end = ends_[static_cast<std::size_t>(entry.role)];
      if (end == 0) continue;
      const CellPlace place{.where = table,
                            .column = columns_.roles[entry.role],
                            .first_row = batch.first_row(),
                            .ids = ids(batch.rows())};
      switch (entry.kind) {
        case RoleKind::kNumber:
          append_numbers(entry.role, batch.numbers(), end - 1, place);
          break;
        case RoleKind::kTime:
          times_.append(batch.numbers(), end - 1, place, data_.moments);
          break;
        case RoleKind::kText:  // the reader appended them
          break;
        case RoleKind::kLabel:
          append_labels(entry.role, batch.numbers(), end, place);
          break;
      }
    }
  }

  /// The ids of the last rows read.
  [[nodiscard]] std::span<const std::string> ids(std::size_t rows) const {
    const std::span<const std::string> all = data_.columns.texts(Role::kId);
    return all.empty() ? all : all.last(rows);
  }

 private:
  void append_numbers(Role role, MatrixView numbers, std::size_t column, const CellPlace& place) {
    std::vector<double>& to = data_.columns.numbers(role);
    const std::size_t before = to.size();
    for (std::size_t i = 0; i < numbers.rows(); ++i) to.push_back(numbers(i, column));
    check_cells(role, std::span<const double>(to).subspan(before), place);
  }

  void append_labels(Role role, MatrixView numbers, std::size_t end, const CellPlace& place) {
    std::vector<std::int64_t>& to = data_.columns.labels(role);
    const std::size_t before = to.size();
    (void)labels_[static_cast<std::size_t>(role)]->append(numbers, end, to);
    check_cells(role, std::span<const std::int64_t>(to).subspan(before), place);
  }

  const FitColumns& columns_;
  FitData& data_;
  std::array<std::unique_ptr<GroupColumn>, kRoles> labels_;
  TimeColumn times_;
  std::array<std::size_t, kRoles> ends_{};  // after the columns of a role, among those selected; 0 without
};

/// Select the features, the target, the predictions and the columns by role; the labels of categories are added to
/// those of the data.
void select(TableReader& reader, const FitColumnChoice& choice, const FitColumns& columns, const std::string& table,
            FitData& data, RoleReader& by_role) {
  const std::vector<FitFeature>& features = columns.features;
  std::vector<SelectedColumn> selected;
  for (std::size_t j = 0; j < features.size(); ++j) {
    selected.push_back({.name = features[j].name, .max_labels = kMaxCategories});
    if (features[j].categorical) selected.back().collected = &data.categories[j];
  }
  selected.push_back({.name = choice.target});
  for (const std::string& name : choice.prediction_columns()) selected.push_back({.name = name});
  by_role.select(reader, selected);
  std::vector<std::string> names;
  for (const SelectedColumn& column : selected) names.push_back(column.name);
  require_columns(reader, table, names, ErrorCode::kBadData);
  reader.select_columns(std::move(selected), {});
}

void read_piece(const FitColumnChoice& choice, const FitColumns& columns, const Piece& piece, ProgressBar& bar,
                FitData& data) {
  const std::vector<FitFeature>& features = columns.features;
  RoleReader by_role(columns, data);
  const auto reader = open_table(piece.table, choice.reading.read_options({.row_groups = piece.row_groups}));
  const std::vector<std::string> predictions_in = choice.prediction_columns();
  select(*reader, choice, columns, piece.table, data, by_role);
  if (const auto rows = reader->rows()) {
    data.x.reserve(data.x.size() + static_cast<std::size_t>(*rows) * features.size());
    data.y.reserve(data.y.size() + static_cast<std::size_t>(*rows));
  }
  const std::uint64_t first_number = first_row_number(*reader);
  TableBatch batch;
  internal::OutcomesOutside outside(choice.outcome_space);
  bar.show("reading", data.y.size(), 0);
  while (reader->next(batch)) {
    const MatrixView numbers = batch.numbers();
    const std::size_t before = data.y.size();
    const CellPlace cells{.where = piece.table,
                          .column = choice.target,
                          .first_row = batch.first_row(),
                          .ids = by_role.ids(batch.rows())};
    require_single_precision(numbers, features, cells);
    for (std::size_t i = 0; i < numbers.rows(); ++i) {
      const auto row = numbers.row(i);
      data.x.insert(data.x.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(features.size()));
      std::size_t place = features.size();  // in the order of `select`
      data.y.push_back(row[place++]);
      for (std::size_t k = 0; k < predictions_in.size(); ++k) data.predictions.push_back(row[place++]);
      data.row_numbers.push_back(first_number + batch.first_row() + i);
    }
    by_role.append(piece.table, batch);
    require_finite(std::span(data.y).subspan(before), cells, "remove the rows without an outcome");
    outside.add(std::span(data.y).subspan(before), batch.first_row() + 1, cells.ids);
    require_finite(std::span(data.predictions).subspan(before * predictions_in.size()), cells, predictions_in,
                   "remove the rows without a prediction");
    bar.show("reading", data.y.size(), reader->progress());
  }
  outside.require_none(fmt::format("{}: '{}'", piece.table, choice.target));
  data.fingerprints.push_back(fingerprint_text(*reader));
}

[[noreturn]] void refuse_columns(const FitColumnChoice& choice, const std::string& why) {
  throw internal::make_error(ErrorCode::kInvalidArgument, "{}: {}", choice.tables.front(), why);
}

/// Check the columns of predictions.
void check_predictions(const FitColumnChoice& choice) {
  const char* const option = choice.cv_prediction.empty() ? "--prediction" : "--cv-prediction";
  if (choice.prediction_column() == choice.target) {
    refuse_columns(choice, fmt::format("{} and --target name the same column", option));
  }
  if (choice.upper_prediction.empty()) return;
  if (choice.upper_prediction == choice.target) {
    refuse_columns(choice, "--upper-prediction and --target name the same column");
  }
  if (choice.upper_prediction == choice.prediction_column()) {
    refuse_columns(choice, fmt::format("{} and --upper-prediction name the same column", option));
  }
}

/// Check the columns of outcomes and predictions.
void check_columns(const FitColumnChoice& choice, const TableReader& reader) {
  const std::vector<std::string> predictions = choice.prediction_columns();
  std::vector<std::string> named = {choice.target};
  named.insert(named.end(), predictions.begin(), predictions.end());
  for (const RoleEntry& entry : roles()) {
    if (choice.roles.has(entry.role)) named.push_back(choice.roles[entry.role]);
  }
  require_columns(reader, choice.tables.front(), named, ErrorCode::kInvalidArgument);
  check_predictions(choice);
  for (const RoleEntry& entry : roles()) {
    const std::string& column = choice.roles[entry.role];
    if (column == choice.target) {
      refuse_columns(choice, fmt::format("{} and --target name the same column", entry.option()));
    }
    if (column.empty() || std::ranges::find(predictions, column) == predictions.end()) continue;
    refuse_columns(choice, fmt::format("{} names a column of predictions", entry.option()));
  }
}

/// The columns that each option with a list names.
struct NamedColumns {
  std::vector<std::string> categorical;
  std::vector<std::string> features;
  std::vector<std::string> exclude;
  std::vector<std::string> group;

  NamedColumns(const FitColumnChoice& choice, const TableReader& reader)
      : categorical(parse_columns(reader, choice.tables.front(), choice.categorical)),
        features(parse_columns(reader, choice.tables.front(), choice.features)),
        exclude(parse_columns(reader, choice.tables.front(), choice.exclude)),
        group(parse_columns(reader, choice.tables.front(), choice.group)) {}

  [[nodiscard]] bool is_categorical(const std::string& name) const {
    return std::ranges::find(categorical, name) != categorical.end();
  }
};

void check_groups(const FitColumnChoice& choice, const TableReader& reader, const std::vector<std::string>& group) {
  if (std::ranges::find(group, choice.target) != group.end()) {
    refuse_columns(choice, "--group and --target name the same column");
  }
  if (const std::string name = join_labels(group); group.size() > 1 && reader.has_column(name)) {
    refuse_columns(choice,
                   fmt::format("the columns of --group together have the name of the column '{}'; rename that", name));
  }
}

ColumnKind kind_of(const TableReader& reader, const std::string& column) {
  return std::ranges::find(reader.columns(), column, &ColumnInfo::name)->kind;
}

/// The features that --features names.
FitColumns named_features(const FitColumnChoice& choice, const TableReader& reader, const NamedColumns& named) {
  FitColumns chosen;
  const std::vector<std::string> predictions = choice.prediction_columns();
  for (const std::string& name : named.features) {
    if (name == choice.target) {
      refuse_columns(choice, fmt::format("the target '{}' cannot be a feature; remove it from --features", name));
    }
    if (std::ranges::find(predictions, name) != predictions.end()) {
      refuse_columns(choice, fmt::format("the prediction '{}' is always a feature; remove it from --features", name));
    }
    const bool asked = named.is_categorical(name);
    const bool has_labels = asked || kind_of(reader, name) == ColumnKind::kText;
    if (has_labels && !choice.takes_no_categories.empty()) {
      refuse_columns(choice, fmt::format("'{}' is a categorical feature, which {} does not take; remove it from {}",
                                         name, choice.takes_no_categories, asked ? "--categorical" : "--features"));
    }
    chosen.features.push_back({.name = name, .categorical = has_labels, .named = true});
  }
  return chosen;
}

/// Why a column that the user did not name is not a feature; empty if it is one.
std::string why_left_out(ColumnKind kind, const FitColumnChoice& choice) {
  if (kind == ColumnKind::kTime) return fmt::format("holds dates; {}", kDeriveFromDates);
  if (kind == ColumnKind::kOther) return "holds neither numbers nor text";
  if (kind == ColumnKind::kText && !choice.takes_no_categories.empty()) {
    return fmt::format("holds text, which {} does not take", choice.takes_no_categories);
  }
  return {};
}

/// Few cells that are not numbers are more likely mistakes than a reason to leave the column out.
void require_readable(const ColumnInfo& column, const std::string& table) {
  if (!column.unreadable || column.unreadable->has_decimal_comma) return;  // the reader has its own message
  const internal::Printable cell{column.unreadable->text};
  throw internal::make_error(
      ErrorCode::kBadData,
      "{}: column '{}', row {}: '{}' is not a number, but most cells of the column are; correct it, count it as "
      "missing with --missing '{}', or leave the column out with --exclude '{}'",
      table, column.name, column.unreadable->row + 1, cell, cell, column.name);
}

/// All columns but those that --exclude names and those of roles: new rows have others.
FitColumns all_features(const FitColumnChoice& choice, const TableReader& reader, const NamedColumns& named) {
  std::unordered_set<std::string> excluded(named.exclude.begin(), named.exclude.end());
  excluded.insert(choice.target);
  for (const RoleEntry& entry : roles()) excluded.insert(choice.roles[entry.role]);
  for (const std::string& name : choice.prediction_columns()) excluded.insert(name);
  FitColumns chosen;
  for (const ColumnInfo& column : reader.columns()) {
    const std::string& name = column.name;
    if (excluded.contains(name)) continue;
    const bool asked = named.is_categorical(name);
    if (!asked) require_readable(column, choice.tables.front());
    if (asked && !choice.takes_no_categories.empty()) {
      refuse_columns(choice, fmt::format("--categorical '{}': {} does not take categorical features", name,
                                         choice.takes_no_categories));
    }
    const std::string why = asked ? "" : why_left_out(column.kind, choice);
    if (why.empty()) {
      chosen.features.push_back(
          {.name = name, .categorical = asked || column.kind == ColumnKind::kText, .named = asked});
    } else {
      chosen.left_out.push_back({name, why});
    }
  }
  return chosen;
}

/// The labels of all workers, in ascending order.
Labels all_labels(const Labels& own, const Communicator* communicator) {
  if (communicator == nullptr) return own.sorted();
  std::string text;  // "2:AA3:abc"
  for (const std::string& label : own.all()) text += fmt::format("{}:{}", label.size(), label);
  Labels all;
  for (const std::string& labels : gather_texts(*communicator, text)) {
    for (std::size_t at = 0; at < labels.size();) {
      const std::size_t colon = labels.find(':', at);
      const std::size_t size = std::stoul(labels.substr(at, colon - at));
      all.add(std::string_view(labels).substr(colon + 1, size));
      at = colon + 1 + size;
    }
  }
  return all.sorted();
}

/// Remove the columns of x that are not kept.
void keep_columns(FitColumns& columns, FitData& data, const std::vector<bool>& kept) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < data.x.size(); ++from) {
    if (kept[from % kept.size()]) data.x[to++] = data.x[from];
  }
  data.x.resize(to);
  FitColumns some{.features = {},
                  .left_out = std::move(columns.left_out),
                  .group = std::move(columns.group),
                  .roles = std::move(columns.roles)};
  std::vector<Labels> categories;
  for (std::size_t j = 0; j < kept.size(); ++j) {
    if (!kept[j]) continue;
    some.features.push_back(columns.features[j]);
    categories.push_back(std::move(data.categories[j]));
  }
  columns = std::move(some);
  data.categories = std::move(categories);
}

}  // namespace

std::vector<std::string> FitColumnChoice::prediction_columns() const {
  std::vector<std::string> columns;
  for (const std::string* column : {&prediction_column(), &upper_prediction}) {
    if (!column->empty()) columns.push_back(*column);
  }
  return columns;
}

void agree_on_categories(FitColumns& columns, FitData& data, const std::string& table,
                         const Communicator* communicator) {
  const std::size_t features = columns.features.size();
  std::vector<bool> kept(features, true);
  for (std::size_t j = 0; j < features; ++j) {
    const FitFeature& feature = columns.features[j];
    if (!feature.categorical) continue;
    const Labels labels = all_labels(data.categories[j], communicator);
    const std::string why = why_no_categories(labels);
    if (!why.empty() && feature.named) {
      throw internal::make_error(ErrorCode::kBadData, "{}: the column '{}' {}", table, feature.name, why);
    }
    kept[j] = why.empty();
    if (kept[j]) {
      renumber(data.x, j, features, data.categories[j], labels);
      data.categories[j] = labels;
    } else {
      columns.left_out.push_back({feature.name, why});
    }
  }
  if (std::ranges::find(kept, true) == kept.end()) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "{}: no column is left to be a feature", table);
  }
  keep_columns(columns, data, kept);
}

std::vector<std::string> FitColumns::names() const {
  std::vector<std::string> names;
  names.reserve(features.size());
  for (const FitFeature& feature : features) names.push_back(feature.name);
  return names;
}

std::vector<std::string> FitColumns::columns_of(Role role) const {
  return role == Role::kGroup ? group : std::vector{roles[role]};
}

FitColumns choose_columns(const FitColumnChoice& choice) {
  const std::string& table = choice.tables.front();
  const auto reader = open_table(table, choice.reading.read_options());
  check_columns(choice, *reader);
  const NamedColumns named(choice, *reader);
  FitColumns chosen =
      choice.features.empty() ? all_features(choice, *reader, named) : named_features(choice, *reader, named);
  for (const std::string& name : named.categorical) {
    if (std::ranges::find(chosen.features, name, &FitFeature::name) == chosen.features.end()) {
      refuse_columns(choice, fmt::format("--categorical '{}' is not a feature", name));
    }
  }
  if (chosen.features.empty()) refuse_columns(choice, "no column is left to be a feature");
  check_groups(choice, *reader, named.group);
  chosen.group = named.group;
  chosen.roles = choice.roles;
  chosen.roles[Role::kGroup] = join_labels(chosen.group);
  std::erase_if(chosen.left_out, [&](const LeftOut& column) {
    return std::ranges::find(chosen.group, column.column) != chosen.group.end();
  });
  return chosen;
}

FitData read_rows(const FitColumnChoice& choice, const FitColumns& columns, const RowShare& share) {
  FitData data;
  data.categories.resize(columns.features.size());
  ProgressBar bar("rows");
  const std::vector<Piece> pieces = pieces_of(choice.tables, share);
  for (const Piece& piece : pieces) {
    const double place = static_cast<double>(&piece - pieces.data());
    const auto count = static_cast<double>(pieces.size());
    const BarPart part(place / count, (place + 1) / count);
    read_piece(choice, columns, piece, bar, data);
    const auto last = std::prev(data.fingerprints.end());
    if (share.workers == 1 && std::find(data.fingerprints.begin(), last, *last) != last) {
      throw Error(ErrorCode::kBadData, piece.table + ": the table is given twice; pass every row once");
    }
  }
  data.columns.numbers(Role::kTime) = ranks_of(data.moments);
  data.moments = {};
  return data;
}

std::vector<double> read_shift_rows(const std::string& table, const TableOptions& reading, const FitColumns& columns,
                                    const FitData& data) {
  const auto reader = open_table(table, reading.read_options());
  require_columns(*reader, table, columns.names(), ErrorCode::kBadData, ", a feature of the model");
  std::vector<SelectedColumn> selected;
  std::vector<UnknownLabels> unknown(columns.features.size());
  for (std::size_t j = 0; j < columns.features.size(); ++j) {
    selected.push_back({.name = columns.features[j].name});
    if (!columns.features[j].categorical) continue;
    unknown[j].feature = columns.features[j].name;
    selected.back().known = &data.categories[j];
    selected.back().unknown = &unknown[j];
  }
  reader->select_columns(std::move(selected), {});
  std::vector<double> x;
  std::uint64_t rows = 0;
  TableBatch batch;
  ProgressBar bar("rows");
  while (reader->next(batch)) {
    const MatrixView numbers = batch.numbers();
    for (std::size_t i = 0; i < numbers.rows(); ++i) x.insert(x.end(), numbers.row(i).begin(), numbers.row(i).end());
    rows += numbers.rows();
    bar.show("reading the rows of shift_to", rows, reader->progress());
  }
  for (const UnknownLabels& labels : unknown) {
    if (labels.none_known()) throw Error(ErrorCode::kBadData, table + ": " + labels.to_string());
    if (labels.unknown > 0) warn(table + ": " + labels.to_string());
  }
  if (x.empty()) throw Error(ErrorCode::kBadData, table + ": no rows");
  return x;
}

}  // namespace widthwise::cli
