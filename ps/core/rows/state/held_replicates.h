// Pushes that a backup cannot apply to its copies yet, because a push before them or the copy itself is missing. Each
// key of a message waits by itself. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"

namespace attune::ps {

class HeldReplicates {
 public:
  struct Held {
    std::shared_ptr<const Replicate> replicate;
    NodeId from;
    uint32_t index;  // of the key in the message
  };

  bool empty() const { return by_row_.empty(); }
  size_t rows() const { return by_row_.size(); }
  // How many wait for this row.
  size_t CountOf(TableKey row) const {
    const auto it = by_row_.find(row);
    return it == by_row_.end() ? 0 : it->second.size();
  }

  void Add(TableKey row, Held held) { by_row_[row].push_back(std::move(held)); }
  // All of a row, in the order in which they were added.
  std::vector<Held> Take(TableKey row) {
    const auto it = by_row_.find(row);
    if (it == by_row_.end()) return {};
    std::vector<Held> held = std::move(it->second);
    by_row_.erase(it);
    return held;
  }
  // Those of rows for which `predicate(TableKey)` holds go, each to `visit(const Held&)` first, in the order of rows.
  template <typename Predicate, typename Visitor>
  void EraseRowsIf(Predicate&& predicate, Visitor&& visit) {
    for (auto it = by_row_.begin(); it != by_row_.end();) {
      if (!predicate(it->first)) {
        ++it;
        continue;
      }
      for (const Held& held : it->second) visit(held);
      it = by_row_.erase(it);
    }
  }
  // Those for which `predicate(TableKey, const Held&)` holds go.
  template <typename Predicate>
  void EraseIf(Predicate&& predicate) {
    for (auto it = by_row_.begin(); it != by_row_.end();) {
      std::erase_if(it->second, [&](const Held& held) { return predicate(it->first, held); });
      it = it->second.empty() ? by_row_.erase(it) : std::next(it);
    }
  }
  // `visit(TableKey row)`, in the order of rows.
  template <typename Visitor>
  void ForEachRow(Visitor&& visit) const {
    for (const auto& [row, held] : by_row_) visit(row);
  }

 private:
  std::map<TableKey, std::vector<Held>> by_row_;  // none of them empty
};

}  // namespace attune::ps
