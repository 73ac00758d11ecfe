#include "train/engines/threads/waiting.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <latch>
#include <string>
#include <string_view>
#include <thread>

#include <widthwise/train/threads.hpp>

namespace widthwise::internal {
namespace {

using Parallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);

/// Whether the user has configured how threads wait.
bool waiting_is_set() {
  constexpr const char* kVariables[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};
  return std::any_of(std::begin(kVariables), std::end(kVariables),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

bool is_openmp_runtime(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libgomp") || name.starts_with("libomp") || name.starts_with("libiomp");
}

/// The OpenMP runtimes in this process. There can be several, because Python packages contain their own copies.
std::vector<std::string> openmp_runtimes() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (is_openmp_runtime(info->dlpi_name)) {
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  return paths;
}

template <class Function>
Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

bool openmp_is_loaded() noexcept {
  return dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void*) { return is_openmp_runtime(info->dlpi_name) ? 1 : 0; },
             nullptr) != 0;
}

/// An idle thread team of libgomp.
class PassiveWaiting::IdleTeam {
 public:
  IdleTeam(Parallel parallel, std::size_t threads)
      : owner_([this, parallel, threads] {
          parallel([](void*) {}, nullptr, static_cast<unsigned>(threads), 0);
          started_.count_down();
          done_.wait();
        }) {
    started_.wait();
  }
  ~IdleTeam() {
    done_.count_down();
    owner_.join();
  }
  IdleTeam(const IdleTeam&) = delete;
  IdleTeam& operator=(const IdleTeam&) = delete;

 private:
  std::latch started_{1};
  std::latch done_{1};
  std::thread owner_;  // declared after the members it uses
};

PassiveWaiting::PassiveWaiting(std::size_t threads) {
  if (threads <= 1 || waiting_is_set()) return;
  for (const std::string& path : openmp_runtimes()) {
    // The runtime stays loaded, because its other users hold it.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const auto set_blocktime = function_of<void (*)(int)>(library, "kmp_set_blocktime");
    const auto get_blocktime = function_of<int (*)()>(library, "kmp_get_blocktime");
    const auto parallel = function_of<Parallel>(library, "GOMP_parallel");
    const auto processors = function_of<int (*)()>(library, "omp_get_num_procs");
    if (set_blocktime != nullptr && get_blocktime != nullptr) {
      restore_.emplace_back([set_blocktime, before = get_blocktime()] { set_blocktime(before); });
      set_blocktime(0);
    } else if (parallel != nullptr && processors != nullptr) {
      // libgomp counts the training team and the idle one, but not the thread that owns the idle one.
      const auto limit = static_cast<std::size_t>(std::max(1, processors()));
      const std::size_t idle = threads > limit ? 0 : limit - threads + 2;
      // libgomp ends the process if it cannot start one of the threads of both.
      if (idle > 0 && can_start_threads(idle + threads - 1))
        idle_.push_back(std::make_unique<IdleTeam>(parallel, idle));
    }
    dlclose(library);
  }
}

PassiveWaiting::~PassiveWaiting() {
  for (const auto& restore : restore_) restore();
}

}  // namespace widthwise::internal
