#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <widthwise/random.hpp>

namespace widthwise::internal {

/// The positions of groups, numbered in the order they were added. A hash table with open addressing: a lookup per row
/// in std::map would take most of the time of a prediction with a thousand groups.
/// Thread safety: const methods may run concurrently.
class GroupIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  GroupIndex() : slots_(kMinSlots) {}

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  /// The groups in the order they were added.
  [[nodiscard]] std::span<const std::int64_t> groups() const { return groups_; }

  /// The position of a group, or kNone.
  [[nodiscard]] std::uint32_t find(std::int64_t group) const { return slots_[slot_of(group)].position; }

  /// The position of a group, which is added if it is new.
  std::uint32_t add(std::int64_t group) {
    std::size_t slot = slot_of(group);
    if (slots_[slot].position != kNone) return slots_[slot].position;
    if (2 * (groups_.size() + 1) > slots_.size()) {
      grow();
      slot = slot_of(group);
    }
    const auto position = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back(group);
    slots_[slot] = {group, position};
    return position;
  }

 private:
  static constexpr std::size_t kMinSlots = 16;

  struct Slot {
    std::int64_t group = 0;
    std::uint32_t position = kNone;
  };

  [[nodiscard]] std::size_t slot_of(std::int64_t group) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = mix_bits(static_cast<std::uint64_t>(group)) & mask;
    while (slots_[slot].position != kNone && slots_[slot].group != group) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    slots_.assign(2 * slots_.size(), {});
    for (std::size_t i = 0; i < groups_.size(); ++i)
      slots_[slot_of(groups_[i])] = {groups_[i], static_cast<std::uint32_t>(i)};
  }

  std::vector<Slot> slots_;
  std::vector<std::int64_t> groups_;
};

}  // namespace widthwise::internal
