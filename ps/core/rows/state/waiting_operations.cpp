#include "ps/core/rows/state/waiting_operations.h"

#include <algorithm>
#include <variant>

#include "ps/core/rows/state/parts.h"

namespace attune::ps {

std::vector<WaitingOperations::Part> WaitingOperations::TakeFor(TableId table, std::span<const Key> keys) {
  std::vector<Part> parts;
  for (const Key key : keys) {
    const auto it = by_row_.find({table, key});
    if (it == by_row_.end()) continue;
    for (WaitingKey& entry : it->second) {
      auto same = std::ranges::find(parts, entry.message, &Part::message);
      if (same == parts.end()) same = parts.insert(parts.end(), {.message = entry.message, .places = {}});
      same->places.push_back(entry.index);
    }
    by_row_.erase(it);
  }
  for (Part& part : parts) std::ranges::sort(part.places);
  return parts;
}

std::vector<WaitingOperations::Queued> WaitingOperations::TakeAll() {
  std::vector<Queued> operations;
  std::map<const Message*, std::pair<WaitingKey, std::vector<uint32_t>>> whole;  // `order` says in which order
  std::vector<const Message*> order;
  for (auto& [key, waiting] : by_row_) {
    for (WaitingKey& entry : waiting) {
      const Message* message = entry.message.get();
      auto& [first, places] = whole[message];
      if (places.empty()) order.push_back(message);
      places.push_back(entry.index);
      first = std::move(entry);
    }
  }
  by_row_.clear();
  for (const Message* message : order) {
    auto& [entry, places] = whole.at(message);
    std::ranges::sort(places);
    const auto keep = [&](const auto& operation) -> Message {
      if constexpr (requires { PartOf(operation, std::span<const uint32_t>()); }) return PartOf(operation, places);
      return operation;
    };
    operations.push_back({.from = entry.from, .message = std::visit(keep, *entry.message)});
  }
  return operations;
}

}  // namespace attune::ps
