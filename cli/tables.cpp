#include "tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_set>

#include <widthwise/labels.hpp>
#include <widthwise/model_file.hpp>

#include "base/message.hpp"
#include "options.hpp"
#include "output.hpp"

namespace widthwise::cli {

std::vector<std::string> column_names(const TableReader& reader) {
  std::vector<std::string> names;
  names.reserve(reader.columns().size());
  for (const auto& column : reader.columns()) names.push_back(column.name);
  return names;
}

ReadOptions batches_for(std::size_t levels) {
  constexpr std::size_t kBounds = std::size_t{1} << 21U;
  ReadOptions options;
  options.batch_rows =
      std::min(options.batch_rows, std::max<std::size_t>(1, kBounds / std::max<std::size_t>(1, levels)));
  return options;
}

void require_columns(const TableReader& reader, const std::filesystem::path& file,
                     const std::vector<std::string>& columns, ErrorCode code, const std::string& purpose) {
  std::vector<std::string> missing;
  for (const std::string& name : columns) {
    const bool known = std::find(missing.begin(), missing.end(), name) != missing.end();
    if (!known && !reader.has_column(name)) missing.push_back(name);
  }
  if (missing.empty()) return;
  const std::vector<std::string> names = column_names(reader);
  if (missing.size() == 1) {
    throw internal::make_error(code, "{}: no column '{}'{}{}", file.string(), missing.front(), purpose,
                               suggestion(missing.front(), names));
  }
  std::vector<std::string> quoted;
  std::vector<std::string> similar;
  for (const std::string& name : missing) {
    quoted.push_back(fmt::format("'{}'", name));
    if (const std::string nearest = internal::nearest_name(name, names); !nearest.empty()) {
      similar.push_back(fmt::format("'{}' for '{}'", nearest, name));
    }
  }
  throw internal::make_error(code, "{}: no columns {}{}{}", file.string(), list(quoted), purpose,
                             similar.empty() ? "" : fmt::format("; did you mean {}?", list(similar)));
}

namespace {

std::string purpose_of(const RoleEntry& entry) { return fmt::format(", which holds the {}", entry.plural); }

}  // namespace

void require_model_columns(const TableReader& reader, const std::filesystem::path& file, const Model& model,
                           const std::vector<NeededColumn>& others) {
  constexpr const char* kNeeded = ", which the model needs";
  const ModelParts& parts = model.parts();
  std::vector<NeededColumn> needed;
  for (const std::string& name : parts.features) needed.push_back({name, kNeeded});
  for (const std::string& name : model.prediction_columns()) needed.push_back({name, ", which holds predictions"});
  for (const std::string& name : group_columns(reader, model)) needed.push_back({name, ", which holds the groups"});
  for (const RoleEntry& entry : roles()) {
    if (entry.kind != RoleKind::kNumber || !model.scheme().reads(entry.role, Step::kPredict)) continue;
    if (parts.columns.has(entry.role)) needed.push_back({parts.columns[entry.role], purpose_of(entry)});
  }
  needed.insert(needed.end(), others.begin(), others.end());
  std::erase_if(needed, [&](const NeededColumn& column) { return reader.has_column(column.name); });
  std::vector<std::string> names;
  for (const NeededColumn& column : needed) names.push_back(column.name);
  require_columns(reader, file, names, ErrorCode::kBadData,
                  needed.size() == 1 ? needed[0].purpose : std::string(kNeeded));
}

std::vector<std::string> group_columns(const TableReader& reader, const Model& model) {
  const std::string& name = model.parts().columns[Role::kGroup];
  if (name.empty()) return {};
  return reader.has_column(name) ? std::vector{name} : split_labels(name);
}

std::vector<std::string> parse_columns(const TableReader& reader, const std::filesystem::path& file,
                                       const std::vector<std::string>& texts) {
  std::vector<std::string> chosen;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) chosen.push_back(name);
  };
  for (const std::string& text : texts) {
    if (reader.has_column(text)) {
      add(text);
      continue;
    }
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      add(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  require_columns(reader, file, chosen, ErrorCode::kInvalidArgument);
  return chosen;
}

std::uint64_t first_row_number(const TableReader& reader) {
  constexpr std::uint64_t kFileBits = 23;
  constexpr std::uint64_t kRowBits = 40;
  return (reader.fingerprint() & ((std::uint64_t{1} << kFileBits) - 1)) << kRowBits;
}

std::string fingerprint_text(const TableReader& reader) {
  std::array<char, 16> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), reader.fingerprint(), 16);
  return {buffer.data(), result.ptr};
}

void require_finite(std::span<const double> values, const CellPlace& place, const std::string& advice) {
  require_finite(values, place, {std::string(place.column)}, advice);
}

void require_finite(std::span<const double> values, const CellPlace& place, const std::vector<std::string>& columns,
                    const std::string& advice) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const auto cell = static_cast<std::size_t>(bad - values.begin());
  throw internal::make_error(ErrorCode::kBadData, "{}: {}: '{}' is {}; {}", place.where,
                             place.row(cell / columns.size()), columns[cell % columns.size()],
                             std::isnan(*bad) ? "missing" : "infinite", advice);
}

namespace {

/// Compare by device and inode, or by path if the files do not exist yet.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

}  // namespace

std::optional<ModelFileLock> lock_for_update(const std::string& model, const std::string& written) {
  if (written.empty() || !is_same_file(model, written)) return std::nullopt;
  constexpr auto kSilence = std::chrono::seconds(1);
  ProgressBar bar("rows");
  std::optional<std::chrono::steady_clock::time_point> warn_at = std::chrono::steady_clock::now() + kSilence;
  return ModelFileLock(model, [&] {
    bar.show("waiting for another update of " + model, 0, 0);
    if (!warn_at || std::chrono::steady_clock::now() < *warn_at) return;
    warn_at.reset();
    warn(fmt::format("{}: waiting for another process that has locked the file, for at most 5 minutes", model));
  });
}

void require_other_file(const std::string& option, const std::filesystem::path& output,
                        const std::vector<std::string>& inputs) {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const std::string& input) { return is_same_file(output, input); });
  if (found == inputs.end()) return;
  throw internal::make_error(ErrorCode::kInvalidArgument,
                             "{}: {} is the same file as {}, which would be overwritten; choose another name", option,
                             output.string(), *found);
}

ModelTable::ModelTable(const Model& model, std::filesystem::path file, std::unique_ptr<TableReader> reader,
                       const std::vector<std::string>& numbers, std::vector<std::string> carried, RowUse use,
                       std::vector<SelectedColumn> more)
    : model_(model),
      file_(std::move(file)),
      use_(use),
      found_groups_(model),
      unknown_(model),
      group_column_([this](std::string_view label) { return number_of(label); }),
      cluster_column_([this](std::string_view label) { return cluster_labels_.add(label); }),
      reader_(std::move(reader)) {
  const ModelParts& parts = model.parts();
  std::vector<NeededColumn> others;
  for (const RoleEntry& entry : roles()) {
    if (entry.role == Role::kClusterSize || !reads(entry.role)) continue;
    if (!parts.columns.has(entry.role)) {
      throw internal::make_error(ErrorCode::kBadData,
                                 "the calibration has {}, but the model does not name their column; fit with {}",
                                 entry.plural, entry.option());
    }
    if (entry.role != Role::kGroup) others.push_back({parts.columns[entry.role], purpose_of(entry)});
  }
  require_model_columns(*reader_, file_, model, others);
  std::vector<std::string> selected = parts.features;
  const auto holds_categories = [&](std::size_t j) {
    return j < parts.features.size() && model.categories_of(j).size() > 0;
  };
  const auto want = [&](const std::string& name) {
    auto found = std::find(selected.begin(), selected.end(), name);
    // As numbers the column is read again.
    if (holds_categories(static_cast<std::size_t>(found - selected.begin()))) found = selected.end();
    columns_.push_back({name, static_cast<std::size_t>(found - selected.begin()), {}});
    if (found == selected.end()) selected.push_back(name);
  };
  for (const std::string& name : model.prediction_columns()) want(name);
  prediction_count_ = columns_.size();
  if (model.scheme().reads(Role::kWeight, Step::kPredict)) want(parts.columns[Role::kWeight]);
  for (const auto& name : numbers) want(name);
  std::vector<SelectedColumn> columns;
  for (std::size_t j = 0; j < selected.size(); ++j) {
    columns.push_back({.name = selected[j]});
    if (!holds_categories(j)) continue;
    columns.back().known = &model.categories_of(j);
    columns.back().unknown = &unknown_.of(j);
  }
  const std::string& id = parts.columns[Role::kId];
  if (!id.empty() && reader_->has_column(id)) columns.push_back({.name = id, .texts = &ids_});
  more_ = columns.size();
  std::ranges::move(more, std::back_inserter(columns));
  const auto add = [&](GroupColumn& column, std::span<const std::string> names) {
    std::ranges::move(column.select(names), std::back_inserter(columns));
  };
  add(group_column_, group_columns(*reader_, model));
  if (reads(Role::kCluster)) add(cluster_column_, {&parts.columns[Role::kCluster], 1});
  reader_->select_columns(std::move(columns), std::move(carried));
}

bool ModelTable::reads(Role role) const {
  const Step step = use_ == RowUse::kCalibrate  ? Step::kCalibrate
                    : use_ == RowUse::kEvaluate ? Step::kEvaluate
                                                : Step::kPredict;
  return model_.scheme().reads(role, step);
}

std::int64_t ModelTable::number_of(std::string_view label) {
  return use_ == RowUse::kCalibrate ? labels_.add(label) : found_groups_.find(label, 0);
}

void ModelTable::warn_of_labels() const {
  if (const std::string text = found_groups_.warning(); !text.empty()) warn(file_.string() + ": " + text);
  for (const UnknownLabels& labels : unknown_.found()) warn(file_.string() + ": " + labels.to_string());
}

bool ModelTable::next(ProgressBar& bar, std::string_view stage) {
  bar.show(stage, rows_read_, reader_->progress());
  ids_.clear();
  if (!reader_->next(batch_)) {
    if (use_ != RowUse::kStream) unknown_.require_known(file_.string());
    return false;
  }
  rows_read_ += batch_.rows();
  const MatrixView numbers = batch_.numbers();
  for (auto& column : columns_) {
    column.values.resize(numbers.rows());
    for (std::size_t i = 0; i < numbers.rows(); ++i) column.values[i] = numbers(i, column.place);
  }
  predictions_.clear();
  for (std::size_t i = 0; i < numbers.rows() && prediction_count_ > 1; ++i) {
    for (std::size_t k = 0; k < prediction_count_; ++k) predictions_.push_back(columns_[k].values[i]);
  }
  if (reads(Role::kWeight)) {
    const std::string& name = model_.parts().columns[Role::kWeight];
    check_cells(Role::kWeight, column(name), place_of(name));
  }
  read_labels();
  return true;
}

CellPlace ModelTable::place_of(std::string_view column) const {
  return {.where = file_.native(), .column = column, .first_row = batch_.first_row(), .ids = ids_};
}

void ModelTable::read_labels() {
  const MatrixView numbers = batch_.numbers();
  groups_.clear();
  clusters_.clear();
  std::size_t end = numbers.columns();  // the columns of groups are the last ones before that of clusters
  if (reads(Role::kCluster)) {
    end = cluster_column_.append(numbers, end, clusters_);
    check_cells(Role::kCluster, clusters_, place_of(model_.parts().columns[Role::kCluster]));
  }
  if (!reads(Role::kGroup)) return;
  group_column_.append(numbers, end, groups_);
  if (use_ == RowUse::kCalibrate) {
    check_cells(Role::kGroup, groups_, place_of(model_.parts().columns[Role::kGroup]));
  } else {
    for (const std::int64_t group : groups_) found_groups_.count(group);
  }
}

Rows ModelTable::rows() const {
  const MatrixView numbers = batch_.numbers();
  Rows rows;
  rows.x = {numbers.data(), numbers.rows(), model_.parts().features.size(), numbers.stride()};
  if (prediction_count_ > 0) rows.predictions = prediction_count_ == 1 ? columns_.front().values : predictions_;
  rows.groups = groups_;
  rows.clusters = clusters_;
  rows.ids = ids_;
  rows.first_row = batch_.first_row();
  if (use_ == RowUse::kCalibrate) rows.labels = &labels_;
  if (reads(Role::kWeight)) rows.weights = column(model_.parts().columns[Role::kWeight]);
  return rows;
}

std::span<const double> ModelTable::column(const std::string& name) const {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const Column& column) { return column.name == name; });
  return found->values;
}

Model with_guarantee(const Model& model, const std::string& guarantee) {
  return guarantee.empty() ? model : model.with_guarantee(parse_guarantee(guarantee));
}

Model load_with_guarantee(const std::string& file, const std::string& guarantee) {
  return with_guarantee(load(file), guarantee);
}

Model for_rows_of(const Model& model, const std::string& population, bool replace) {
  return model_for_rows_of(model, population.empty() ? std::nullopt : std::optional(population_of(population)),
                           replace);
}

bool warn_of_no_calibration(const Model& model) {
  const std::string why = model.uncalibrated();
  if (!why.empty()) warn(why + ": 'widthwise calibrate'");
  return !why.empty();
}

const std::string& target_of(const Model& model) {
  const std::string& target = model.parts().target;
  if (target.empty()) {
    throw Error(ErrorCode::kBadData, "the model has no target column");
  }
  return target;
}

}  // namespace widthwise::cli
