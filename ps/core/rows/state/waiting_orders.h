// Orders of homes to move rows that are not here yet, or not with the number that the order follows on: each waits for
// its row. There is at most one of each number for a row. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"

namespace attune::ps {

class WaitingOrders {
 public:
  struct Order {
    uint16_t move_number;  // that the row has once it has moved
    NodeId to;
  };

  bool empty() const { return by_row_.empty(); }
  size_t rows() const { return by_row_.size(); }
  size_t size() const { return size_; }  // in all
  bool WaitsFor(TableKey row) const { return by_row_.contains(row); }
  // `predicate(TableKey row)`.
  template <typename Predicate>
  bool AnyRow(Predicate&& predicate) const {
    return std::ranges::any_of(by_row_, [&](const auto& entry) { return predicate(entry.first); });
  }

  void Add(TableKey row, Order order) {
    std::vector<Order>& orders = by_row_[row];
    if (std::ranges::find(orders, order.move_number, &Order::move_number) != orders.end()) return;
    orders.push_back(order);
    ++size_;
  }
  // Takes out the order that follows on the number that the row has now. `any_later` takes a later one too, which is a
  // deliberate mistake of the simulations.
  std::optional<Order> TakeNext(TableKey row, uint16_t move_number, bool any_later = false) {
    const auto it = by_row_.find(row);
    if (it == by_row_.end()) return std::nullopt;
    std::vector<Order>& orders = it->second;
    const auto next = std::ranges::find_if(orders, [&](const Order& order) {
      return order.move_number == static_cast<uint16_t>(move_number + 1) ||
             (any_later && order.move_number > move_number);
    });
    if (next == orders.end()) return std::nullopt;
    const Order order = *next;
    orders.erase(next);
    --size_;
    if (orders.empty()) by_row_.erase(it);
    return order;
  }
  void Clear() {
    by_row_.clear();
    size_ = 0;
  }

 private:
  std::map<TableKey, std::vector<Order>> by_row_;  // none of them empty
  size_t size_ = 0;
};

}  // namespace attune::ps
