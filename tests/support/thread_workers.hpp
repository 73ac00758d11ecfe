#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include <widthwise/train/communicator.hpp>

namespace widthwise {

/// Workers as threads of one process. Sums in the order of the ranks and counts the bytes sent.
class ThreadWorkers {
 public:
  explicit ThreadWorkers(std::size_t workers)
      : parts_(workers), bytes_(workers), barrier_(static_cast<std::ptrdiff_t>(workers)), sent_(workers, 0) {}

  void run(const std::function<void(const Communicator&)>& work) {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
      threads.emplace_back([&, rank] { work(Worker(*this, rank)); });
    }
  }

  /// Number of bytes that the first worker has sent so far.
  [[nodiscard]] std::size_t bytes_sent() const { return sent_[0]; }

 private:
  class Worker final : public Communicator {
   public:
    Worker(ThreadWorkers& all, std::size_t rank) : all_(all), rank_(rank) {}
    void sum(std::span<double> values) const override {
      all_.sent_[rank_] += values.size_bytes();
      all_.parts_[rank_].assign(values.begin(), values.end());
      all_.barrier_.arrive_and_wait();
      std::fill(values.begin(), values.end(), 0.0);
      for (const auto& part : all_.parts_) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += part[i];
      }
      all_.barrier_.arrive_and_wait();
    }
    void broadcast(std::span<std::byte> bytes, std::size_t root) const override {
      if (rank_ == root) {
        all_.sent_[rank_] += bytes.size();
        all_.bytes_[rank_].assign(bytes.begin(), bytes.end());
      }
      all_.barrier_.arrive_and_wait();
      std::copy(all_.bytes_[root].begin(), all_.bytes_[root].end(), bytes.begin());
      all_.barrier_.arrive_and_wait();
    }
    [[nodiscard]] std::uint64_t bytes_shared() const override { return all_.sent_[rank_]; }
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    [[nodiscard]] std::size_t workers() const override { return all_.parts_.size(); }

   private:
    ThreadWorkers& all_;
    std::size_t rank_;
  };

  std::vector<std::vector<double>> parts_;
  std::vector<std::vector<std::byte>> bytes_;
  std::barrier<> barrier_;
  std::vector<std::size_t> sent_;
};

}  // namespace widthwise
