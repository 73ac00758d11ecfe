#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <widthwise/error.hpp>

namespace widthwise {

/// What the Error says that the action throws; it must be of this code.
[[nodiscard]] inline std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace widthwise
