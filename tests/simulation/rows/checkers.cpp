#include "tests/simulation/rows/simulation.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/counting_store.h"

namespace attune::ps::simulation {

const CountingStore* RowSimulation::Store(const Node& node, TableId table, bool copies) const {
  const auto& tables = copies ? node.rows->copies() : node.rows->tables();
  return static_cast<const CountingStore*>(tables[table.value() - 1].get());
}

void RowSimulation::CheckNode(const Node& node) {
  using Held = DuplicateFilter::Held;
  for (uint32_t t = 1; t <= p_.tables; ++t) {
    for (const bool copies : {false, true}) {
      for (const auto& [key, row] : Store(node, TableId(t), copies)->rows()) {
        if (row.values != row.state) Violation("StateTravels: key " + std::to_string(key) + " has lost its state");
        for (const SimPush& push : pushes_) {
          if (push.table != TableId(t) || row.values[push.column] < 0.5F) continue;
          if (!node.rows->map().Contains(push.origin) || node.rows->filter().Covered(push.origin, push.sequence))
            continue;
          const auto position = static_cast<uint32_t>(std::ranges::find(push.keys, key) - push.keys.begin());
          if (node.rows->filter().Find(push.origin, push.sequence, position, copies ? Held::kCopy : Held::kRow) !=
              DuplicateFilter::Decision::kApplied) {
            Violation("FilterSound: node " + std::to_string(node.id.value()) + " does not know that key " +
                      std::to_string(key) + (copies ? "'s copy" : "") + " contains push " +
                      std::to_string(push.column));
          }
        }
      }
    }
  }
}

bool RowSimulation::InFlight(TableKey key, const SimPush* push, bool& contains) {
  bool found = false;
  const auto look = [&](const Node& receiver, const Message& message) {
    const RowBatch* rows = nullptr;
    if (const auto* handover = std::get_if<Handover>(&message)) rows = &handover->rows;
    if (const auto* fetched = std::get_if<FetchedRows>(&message);
        fetched != nullptr && fetched->recovered_at >= receiver.rows->map().recovered_at) {
      rows = &fetched->rows;
    }
    if (rows == nullptr || rows->table != key.table) return;
    for (size_t i = 0; i < rows->keys.size(); ++i) {
      if (rows->keys[i] != key.key) continue;
      found = true;
      const size_t width = rows->values.size() / rows->keys.size();
      if (push != nullptr) contains = rows->values[i * width + push->column] > 0.5F;
    }
  };
  for (const auto& [id, node] : nodes_) {
    for (const auto& [peer, link] : node->links) {
      if (!Alive(peer) || !map_->Contains(peer)) continue;  // who is out of the job will be no row's owner
      Node& receiver = At(peer);
      if (receiver.gone.contains(node->id)) continue;
      const auto back = receiver.links.find(node->id);
      const uint64_t delivered = back == receiver.links.end() ? 0 : back->second.delivered();
      for (size_t i = 0; i < link.queue().size(); ++i) {
        if (link.first_queued() + i > delivered) look(receiver, link.queue()[i]);
      }
    }
    if (node->alive && map_->Contains(node->id)) {
      node->rows->inbox().stalled().ForEach([&](NodeId from, const Message& message) {
        if (!node->gone.contains(from)) look(*node, message);
      });
    }
  }
  return found;
}

// OneOwner and AckedPresent, over all nodes.
void RowSimulation::CheckRows() {
  for (uint32_t t = 1; t <= p_.tables; ++t) {
    for (Key key = 1; key <= p_.keys; ++key) {
      const CountingStore::Row* row = nullptr;
      int holders = 0;
      uint32_t holder = 0;
      for (const auto& [id, node] : nodes_) {
        if (!node->alive || !map_->Contains(node->id)) continue;
        const auto& rows = Store(*node, TableId(t), false)->rows();
        if (const auto it = rows.find(key); it != rows.end()) {
          ++holders;
          holder = id;
          row = &it->second;
        }
      }
      if (holders > 1) Violation("OneOwner: " + std::to_string(holders) + " nodes own key " + std::to_string(key));
      if (exposed_.contains(ShardMap::ShardIndex(key, p_.shards))) continue;
      for (const SimPush& push : pushes_) {
        if (push.table != TableId(t)) continue;
        const auto it = std::ranges::find(push.keys, key);
        if (it == push.keys.end() || !push.acked[static_cast<size_t>(it - push.keys.begin())]) continue;
        bool present = row != nullptr && row->values[push.column] > 0.5F;
        if (row == nullptr && !InFlight({TableId(t), key}, &push, present)) {
          for (const auto& [id, node] : nodes_) {
            if (!node->alive || !map_->Contains(node->id)) continue;
            const auto& copies = Store(*node, TableId(t), true)->rows();
            const auto found = copies.find(key);
            present = present || (found != copies.end() && found->second.values[push.column] > 0.5F);
          }
        }
        if (!present) {
          Violation("AckedPresent: acknowledged push " + std::to_string(push.column) + " is not in key " +
                    std::to_string(key) +
                    (row == nullptr ? " (no worker holds the row)" : ", held by node " + std::to_string(holder)));
        }
      }
    }
  }
}

void RowSimulation::CheckEnd() {
  if (violated()) return;
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || !map_->Contains(node->id)) continue;
    const std::string name = "node " + std::to_string(id);
    if (node->rows->map().version != map_->version) Violation("NoStaleWait: " + name + " has an old map");
    if (const std::string waits = node->rows->WhatWaits(); !waits.empty()) {
      Violation("NoStaleWait: " + name + " still has " + waits);
    }
    for (const auto& [request, pull] : node->pulls) {
      if (pull.open)
        Violation("NoStaleWait: pull " + std::to_string(request.value()) + " of " + name + " is unanswered");
    }
    for (const size_t index : node->pushes) {
      if (!pushes_[index].All()) Violation("AllApplied: push " + std::to_string(index) + " is not acknowledged");
    }
  }
  for (const Shard& shard : map_->shards) {
    if (shard.next_backup != NodeId()) Violation("NoStaleWait: a join never ended");
  }
  for (uint32_t t = 1; t <= p_.tables && !violated(); ++t) {
    const TableId table(t);
    for (Key key = 1; key <= p_.keys; ++key) {
      const uint32_t shard = ShardMap::ShardIndex(key, p_.shards);
      const Node* owner = nullptr;
      for (const auto& [id, node] : nodes_) {
        if (node->alive && map_->Contains(node->id) && Store(*node, table, false)->rows().contains(key)) {
          owner = node.get();
        }
      }
      const std::string name = "key " + std::to_string(key);
      Node& home = At(map_->shards[shard].home);
      const NodeId said = home.rows->DirectoryOwner(table, key);
      if (said != (owner == nullptr ? home.id : owner->id)) {
        Violation("NoStaleWait: the directory says " + name + " is at node " + std::to_string(said.value()) +
                  ", it is at " + std::to_string(owner == nullptr ? 0 : owner->id.value()));
      }
      if (owner != nullptr && (owner->id == map_->shards[shard].backup)) {
        Violation("NoStaleWait: the backup owns " + name);
      }
      if (exposed_.contains(shard)) continue;
      const CountingStore::Row* row = owner == nullptr ? nullptr : &Store(*owner, table, false)->rows().at(key);
      for (const SimPush& push : pushes_) {
        if (push.table != table || !map_->Contains(push.origin) ||
            std::ranges::find(push.keys, key) == push.keys.end()) {
          continue;
        }
        if (row == nullptr || row->values[push.column] < 0.5F) {
          Violation("AllApplied: push " + std::to_string(push.column) + " is not in " + name);
        }
      }
      const NodeId backup = map_->shards[shard].backup;
      if (backup == NodeId() || row == nullptr || row->version.counter() == 0) continue;
      const auto& copies = Store(At(backup), table, true)->rows();
      const auto copy = copies.find(key);
      // A removed owner may have applied its own last push and handed the row over without the backup hearing of that
      // push: the row is ahead until the next push shows the gap.
      const bool same_version = copy != copies.end() && copy->second.version == row->version;
      bool equal = true;
      for (const SimPush& push : pushes_) {
        if (!equal || (!same_version && !map_->Contains(push.origin))) continue;
        const bool there = copy != copies.end();
        equal = (there ? copy->second.values[push.column] : 0.0F) == row->values[push.column] &&
                (there ? copy->second.state[push.column] : 0.0F) == row->state[push.column];
      }
      const bool all_live = std::ranges::all_of(
          pushes_, [&](const SimPush& push) { return push.table != table || map_->Contains(push.origin); });
      if (!equal || (all_live && !same_version)) Violation("CopiesEqual: the copy of " + name + " is not the row");
    }
  }
}

}  // namespace attune::ps::simulation
