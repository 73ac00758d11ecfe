#include <widthwise/score.hpp>

#include <string>

#include <widthwise/error.hpp>

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
  throw Error(ErrorCode::kInvalidArgument, "name_of: not a score: " + std::to_string(static_cast<int>(score)));
}

Score score_of(std::string_view name) {
  for (const Score score : {Score::kSquared, Score::kAbsolute, Score::kLog}) {
    if (name_of(score) == name) return score;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "unknown score '" + std::string(name) + "': expected squared, absolute or log");
}

}  // namespace widthwise
