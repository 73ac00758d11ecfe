#include <algorithm>
#include <bit>
#include <utility>

#include <widthwise/calibration.hpp>
#include <widthwise/random.hpp>

namespace widthwise {
namespace {

/// The number of priorities that this many slots take: more would make the probes long.
constexpr std::uint64_t room_of(std::uint64_t slots) { return slots / 4 * 3; }

}  // namespace

void Calibration::NumberRange::include(const NumberRange& other) {
  first = std::min(first, other.first);
  last = std::max(last, other.last);
}

Calibration::Stored& Calibration::Stored::operator=(const Stored& other) noexcept {
  if (this != &other) clear();
  return *this;
}

Calibration::Stored& Calibration::Stored::operator=(Stored&& other) noexcept {
  if (this != &other) {
    clear();
    other.clear();
  }
  return *this;
}

void Calibration::Stored::swap(Stored& other) noexcept {
  slots_.swap(other.slots_);
  std::swap(used_, other.used_);
  std::swap(salt_, other.salt_);
  std::swap(has_zero_, other.has_zero_);
}

void Calibration::Stored::clear() noexcept {
  std::vector<std::uint64_t>().swap(slots_);
  used_ = 0;
  has_zero_ = false;
}

bool Calibration::Stored::has_room(std::uint64_t more) const {
  return !slots_.empty() && used_ + more <= room_of(slots_.size());
}

void Calibration::Stored::reset(std::uint64_t priorities) {
  std::uint64_t slots = std::max<std::uint64_t>(64, std::bit_ceil(priorities));
  while (room_of(slots) < priorities) slots *= 2;
  slots_.assign(slots, 0);
  used_ = 0;
  has_zero_ = false;
  // The address is not known to those who choose the numbers of rows, so they cannot choose rows of one slot.
  salt_ = mix_bits(reinterpret_cast<std::uintptr_t>(slots_.data()));
}

std::size_t Calibration::Stored::slot_of(std::uint64_t priority) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = mix_bits(priority ^ salt_) & mask;
  while (slots_[slot] != 0 && slots_[slot] != priority) slot = (slot + 1) & mask;
  return slot;
}

bool Calibration::Stored::contains(std::uint64_t priority) const {
  return priority == 0 ? has_zero_ : slots_[slot_of(priority)] == priority;
}

bool Calibration::Stored::insert(std::uint64_t priority) {
  if (priority == 0) return !std::exchange(has_zero_, true);
  std::uint64_t& slot = slots_[slot_of(priority)];
  if (slot == priority) return false;
  slot = priority;
  ++used_;
  return true;
}

}  // namespace widthwise
