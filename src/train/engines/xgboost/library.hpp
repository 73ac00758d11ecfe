#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <widthwise/train/xgboost.hpp>

namespace widthwise {

/// The functions of XGBoost's C API that are used here, as its documentation declares them. Handles are opaque
/// pointers; every function returns 0 or leaves a text for XGBGetLastError of the same thread.
struct XgboostLibrary::Functions {
  using Handle = void*;
  using Size = std::uint64_t;  // bst_ulong

  // NOLINTBEGIN(readability-identifier-naming): the names are XGBoost's
  void (*XGBoostVersion)(int* major, int* minor, int* patch);
  const char* (*XGBGetLastError)();
  int (*XGDMatrixCreateFromDense)(const char* data, const char* config, Handle* out);
  int (*XGDMatrixSetInfoFromInterface)(Handle matrix, const char* field, const char* data);
  int (*XGDMatrixSetStrFeatureInfo)(Handle matrix, const char* field, const char** texts, Size count);
  int (*XGDMatrixFree)(Handle matrix);
  int (*XGBoosterCreate)(const Handle* matrices, Size count, Handle* out);
  int (*XGBoosterFree)(Handle booster);
  int (*XGBoosterSetParam)(Handle booster, const char* name, const char* value);
  int (*XGBoosterBoostedRounds)(Handle booster, int* out);
  int (*XGBoosterTrainOneIter)(Handle booster, Handle matrix, int iteration, const char* gradient, const char* hessian);
  int (*XGBoosterPredictFromDMatrix)(Handle booster, Handle matrix, const char* config, const Size** shape,
                                     Size* dimensions, const float** out);
  int (*XGBoosterSaveModelToBuffer)(Handle booster, const char* config, Size* length, const char** out);
  int (*XGBRegisterLogCallback)(void (*callback)(const char* text));
  int (*XGBSetGlobalConfig)(const char* config);
  int (*XGTrackerCreate)(const char* config, Handle* out);
  int (*XGTrackerRun)(Handle tracker, const char* config);
  int (*XGTrackerWaitFor)(Handle tracker, const char* config);
  int (*XGTrackerFree)(Handle tracker);
  int (*XGCommunicatorInit)(const char* config);
  int (*XGCommunicatorFinalize)();
  int (*XGCommunicatorAllreduce)(void* values, std::size_t count, int type, int operation);
  int (*XGCommunicatorBroadcast)(void* bytes, std::size_t count, int root);
  // NOLINTEND(readability-identifier-naming)

  std::filesystem::path path;
  std::string version;

  /// The last error message of XGBoost, without the time, the source location and the stack.
  [[nodiscard]] std::string last_error() const;

  /// Throw the last error unless the status is 0: kLostWorker for network errors, else kInvalidArgument.
  void check(int status, const std::string& what) const;
};

}  // namespace widthwise
