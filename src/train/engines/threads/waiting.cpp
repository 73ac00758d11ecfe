#include "train/engines/threads/waiting.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <widthwise/train/threads.hpp>

namespace widthwise::internal {
namespace {

bool is_libgomp(const dl_phdr_info& library) {
  const std::string_view path = library.dlpi_name;
  return path.substr(path.rfind('/') + 1).starts_with("libgomp");
}

std::vector<std::string> loaded_libgomps() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* out) {
        if (is_libgomp(*library)) static_cast<std::vector<std::string>*>(out)->emplace_back(library->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

/// Start idle threads in this libgomp, so that it manages more threads than processors while a team of `threads`
/// trains. They end with the calling thread.
void start_idle_threads(const std::string& path, std::size_t threads) {
  // It stays loaded after dlclose, because its other users hold it.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  using Parallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
  const auto parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  const auto processors = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_num_procs"));
  if (parallel != nullptr && processors != nullptr) {
    // libgomp counts the training team and the idle one, but not the thread that owns the idle one.
    const auto limit = static_cast<std::size_t>(std::max(1, processors()));
    const std::size_t idle = threads > limit ? 0 : limit - threads + 2;
    // libgomp ends the process if it cannot start one of the threads of both.
    if (idle > 0 && can_start_threads(idle + threads - 1)) {
      parallel([](void*) {}, nullptr, static_cast<unsigned>(idle), 0);
    }
  }
  dlclose(library);
}

}  // namespace

bool libgomp_is_loaded() noexcept {
  return dl_iterate_phdr([](dl_phdr_info* library, std::size_t, void*) { return is_libgomp(*library) ? 1 : 0; },
                         nullptr) != 0;
}

PassiveWaiting::PassiveWaiting(std::size_t threads) {
  if (threads <= 1 || std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  owner_ = std::thread([this, threads, libraries = loaded_libgomps()] {
    for (const std::string& path : libraries) start_idle_threads(path, threads);
    started_.count_down();
    done_.wait();
  });
  started_.wait();
}

PassiveWaiting::~PassiveWaiting() {
  done_.count_down();
  if (owner_.joinable()) owner_.join();
}

}  // namespace widthwise::internal
