#include <widthwise/score.hpp>

#include <string>

#include <widthwise/error.hpp>

#include "message.hpp"

namespace widthwise {

std::string_view name_of(Score score) {
  switch (score) {
    case Score::kSquared:
      return "squared";
    case Score::kAbsolute:
      return "absolute";
    case Score::kLog:
      return "log";
  }
  throw internal::make_error(ErrorCode::kInvalidArgument, "name_of: invalid score {}", static_cast<int>(score));
}

Score score_of(std::string_view name) {
  for (const Score score : {Score::kSquared, Score::kAbsolute, Score::kLog}) {
    if (name_of(score) == name) return score;
  }
  throw internal::make_error(ErrorCode::kInvalidArgument, "unknown score '{}': expected squared, absolute or log",
                             name);
}

}  // namespace widthwise
