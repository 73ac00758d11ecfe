#include "fit_tables.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <unordered_set>

#include <widthwise/error.hpp>

#include "message.hpp"
#include "outcomes_outside.hpp"
#include "output.hpp"
#include "progress_bar.hpp"
#include "standard_streams.hpp"
#include "tables.hpp"

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
                               count_of(share.workers, "worker"), count_of(all, "row group"));
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

/// Engines compute in single precision: throw kBadData, naming file and row, for a feature that does not fit.
void require_single_precision(MatrixView numbers, const std::vector<std::string>& features, const std::string& table,
                              std::uint64_t first_row) {
  for (std::size_t i = 0; i < numbers.rows(); ++i) {
    for (std::size_t j = 0; j < features.size(); ++j) {
      const double x = numbers(i, j);
      if (std::isnan(x) || std::abs(x) <= std::numeric_limits<float>::max()) continue;
      throw internal::make_error(
          ErrorCode::kBadData,
          "{}: row {}: '{}' is {}; expected a magnitude of at most 3.4e38, or an empty cell for a missing value", table,
          first_row + i + 1, features[j], x);
    }
  }
}

void read_piece(const FitColumnChoice& choice, const std::vector<std::string>& features, const Piece& piece,
                ProgressBar& bar, FitData& data) {
  const auto reader = open_table(piece.table, choice.reading.read_options({.row_groups = piece.row_groups}));
  const std::string& predictions_in = choice.prediction_column();
  std::vector<std::string> selected = features;
  selected.push_back(choice.target);
  if (!predictions_in.empty()) selected.push_back(predictions_in);
  require_columns(*reader, piece.table, selected, ErrorCode::kBadData);
  reader->select(std::move(selected), {});
  if (const auto rows = reader->rows()) {
    data.x.reserve(data.x.size() + static_cast<std::size_t>(*rows) * features.size());
    data.y.reserve(data.y.size() + static_cast<std::size_t>(*rows));
  }
  const std::uint64_t first_number = first_row_number(*reader);
  TableBatch batch;
  internal::OutcomesOutside outside(choice.outcome_range);
  bar.show("reading", data.y.size(), 0);
  while (reader->next(batch)) {
    const MatrixView numbers = batch.numbers();
    const std::size_t before = data.y.size();
    require_single_precision(numbers, features, piece.table, batch.first_row());
    for (std::size_t i = 0; i < numbers.rows(); ++i) {
      const auto row = numbers.row(i);
      data.x.insert(data.x.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(features.size()));
      data.y.push_back(row[features.size()]);
      if (!predictions_in.empty()) data.predictions.push_back(row[features.size() + 1]);
      data.row_numbers.push_back(first_number + batch.first_row() + i);
    }
    require_finite(std::span(data.y).subspan(before), piece.table, choice.target, batch.first_row(),
                   "remove the rows without an outcome");
    outside.add(std::span(data.y).subspan(before), batch.first_row() + 1);
    if (!predictions_in.empty()) {
      require_finite(std::span(data.predictions).subspan(before), piece.table, predictions_in, batch.first_row(),
                     "remove the rows without a prediction");
    }
    bar.show("reading", data.y.size(), reader->progress());
  }
  outside.require_none(fmt::format("{}: '{}'", piece.table, choice.target));
  data.fingerprints.push_back(fingerprint_text(*reader));
}

}  // namespace

FitColumns choose_columns(const FitColumnChoice& choice) {
  const std::string& table = choice.tables.front();
  const auto reader = open_table(table, choice.reading.read_options());
  const auto refuse = [&](const std::string& why) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "{}: {}", table, why);
  };
  const std::string& prediction = choice.prediction_column();
  std::vector<std::string> named = {choice.target};
  if (!prediction.empty()) named.push_back(prediction);
  require_columns(*reader, table, named, ErrorCode::kInvalidArgument);
  if (prediction == choice.target) {
    refuse(std::string(choice.cv_prediction.empty() ? "--prediction" : "--cv-prediction") +
           " and --target name the same column");
  }
  FitColumns chosen;
  if (!choice.features.empty()) {
    chosen.features = parse_columns(*reader, table, choice.features);
    for (const auto& name : chosen.features) {
      if (name == choice.target)
        refuse(fmt::format("the target '{}' cannot be a feature; remove it from --features", name));
      if (name == prediction) {
        refuse(fmt::format("the prediction '{}' is always a feature; remove it from --features", name));
      }
    }
    return chosen;
  }
  // Few cells that are not numbers are more likely mistakes than a reason to leave the column out.
  const auto require_readable = [&](const ColumnInfo& column) {
    if (!column.unreadable || column.unreadable->has_decimal_comma) return;  // the reader has its own message
    const std::string cell = printable(column.unreadable->text);
    throw internal::make_error(
        ErrorCode::kBadData,
        "{}: column '{}', row {}: '{}' is not a number, but most cells of the column are; correct it, count it as "
        "missing with --missing '{}', or leave the column out with --exclude '{}'",
        table, column.name, column.unreadable->row + 1, cell, cell, column.name);
  };
  const std::vector<std::string> unwanted = parse_columns(*reader, table, choice.exclude);
  std::unordered_set<std::string> excluded(unwanted.begin(), unwanted.end());
  excluded.insert({choice.target, prediction});
  for (const ColumnInfo& column : reader->columns()) {
    if (excluded.contains(column.name)) continue;
    require_readable(column);
    (column.kind == ColumnKind::kNumber ? chosen.features : chosen.left_out).push_back(column.name);
  }
  if (chosen.features.empty()) refuse("no column of numbers is left to be a feature");
  return chosen;
}

void check_row_groups(const std::vector<std::string>& tables, std::size_t workers) {
  (void)pieces_of(tables, {0, workers});
}

FitData read_rows(const FitColumnChoice& choice, const std::vector<std::string>& features, const RowShare& share) {
  FitData data;
  ProgressBar bar("rows");
  for (const Piece& piece : pieces_of(choice.tables, share)) {
    read_piece(choice, features, piece, bar, data);
    const auto last = std::prev(data.fingerprints.end());
    if (share.workers == 1 && std::find(data.fingerprints.begin(), last, *last) != last) {
      throw Error(ErrorCode::kBadData, piece.table + ": the table is given twice; pass every row once");
    }
  }
  return data;
}

}  // namespace widthwise::cli
