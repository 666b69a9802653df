// What it costs a node to have a row of its home's in some way: k, b and f of the formulas in row_decision.h. Each node
// has its own: one behind a slow link pays more for a byte, and exchanges rounds less often. Pure. Externally
// synchronized.
#pragma once

#include <cstdint>
#include <map>

#include "ps/core/protocol/ids.h"

namespace attune::ps {

struct RowBytes {
  uint32_t values = 0;
  uint32_t state = 0;
};

// Processor time of both ends together.
struct AccessCosts {
  double seconds_per_key = 0.4e-6;  // of a remote operation
  double seconds_per_byte = 1e-9;
  double flushes_per_second = 100;  // the most; also of refreshes
  double seconds_per_wait = 0;  // of a program, for a row that it reads sooner after its own push than a fetch takes

  double Remote(RowBytes row) const { return seconds_per_key + seconds_per_byte * row.values; }
  double Copy(RowBytes row) const {
    return seconds_per_key + seconds_per_byte * (static_cast<double>(row.values) + row.state);
  }
};

class NodeCosts {
 public:
  // `usual`: of a node of which nothing is known.
  NodeCosts(const AccessCosts& usual = {}) : usual_(usual) {}  // NOLINT(google-explicit-constructor): the same for all

  void Set(NodeId node, const AccessCosts& costs) { known_.insert_or_assign(node, costs); }
  const AccessCosts& Of(NodeId node) const {
    const auto found = known_.find(node);
    return found == known_.end() ? usual_ : found->second;
  }
  // Forgets nodes for which keep(NodeId) is false.
  template <typename Keep>
  void Retain(Keep&& keep) {
    std::erase_if(known_, [&](const auto& node) { return !keep(node.first); });
  }

 private:
  AccessCosts usual_;
  std::map<NodeId, AccessCosts> known_;
};

}  // namespace attune::ps
