// Pieces of operations: some keys of a message as a message of their own. Consecutive keys share memory, others are
// gathered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ps/core/protocol/messages.h"

namespace attune::ps {

inline bool Consecutive(std::span<const uint32_t> places) {
  return places.back() - places.front() + 1 == places.size();
}

// `width` values per place. `places` ascending and not empty.
template <typename T>
Slice<T> PartOf(const Slice<T>& whole, std::span<const uint32_t> places, size_t width = 1) {
  if (Consecutive(places)) return whole.Part(places.front() * width, places.size() * width);
  return Slice<T>::Filled(places.size() * width, [&](std::span<T> part) {
    for (size_t i = 0; i < places.size(); ++i) {
      std::copy_n(whole.data() + places[i] * width, width, part.data() + i * width);
    }
  });
}

inline Positions PartOf(const Positions& whole, std::span<const uint32_t> places) {
  Positions part;
  if (whole.list.empty() && Consecutive(places)) {
    part.first = whole.first + places.front();
    part.count = static_cast<uint32_t>(places.size());
    return part;
  }
  part.list.reserve(places.size());
  for (const uint32_t place : places) part.list.push_back(whole.At(place));
  return part;
}

// What a push and its copy have in common.
template <typename Gradients>
Gradients PartOfGradients(const Gradients& whole, std::span<const uint32_t> places) {
  Gradients part{.origin = whole.origin,
                 .sequence = whole.sequence,
                 .table = whole.table,
                 .map_version = whole.map_version,
                 .acked_below = whole.acked_below};
  part.positions = PartOf(whole.positions, places);
  part.keys = PartOf(whole.keys, places);
  part.gradients = PartOf(whole.gradients, places, whole.gradients.size() / whole.keys.size());
  if (!whole.folds.empty()) {
    part.folds.reserve(places.size());
    for (const uint32_t place : places) part.folds.push_back(whole.folds[place]);
  }
  part.step = whole.step;
  return part;
}

inline Push PartOf(const Push& whole, std::span<const uint32_t> places) {
  if (places.size() == whole.keys.size()) return whole;
  Push part = PartOfGradients(whole, places);
  part.by_home = whole.by_home;
  if (const auto seen = std::ranges::lower_bound(places, whole.seen_index);
      seen != places.end() && *seen == whole.seen_index) {
    part.seen = whole.seen;
    part.seen_index = static_cast<uint32_t>(seen - places.begin());
  }
  return part;
}

inline Replicate PartOf(const Replicate& whole, std::span<const uint32_t> places) {
  if (places.size() == whole.keys.size()) return whole;
  Replicate part = PartOfGradients(whole, places);
  part.versions = PartOf(whole.versions, places);
  part.owner = whole.owner;
  part.ack_wanted = whole.ack_wanted;
  part.relayed = whole.relayed;
  part.probe = whole.probe;
  return part;
}

inline Pull PartOf(const Pull& whole, std::span<const uint32_t> places) {
  if (places.size() == whole.keys.size()) return whole;
  Pull part{.origin = whole.origin,
            .request = whole.request,
            .table = whole.table,
            .map_version = whole.map_version,
            .acked_below = whole.acked_below,
            .remaining = whole.remaining};
  part.keys = PartOf(whole.keys, places);
  part.positions = PartOf(whole.positions, places);
  part.by_home = whole.by_home;
  for (const After& after : whole.after) {
    const auto it = std::ranges::lower_bound(places, after.key_index);
    if (it == places.end() || *it != after.key_index) continue;
    part.after.push_back({.sequence = after.sequence,
                          .position = after.position,
                          .key_index = static_cast<uint32_t>(it - places.begin())});
  }
  return part;
}

inline InstallWanted PartOf(const InstallWanted& whole, std::span<const uint32_t> places) {
  return {.map_version = whole.map_version,
          .table = whole.table,
          .keys = PartOf(whole.keys, places),
          .by_home = whole.by_home};
}

// Index lists by a small number of different labels, in the order the labels came up.
template <typename Label>
class Groups {
 public:
  void Add(const Label& label, uint32_t place) {
    for (auto& [known, places] : groups_) {
      if (known == label) return places.push_back(place);
    }
    groups_.push_back({label, {place}});
  }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }
  size_t size() const { return groups_.size(); }

 private:
  std::vector<std::pair<Label, std::vector<uint32_t>>> groups_;
};

}  // namespace attune::ps
