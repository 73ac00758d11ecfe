#pragma once

#include <utility>

namespace widthwise::cli {

/// An open file, or none. Invariant: closed once.
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

/// A network that only the processes which enter it share: they reach each other at 127.0.0.1, and nobody else reaches
/// them, other users of this machine included. It is a network namespace of Linux, inside a user namespace where
/// this process may not create one otherwise. There, too, users and groups of files stay what they are.
class PrivateNetwork {
 public:
  /// Throws kInvalidArgument, naming --private-network, where the system does not allow it.
  PrivateNetwork();

  /// Enter it, in a process that has one thread, such as a child between fork and exec: nothing is called but the
  /// system. False, and errno, when that fails.
  [[nodiscard]] bool enter() const noexcept;

 private:
  Handle user_;  ///< the user namespace; none where this process may do without
  Handle network_;
};

}  // namespace widthwise::cli
