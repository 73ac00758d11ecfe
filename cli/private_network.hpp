#pragma once

#include <utility>

namespace widthwise::cli {

/// Owns an open file descriptor, or none. Invariant: closed exactly once.
class Handle {
 public:
  explicit Handle(int number = -1) : number_(number) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_;
};

/// A network for the processes that enter it: they reach each other at 127.0.0.1, and no other process can reach them,
/// including those of other users of this machine. It is a Linux network namespace, inside a user namespace if this
/// process may not create one directly. File owners and groups are unchanged there.
class PrivateNetwork {
 public:
  /// Throws kInvalidArgument, which suggests --private-network, if the system does not allow it.
  PrivateNetwork();

  /// Enter the network. Call it in a process with one thread, such as a child between fork and exec; it makes only
  /// system calls. On failure, returns false and sets errno.
  [[nodiscard]] bool enter() const noexcept;

 private:
  Handle user_;  ///< the user namespace; none if it was not needed
  Handle network_;
};

}  // namespace widthwise::cli
