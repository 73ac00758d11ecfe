#pragma once

#include <memory>

#include <widthwise/train/xgboost.hpp>

namespace widthwise {

/// XGBoost, loaded once for all tests.
inline std::shared_ptr<const XgboostLibrary> library() {
  static const auto kLibrary = XgboostLibrary::load();
  return kLibrary;
}

}  // namespace widthwise
