#include <widthwise/train/registry.hpp>

#include <algorithm>
#include <utility>

#include <widthwise/error.hpp>
#include <widthwise/train/trainer_options.hpp>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "train/option_fields.hpp"

namespace widthwise {
namespace {

using Field = OptionTable<TrainerOptions>::Field;

constexpr const char* kXgboost = "WIDTHWISE_XGBOOST";
constexpr const char* kTorch = "WIDTHWISE_TORCH";
constexpr const char* kTrees = "gradient-boosted trees (XGBoost)";

/// The entry of a trainer with these default options.
template <class Options>
TrainerEntry entry(TrainerKind kind, std::string name, std::string help, std::string engine,
                   const Options& defaults = {}) {
  TrainerEntry entry{.kind = kind, .name = std::move(name), .help = std::move(help), .engine = std::move(engine)};
  for (OptionInfo info : Options::table().infos()) {
    if (info.name == "threads" || info.name == "seed") continue;
    info.default_value = Options::table().get(defaults, info.name);
    entry.options.push_back(std::move(info));
  }
  entry.settings = [defaults, name = entry.name, known = entry.options](const OptionValues& values) {
    Options options = defaults;
    for (const auto& [option, text] : values) {
      if (option == "threads" || option == "seed") throw_unknown_option(option, known);
      Options::table().set(options, option, text);
    }
    return options.to_string();
  };
  return entry;
}

/// Trees are trained by several workers, and take categories.
template <class Options>
TrainerEntry trees_entry(TrainerKind kind, std::string name, std::string help, const Options& defaults = {}) {
  TrainerEntry trees = entry<Options>(kind, std::move(name), std::move(help), kXgboost, defaults);
  trees.distributed = true;
  trees.takes_categories = true;
  return trees;
}

std::vector<TrainerEntry>& entries() {
  static std::vector<TrainerEntry> all = {
      trees_entry<TreeBaseOptions>(TrainerKind::kBase, "trees", kTrees),
      trees_entry(TrainerKind::kBase, "quantiles", "a lower and an upper quantile, as gradient-boosted trees (XGBoost)",
                  TreeBaseOptions::quantiles()),
      trees_entry<TreeOptions>(TrainerKind::kLocalizer, "trees", kTrees),
      entry<NetOptions>(TrainerKind::kLocalizer, "net", "fully connected network (PyTorch)", kTorch),
      entry(TrainerKind::kLocalizer, "paper-net", "network and training of the paper (PyTorch)", kTorch,
            NetOptions::paper()),
  };
  return all;
}

TrainerEntry& mutable_trainer(TrainerKind kind, std::string_view name) {
  std::vector<std::string> names;
  for (TrainerEntry& entry : entries()) {
    if (entry.kind != kind) continue;
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  const std::string near = internal::nearest_name(name, names);
  throw Error(ErrorCode::kInvalidArgument, std::string(name_of(kind)) + " is '" + internal::printable(name) +
                                               "'; expected " + internal::listed(names) +
                                               (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

/// Available trainers of this kind, as advice for an error.
std::string alternatives(TrainerKind kind) {
  std::vector<std::string> names;
  for (const TrainerEntry& entry : entries()) {
    if (entry.kind == kind && (entry.make_base || entry.make_localizer)) names.push_back(entry.name);
  }
  if (names.empty()) return "";
  return " or use the " + std::string(name_of(kind)) + " " + internal::listed(names);
}

[[noreturn]] void throw_missing(const TrainerEntry& entry) {
  throw Error(ErrorCode::kMissingEngine, "the " + std::string(name_of(entry.kind)) + " '" + entry.name +
                                             "' is not in this build; configure with -D" + entry.engine + "=ON" +
                                             alternatives(entry.kind));
}

WorkerEngine& mutable_worker_engine() {
  static WorkerEngine engine;
  return engine;
}

/// "trees: learning_rate, max_depth; net: hidden". Trainers with the same options share them.
std::string options_by_trainer(TrainerKind kind) {
  std::vector<std::pair<std::string, std::string>> all;  // options, trainers
  for (const TrainerEntry& entry : entries()) {
    if (entry.kind != kind) continue;
    std::vector<std::string> names;
    for (const OptionInfo& info : entry.options) names.push_back(info.name);
    const std::string options = internal::joined(names, ", ");
    const auto same = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.first == options; });
    if (same == all.end()) {
      all.emplace_back(options, entry.name);
    } else {
      same->second += ", " + entry.name;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [options, names] : all) parts.push_back(fmt::format("{}: {}", names, options));
  return internal::joined(parts, "; ");
}

/// A field that holds the options of a trainer.
Field values_field(TrainerKind kind, OptionValues TrainerOptions::* member) {
  const std::string name(name_of(kind));
  return {{.name = name + "_options",
           .form = "NAME=VALUE,...",
           .expected = "options as NAME=VALUE, such as learning_rate=0.1,max_depth=3",
           .help = fmt::format("options for training the {} ({})", kind == TrainerKind::kBase ? "base model" : name,
                               options_by_trainer(kind))},
          [=](TrainerOptions& options, std::string_view text) {
            options.*member = parse_option_values(text);
            return true;
          },
          [=](const TrainerOptions& options) { return to_string(options.*member); }};
}

Field name_field(TrainerKind kind, std::string TrainerOptions::* member, bool may_be_none, std::string help) {
  std::vector<std::string> names = trainer_names(kind);
  if (may_be_none) names.insert(names.begin(), "none");
  return {{.name = std::string(name_of(kind)),
           .form = internal::joined(names, "|"),
           .expected = internal::listed(names),
           .help = std::move(help)},
          [=](TrainerOptions& options, std::string_view text) {
            const bool none = may_be_none && text == "none";
            options.*member = none ? "" : find_trainer(kind, text).name;
            return true;
          },
          [=](const TrainerOptions& options) {
            return may_be_none && (options.*member).empty() ? "none" : options.*member;
          }};
}

}  // namespace

std::string_view name_of(TrainerKind kind) { return kind == TrainerKind::kBase ? "base" : "localizer"; }

std::span<const TrainerEntry> trainers() { return entries(); }

std::vector<std::string> trainer_names(TrainerKind kind) {
  std::vector<std::string> names;
  for (const TrainerEntry& entry : entries()) {
    if (entry.kind == kind) names.push_back(entry.name);
  }
  return names;
}

const TrainerEntry& find_trainer(TrainerKind kind, std::string_view name) { return mutable_trainer(kind, name); }

std::unique_ptr<const BaseTrainer> make_base_trainer(std::string_view name, const TrainerRequest& request) {
  const TrainerEntry& entry = find_trainer(TrainerKind::kBase, name);
  if (!entry.make_base) throw_missing(entry);
  (void)entry.settings(request.options);
  return entry.make_base(request);
}

std::unique_ptr<const LocalizerTrainer> make_localizer_trainer(std::string_view name, const TrainerRequest& request) {
  const TrainerEntry& entry = find_trainer(TrainerKind::kLocalizer, name);
  if (!entry.make_localizer) throw_missing(entry);
  (void)entry.settings(request.options);
  return entry.make_localizer(request);
}

void provide_base_trainer(std::string_view name,
                          std::function<std::unique_ptr<const BaseTrainer>(const TrainerRequest&)> make) {
  mutable_trainer(TrainerKind::kBase, name).make_base = std::move(make);
}

void provide_localizer_trainer(std::string_view name,
                               std::function<std::unique_ptr<const LocalizerTrainer>(const TrainerRequest&)> make) {
  mutable_trainer(TrainerKind::kLocalizer, name).make_localizer = std::move(make);
}

void provide_worker_engine(WorkerEngine engine) { mutable_worker_engine() = std::move(engine); }

const WorkerEngine& worker_engine() {
  if (mutable_worker_engine().join) return mutable_worker_engine();
  throw Error(ErrorCode::kMissingEngine, std::string("this build cannot connect workers; configure with -D") +
                                             kXgboost +
                                             "=ON, or fit in one "
                                             "process");
}

const OptionTable<TrainerOptions>& TrainerOptions::table() {
  static const OptionTable<TrainerOptions> kAll = [] {
    auto threads = internal::threads_field(&TrainerOptions::threads);
    threads.info.help =
        "training threads; 0: by the size of the table, at most the number of processors this process may use";
    Field xgboost{
        {.name = "xgboost",
         .form = "FILE",
         .expected = "a file",
         .help = "XGBoost's library file; default: $WIDTHWISE_XGBOOST, or that of the xgboost package of python3",
         .in_key = false},
        [](TrainerOptions& options, std::string_view text) {
          options.xgboost = text;
          return true;
        },
        [](const TrainerOptions& options) { return options.xgboost; }};
    std::vector<Field> fields;
    internal::add_group(fields, "Data",
                        {name_field(TrainerKind::kBase, &TrainerOptions::base, true,
                                    "base model to train instead of given predictions"),
                         values_field(TrainerKind::kBase, &TrainerOptions::base_options)});
    internal::add_group(
        fields, "Training",
        {name_field(TrainerKind::kLocalizer, &TrainerOptions::localizer, false, "trainer of the localizer"),
         values_field(TrainerKind::kLocalizer, &TrainerOptions::localizer_options), threads, xgboost});
    return OptionTable<TrainerOptions>(std::move(fields));
  }();
  return kAll;
}

std::unique_ptr<const LocalizerTrainer> make_classifier_trainer(const TrainerOptions& options, std::uint64_t seed) {
  return make_localizer_trainer("trees", {.options = {{"learning_rate", "0.1"},
                                                      {"max_depth", "3"},
                                                      {"min_child_weight", "10"},
                                                      {"lambda", "10"},
                                                      {"max_rounds", "500"}},
                                          .threads = options.threads,
                                          .seed = seed,
                                          .library = options.xgboost});
}

Trainers make_trainers(const TrainerOptions& options, std::uint64_t seed, bool with_localizer,
                       const TrainingContext& context) {
  TrainerOptions::table().check(options);
  if (options.base.empty() && !options.base_options.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "base_options is '" + to_string(options.base_options) + "' but no base model is trained here");
  }
  TrainerRequest request{.threads = options.threads, .seed = seed, .library = options.xgboost, .context = context};
  Trainers trainers;
  if (!options.base.empty()) {
    request.options = options.base_options;
    trainers.base = make_base_trainer(options.base, request);
  }
  if (with_localizer) {
    request.options = options.localizer_options;
    trainers.localizer = make_localizer_trainer(options.localizer, request);
  } else {
    (void)find_trainer(TrainerKind::kLocalizer, options.localizer).settings(options.localizer_options);
  }
  return trainers;
}

}  // namespace widthwise
