#include <widthwise/train/communicator.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include <widthwise/error.hpp>

#include "base/message.hpp"
#include "train/engines/xgboost/library.hpp"
#include "train/engines/xgboost/watchdog.hpp"

namespace widthwise {
namespace {

using Json = nlohmann::json;
using Functions = XgboostLibrary::Functions;
using Clock = std::chrono::steady_clock;

// XGBoost's codes for types and operations.
constexpr int kDouble = 2;
constexpr int kSum = 2;
constexpr int kSortByTask = 1;

/// Ranks follow the lexicographic order of task names.
std::string task_name(std::size_t rank) {
  const std::string digits = std::to_string(rank);
  return std::string(std::numeric_limits<std::size_t>::digits10 + 1 - digits.size(), '0') + digits;
}

std::string place_of(const CommunicatorOptions& options) { return fmt::format("{}:{}", options.host, options.port); }

std::string complaint(const CommunicatorOptions& options, const std::string& why) {
  return fmt::format("worker {} of {}: {}", options.rank, options.workers, why);
}

[[noreturn]] void refuse(const CommunicatorOptions& options, const std::string& why) {
  throw Error(ErrorCode::kLostWorker, complaint(options, why));
}

// Wait longer than XGBoost's own timeouts.
constexpr std::chrono::seconds kGrace(2);

/// The function to call if these timeouts do not apply.
std::function<void()> alarm_of(const CommunicatorOptions& options) {
  if (!options.stuck) return {};
  return [options] {
    options.stuck(
        complaint(options, fmt::format("lost another worker: no answer for {} s", (options.timeout + kGrace).count())));
  };
}

/// Retry until it succeeds; false after the timeout.
template <class Try>
bool persist(Clock::time_point until, const Try& attempt) {
  while (!attempt()) {
    constexpr auto kPause = std::chrono::milliseconds(200);
    if (Clock::now() + kPause >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

/// Writing to a lost worker raises SIGPIPE, which would end this process without a message.
void ignore_broken_pipes() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

/// Connects workers to each other, on a thread of XGBoost.
class Tracker {
 public:
  Tracker(const Functions& f, const CommunicatorOptions& options, Clock::time_point until)
      : f_(f), patience_(Json{{"timeout", options.timeout.count()}}.dump()) {
    const Json config = {{"dmlc_communicator", "rabit"}, {"n_workers", options.workers},
                         {"host", options.host},         {"port", options.port},
                         {"sortby", kSortByTask},        {"timeout", options.timeout.count()}};
    // A port that was recently in use is free again after a minute.
    if (!persist(until, [&] { return f.XGTrackerCreate(config.dump().c_str(), &handle_) == 0; })) {
      refuse(options, fmt::format("cannot listen at {}: {}", place_of(options), f.last_error()));
    }
    f.check(f.XGTrackerRun(handle_, "{}"), "tracker");
  }

  /// After all workers have left.
  void close() noexcept {
    f_.XGTrackerWaitFor(handle_, patience_.c_str());
    f_.XGTrackerFree(handle_);
  }

 private:
  const Functions& f_;
  std::string patience_;  // timeout as JSON for XGBoost
  Functions::Handle handle_ = nullptr;
};

class XgboostCommunicator final : public Communicator {
 public:
  XgboostCommunicator(std::shared_ptr<const XgboostLibrary> library, const CommunicatorOptions& options)
      : library_(std::move(library)), options_(options), dog_(options.timeout + kGrace, alarm_of(options)) {
    const Functions& f = library_->functions();
    ignore_broken_pipes();
    // Problems are reported as errors; silence XGBoost's messages about workers.
    f.XGBRegisterLogCallback([](const char*) {});
    f.XGBSetGlobalConfig(R"({"verbosity": 0})");
    const auto until = Clock::now() + options.timeout;
    if (options.rank == 0) tracker_ = std::make_unique<Tracker>(f, options, until);
    const Json config = {{"dmlc_communicator", "rabit"},
                         {"dmlc_tracker_uri", options.host},
                         {"dmlc_tracker_port", options.port},
                         {"dmlc_task_id", task_name(options.rank)},
                         {"dmlc_timeout", options.timeout.count()},
                         {"dmlc_retry", 1}};
    const auto connect = [&] {
      const internal::Watchdog::Wait wait(dog_);
      if (f.XGCommunicatorInit(config.dump().c_str()) == 0) return true;
      // The first worker may not be running yet. Once it is, it waits for the others.
      if (std::string(f.XGBGetLastError()).find("Failed to connect to the tracker") != std::string::npos) return false;
      refuse(options, fmt::format("not all workers connected to {} within {} s, or one disconnected: {}",
                                  place_of(options), options.timeout.count(), f.last_error()));
    };
    if (!persist(until, connect)) {
      refuse(options,
             fmt::format("worker 0 does not answer at {}: {}; start it there, or pass its address with --tracker",
                         place_of(options), f.last_error()));
    }
  }

  ~XgboostCommunicator() override {
    // Do not wait for lost workers to disconnect.
    if (broken_) return;
    const internal::Watchdog::Wait wait(dog_);
    library_->functions().XGCommunicatorFinalize();
    if (tracker_) tracker_->close();
  }

  void sum(std::span<double> values) const override {
    bytes_ += values.size_bytes();
    const internal::Watchdog::Wait wait(dog_);
    check(library_->functions().XGCommunicatorAllreduce(values.data(), values.size(), kDouble, kSum));
  }

  void broadcast(std::span<std::byte> bytes, std::size_t root) const override {
    if (root == options_.rank) bytes_ += bytes.size();
    const internal::Watchdog::Wait wait(dog_);
    check(library_->functions().XGCommunicatorBroadcast(bytes.data(), bytes.size(), static_cast<int>(root)));
  }

  void collectively(const std::function<void()>& call) const override {
    const internal::Watchdog::Wait wait(dog_);
    try {
      call();
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  [[nodiscard]] std::uint64_t bytes_shared() const override { return bytes_; }
  [[nodiscard]] std::size_t rank() const override { return options_.rank; }
  [[nodiscard]] std::size_t workers() const override { return options_.workers; }

 private:
  void check(int status) const {
    if (status == 0) return;
    broken_ = true;
    refuse(options_, "lost another worker: " + library_->functions().last_error());
  }

  std::shared_ptr<const XgboostLibrary> library_;
  CommunicatorOptions options_;
  std::unique_ptr<Tracker> tracker_;
  mutable internal::Watchdog dog_;
  mutable std::uint64_t bytes_ = 0;
  mutable bool broken_ = false;
};

}  // namespace

std::unique_ptr<const Communicator> join_workers(std::shared_ptr<const XgboostLibrary> library,
                                                 const CommunicatorOptions& options) {
  if (options.workers == 0 || options.rank >= options.workers) {
    throw internal::make_error(ErrorCode::kInvalidArgument, "workers: there is no worker {} of {}; ranks begin with 0",
                               options.rank, options.workers);
  }
  if (options.port == 0) throw Error(ErrorCode::kInvalidArgument, "workers: no port given to meet at");
  if (options.timeout < std::chrono::seconds(1)) {
    throw Error(ErrorCode::kInvalidArgument, "workers: the timeout must be at least 1 s");
  }
  return std::make_unique<XgboostCommunicator>(std::move(library), options);
}

}  // namespace widthwise
