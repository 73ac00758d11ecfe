#pragma once

namespace widthwise {

/// Base of the abstract classes: an object is destroyed through its interface and never copied.
class Interface {
 public:
  Interface(const Interface&) = delete;
  Interface& operator=(const Interface&) = delete;
  virtual ~Interface() = default;

 protected:
  Interface() = default;
};

}  // namespace widthwise
