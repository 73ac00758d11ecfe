#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include <widthwise/train/registry.hpp>
#include <widthwise/train/torch.hpp>
#include <widthwise/train/xgboost.hpp>

#include "support/errors.hpp"
#include "support/field_count.hpp"

namespace widthwise {
namespace {

std::string registry_complaint(const std::function<void()>& action) {
  return message_of(action, ErrorCode::kInvalidArgument);
}

template <class Options>
void expect_every_field_described() {
  EXPECT_EQ(field_count<Options>(), Options::table().fields().size()) << "describe the new field in table()";
}

TEST(TrainerOptions, EveryFieldIsDescribed) {
  expect_every_field_described<TrainerOptions>();
  expect_every_field_described<TreeOptions>();
  expect_every_field_described<TreeBaseOptions>();
  expect_every_field_described<NetOptions>();
}

/// A valid value that is not the default.
std::string other_value(const OptionInfo& info) {
  if (info.form == "true|false") return info.default_value == "true" ? "false" : "true";
  const std::string value = info.form == "N" ? "7" : info.name == "retrain_factor" ? "2" : "0.625";
  EXPECT_NE(value, info.default_value) << info.name;
  return value;
}

TEST(Registry, EveryOptionIsInTheCheckpointKey) {
  for (const TrainerEntry& entry : trainers()) {
    const std::string by_default = entry.settings({});
    for (const OptionInfo& info : entry.options) {
      EXPECT_NE(entry.settings({{info.name, other_value(info)}}), by_default) << entry.name << " " << info.name;
      EXPECT_EQ(entry.settings({{info.name, info.default_value}}), by_default) << entry.name << " " << info.name;
    }
  }
}

TEST(Registry, TheChoiceOfTrainersIsInTheCheckpointKey) {
  const std::map<std::string, std::string> values = {{"base", "trees"},    {"base_options", "rounds=7"},
                                                     {"localizer", "net"}, {"localizer_options", "width=7"},
                                                     {"threads", "7"},     {"xgboost", "file"}};
  for (const OptionInfo& info : TrainerOptions::table().infos()) {
    TrainerOptions options;
    TrainerOptions::table().set(options, info.name, values.at(info.name));
    EXPECT_EQ(TrainerOptions::table().get(options, info.name), values.at(info.name));
    EXPECT_EQ(options.to_string() != TrainerOptions().to_string(), info.in_key) << info.name;
  }
}

TEST(Registry, NamesAndOptionsAreChecked) {
  EXPECT_EQ(registry_complaint([] { (void)make_base_trainer("tree"); }),
            "base is 'tree'; expected trees or quantiles; did you mean 'trees'?");
  const TrainerEntry& trees = find_trainer(TrainerKind::kBase, "trees");
  EXPECT_EQ(registry_complaint([&] { (void)trees.settings({{"round", "5"}}); }),
            "unknown option 'round'; did you mean 'rounds'?");
  EXPECT_EQ(registry_complaint([&] { (void)trees.settings({{"rounds", "0"}}); }),
            "rounds is '0'; expected a whole number of at least 1");
  EXPECT_NE(registry_complaint([&] { (void)trees.settings({{"seed", "1"}}); }).find("unknown option 'seed'; expected "),
            std::string::npos);
  TrainerOptions options;
  options.base_options = {{"rounds", "5"}};
  EXPECT_EQ(registry_complaint([&] { (void)make_trainers(options, 0, false); }),
            "base_options is 'rounds=5' but no base model is trained here");
}

TEST(Registry, AnEngineThatIsNotThereIsNamed) {
  // Nothing registers an engine in this program.
  EXPECT_EQ(message_of([] { (void)make_base_trainer("trees"); }, ErrorCode::kMissingEngine),
            "the base 'trees' is not in this build; configure with -DWIDTHWISE_XGBOOST=ON");
  EXPECT_EQ(message_of([] { (void)make_localizer_trainer("net"); }, ErrorCode::kMissingEngine),
            "the localizer 'net' is not in this build; configure with -DWIDTHWISE_TORCH=ON");
  EXPECT_EQ(message_of([] { (void)worker_engine(); }, ErrorCode::kMissingEngine),
            "this build cannot connect workers; configure with -DWIDTHWISE_XGBOOST=ON, or fit in one process");
}

}  // namespace
}  // namespace widthwise
