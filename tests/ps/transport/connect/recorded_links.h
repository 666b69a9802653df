// Links that only note what dialer and listener do with them, and answer what a test wants.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ps/transport/tcp/connect/link_book.h"
#include "tests/ps/transport/node.h"

namespace attune::ps {

class RecordedLinks final : public LinkBook {
 public:
  // Set before they are asked.
  std::map<NodeId, PresentLink> present;
  std::map<NodeId, LinkMemory> memory;
  bool room = true;

  // What was done; on another thread only within Await, or once that has returned.
  std::vector<std::pair<NodeId, AgreedLink>> added;
  std::vector<NodeId> expected, replaced;
  std::vector<Status> dial_errors;

  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTestDeadline, condition);
  }

  PresentLink Present(NodeId node) const override { return Of(present, node); }
  LinkMemory MemoryOf(NodeId node) const override { return Of(memory, node); }
  void Add(NodeId node, AgreedLink link) override {
    Note([&] { added.emplace_back(node, std::move(link)); });
  }
  void Expect(NodeId node) override {
    Note([&] { expected.push_back(node); });
  }
  void SetDialError(NodeId, const Status& reason) override {
    Note([&] { dial_errors.push_back(reason); });
  }
  LinkMemory Replace(NodeId node) override {
    Note([&] { replaced.push_back(node); });
    return Of(memory, node);
  }
  bool MakeRoom(size_t) override { return room; }

 private:
  template <typename Value>
  static Value Of(const std::map<NodeId, Value>& values, NodeId node) {
    const auto it = values.find(node);
    return it == values.end() ? Value() : it->second;
  }
  template <typename Change>
  void Note(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace attune::ps
