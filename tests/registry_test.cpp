#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include <widthwise/train/knn.hpp>
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
  expect_every_field_described<KnnOptions>();
}

/// A valid value that is not the default.
std::string other_value(const OptionInfo& info) {
  if (info.form == "true|false") return info.default_value == "true" ? "false" : "true";
  if (info.form == "K,...") return "3,5";
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
  const std::map<std::string, std::string> values = {{"base", "knn"},      {"base_options", "max_rows=7"},
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
  EXPECT_EQ(registry_complaint([] { (void)make_base_trainer("kn"); }),
            "base is 'kn'; expected trees, quantiles or knn; did you mean 'knn'?");
  EXPECT_EQ(registry_complaint([] { (void)make_base_trainer("knn", {.options = {{"max_row", "5"}}}); }),
            "unknown option 'max_row'; did you mean 'max_rows'?");
  EXPECT_EQ(registry_complaint([] { (void)make_base_trainer("knn", {.options = {{"max_rows", "1"}}}); }),
            "max_rows is '1'; expected 0, or a whole number of at least 2");
  EXPECT_EQ(registry_complaint([] { (void)make_base_trainer("knn", {.options = {{"seed", "1"}}}); }),
            "unknown option 'seed'; expected candidates, holdout_fraction or max_rows");
  TrainerOptions options;
  options.base_options = {{"max_rows", "5"}};
  EXPECT_EQ(registry_complaint([&] { (void)make_trainers(options, 0, false); }),
            "base_options is 'max_rows=5' but no base model is trained here");
  EXPECT_NE(make_base_trainer("knn", {.options = {{"max_rows", "5"}}, .seed = 3})->settings().find("max_rows=5 seed=3"),
            std::string::npos);
}

TEST(Registry, AnEngineThatIsNotThereIsNamed) {
  // Nothing registers an engine in this program.
  EXPECT_EQ(message_of([] { (void)make_base_trainer("trees"); }, ErrorCode::kMissingEngine),
            "the base 'trees' is not in this build; configure with -DWIDTHWISE_XGBOOST=ON or use the base knn");
  EXPECT_EQ(message_of([] { (void)make_localizer_trainer("net"); }, ErrorCode::kMissingEngine),
            "the localizer 'net' is not in this build; configure with -DWIDTHWISE_TORCH=ON");
  EXPECT_EQ(message_of([] { (void)worker_engine(); }, ErrorCode::kMissingEngine),
            "this build cannot connect workers; configure with -DWIDTHWISE_XGBOOST=ON, or fit in one process");
}

}  // namespace
}  // namespace widthwise
