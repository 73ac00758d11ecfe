#include <widthwise/score.hpp>

#include <array>
#include <string>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "base/names.hpp"

namespace widthwise {

namespace {

constexpr auto kNames = std::to_array<internal::Named<Score>>({
    {Score::kSquared, "squared"},
    {Score::kAbsolute, "absolute"},
    {Score::kLog, "log"},
});

}  // namespace

std::string_view name_of(Score score) {
  if (const std::string_view name = internal::name_in(kNames, score); !name.empty()) return name;
  throw internal::make_error(ErrorCode::kInvalidArgument, "name_of: invalid score {}", static_cast<int>(score));
}

Score score_of(std::string_view name) {
  if (const auto score = internal::value_in(kNames, name)) return *score;
  throw internal::make_error(ErrorCode::kInvalidArgument, "unknown score '{}': expected squared, absolute or log",
                             name);
}

}  // namespace widthwise
