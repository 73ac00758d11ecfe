#pragma once

#include <functional>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <widthwise/error.hpp>

namespace widthwise {

/// The Error that the action throws, or nothing.
[[nodiscard]] inline std::optional<Error> error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The message of the Error that the action throws, which must have this code.
[[nodiscard]] inline std::string message_of(const std::function<void()>& action, ErrorCode code) {
  const std::optional<Error> error = error_of(action);
  if (!error.has_value()) {
    ADD_FAILURE() << "no error";
    return "";
  }
  EXPECT_EQ(error->code(), code) << error->what();
  return error->what();
}

/// Expect an Error with this code and exactly this message.
inline void expect_message(ErrorCode code, const std::string& message, const std::function<void()>& action) {
  EXPECT_EQ(message_of(action, code), message);
}

/// Expect an Error with this code whose message contains `part`.
inline void expect_error(ErrorCode code, const std::string& part, const std::function<void()>& action) {
  SCOPED_TRACE("expected: " + part);
  const std::string message = message_of(action, code);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace widthwise
