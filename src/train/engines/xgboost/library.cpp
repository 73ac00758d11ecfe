#include "train/engines/xgboost/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>
#include <string_view>
#include <vector>

#include <widthwise/error.hpp>

#include "base/message.hpp"

namespace widthwise {
namespace {

constexpr const char* kVariable = "WIDTHWISE_XGBOOST";
constexpr int kMajor = 3;

/// The XGBoost that is already in this process. A Python process that imported xgboost has one, and a second copy would
/// not share its communicator.
std::filesystem::path loaded_library() {
  std::filesystem::path found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::filesystem::path path(info->dlpi_name);
        if (!path.filename().string().starts_with("libxgboost.so")) return 0;
        *static_cast<std::filesystem::path*>(out) = path;
        return 1;
      },
      &found);
  return found;
}

/// The output of a shell command, without line ends.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return {};
  std::string output;
  std::array<char, 256> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) output.append(buffer.data(), n);
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

/// A text as one word of the shell.
std::string shell_word(std::string_view text) {
  std::string quoted;
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return fmt::format("'{}'", quoted);
}

/// PYTHONPATH without its empty entries, as an assignment for the shell; empty if it has none. Empty entries mean the
/// current folder and result from `PYTHONPATH=$PYTHONPATH:/folder` if the variable was not set.
std::string python_path_without_current_folder() {
  const char* variable = std::getenv("PYTHONPATH");
  if (variable == nullptr) return {};
  std::string kept;
  std::istringstream parts(variable);
  for (std::string part; std::getline(parts, part, ':');) {
    if (!part.empty()) kept += (kept.empty() ? "" : ":") + part;
  }
  if (kept == variable) return {};
  return fmt::format("PYTHONPATH={} ", shell_word(kept));
}

/// python3 in the first absolute folder of the PATH that has one; empty if there is none. Empty and relative entries
/// mean the current folder or one below it, whose programs must not be run.
std::filesystem::path python_on_path() {
  const char* variable = std::getenv("PATH");
  std::istringstream folders(variable == nullptr ? "" : variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / "python3";
    if (program.is_absolute() && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

/// The library in the `xgboost` package of a python3. The package is located without
/// importing it. `-c` puts the current folder at the front of sys.path; it is removed before anything else is imported
/// (sys is built in), so that nothing in the folder is run.
std::filesystem::path python_library(const std::filesystem::path& python) {
  if (!python.is_absolute()) return {};
  const std::string output = output_of(
      fmt::format("{}{} -c \"import sys; sys.path[:] = [p for p in sys.path if p]; import importlib.util as u; s = "
                  "u.find_spec('xgboost'); print(s.submodule_search_locations[0] if s else '')\" 2>/dev/null",
                  python_path_without_current_folder(), shell_word(python.string())));
  if (output.empty()) return {};
  const auto library = std::filesystem::path(output) / "lib" / "libxgboost.so";
  std::error_code ignored;
  return std::filesystem::exists(library, ignored) ? library : std::filesystem::path();
}

/// The library of the user's python3: that of the active virtual environment, else the one on the PATH. A shim at the
/// front of the PATH, such as pyenv's, may start another Python.
std::filesystem::path python_library() {
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment != nullptr) {
    const std::filesystem::path folder(environment);
    if (auto found = python_library(folder / "bin" / "python3"); !found.empty()) return found;
  }
  return python_library(python_on_path());
}

std::filesystem::path find_library(const std::filesystem::path& path) {
  if (!path.empty()) return path;
  if (const char* variable = std::getenv(kVariable); variable != nullptr && *variable != '\0') return variable;
  if (auto found = loaded_library(); !found.empty()) return found;
  if (auto found = python_library(); !found.empty()) return found;
  throw internal::make_error(
      ErrorCode::kMissingEngine,
      "XGBoost not found: no path given, {} is not set, and neither the active virtual environment nor python3 on the "
      "PATH has the package xgboost; run `pip install xgboost-cpu==3.2.0`, or set the path of libxgboost.so",
      kVariable);
}

template <class Function>
void bind(void* library, const std::filesystem::path& path, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  if (out == nullptr) {
    throw internal::make_error(
        ErrorCode::kMissingEngine,
        "{}: no function {}; expected the library of XGBoost {} (`pip install xgboost-cpu==3.2.0`)", path.string(),
        name, kMajor);
  }
}

}  // namespace

XgboostLibrary::XgboostLibrary() : functions_(std::make_unique<Functions>()) {}
XgboostLibrary::~XgboostLibrary() = default;

std::shared_ptr<const XgboostLibrary> XgboostLibrary::load(const std::filesystem::path& path) {
  const std::filesystem::path file = find_library(path);
  // Never closed, because its thread pool and thread-local caches outlive any use.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw Error(ErrorCode::kMissingEngine, "XGBoost cannot be loaded: " + std::string(dlerror()));
  }
  std::shared_ptr<XgboostLibrary> library(new XgboostLibrary());
  Functions& f = *library->functions_;
  f.path = file;
#define WIDTHWISE_BIND(name) bind(handle, file, #name, f.name)
  WIDTHWISE_BIND(XGBoostVersion);
  WIDTHWISE_BIND(XGBGetLastError);
  WIDTHWISE_BIND(XGDMatrixCreateFromDense);
  WIDTHWISE_BIND(XGDMatrixSetInfoFromInterface);
  WIDTHWISE_BIND(XGDMatrixSetStrFeatureInfo);
  WIDTHWISE_BIND(XGDMatrixFree);
  WIDTHWISE_BIND(XGBoosterCreate);
  WIDTHWISE_BIND(XGBoosterFree);
  WIDTHWISE_BIND(XGBoosterSetParam);
  WIDTHWISE_BIND(XGBoosterBoostedRounds);
  WIDTHWISE_BIND(XGBoosterTrainOneIter);
  WIDTHWISE_BIND(XGBoosterPredictFromDMatrix);
  WIDTHWISE_BIND(XGBoosterSaveModelToBuffer);
  WIDTHWISE_BIND(XGBRegisterLogCallback);
  WIDTHWISE_BIND(XGBSetGlobalConfig);
  WIDTHWISE_BIND(XGTrackerCreate);
  WIDTHWISE_BIND(XGTrackerRun);
  WIDTHWISE_BIND(XGTrackerWaitFor);
  WIDTHWISE_BIND(XGTrackerFree);
  WIDTHWISE_BIND(XGCommunicatorInit);
  WIDTHWISE_BIND(XGCommunicatorFinalize);
  WIDTHWISE_BIND(XGCommunicatorAllreduce);
  WIDTHWISE_BIND(XGCommunicatorBroadcast);
#undef WIDTHWISE_BIND
  int major = 0;
  int minor = 0;
  int patch = 0;
  f.XGBoostVersion(&major, &minor, &patch);
  f.version = fmt::format("{}.{}.{}", major, minor, patch);
  if (major != kMajor) {
    throw internal::make_error(ErrorCode::kMissingEngine,
                               "{}: found XGBoost {}, expected {}.x (`pip install xgboost-cpu==3.2.0`)", file.string(),
                               f.version, kMajor);
  }
  return library;
}

std::string XgboostLibrary::Functions::last_error() const {
  std::string text = XGBGetLastError();
  if (const auto stack = text.find("Stack trace:"); stack != std::string::npos) text.resize(stack);
  // One line, or several of which the last is the cause. Each begins with a location in XGBoost's source:
  // "[14:53:24] /src/data.h:501: No rows" or "- [socket.cc:189|14:53:24]: Connection refused".
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (const auto line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
  if (text.starts_with('[') || text.starts_with("- [")) {
    if (const auto place = text.find(": "); place != std::string::npos) text.erase(0, place + 2);
  }
  return text;
}

void XgboostLibrary::Functions::check(int status, const std::string& what) const {
  if (status == 0) return;
  const std::string_view text = XGBGetLastError();
  for (const char* const failure : {"bad_alloc", "bad_malloc"}) {
    if (text.find(failure) != std::string_view::npos) throw std::bad_alloc();
  }
  if (text.find("/collective/") != std::string_view::npos) {
    throw internal::make_error(ErrorCode::kLostWorker, "lost another worker: {}: {}", what, last_error());
  }
  throw internal::make_error(ErrorCode::kInvalidArgument, "XGBoost: {}: {}", what, last_error());
}

const std::string& XgboostLibrary::version() const { return functions_->version; }
const std::filesystem::path& XgboostLibrary::path() const { return functions_->path; }

}  // namespace widthwise
