// Which coordinator a node obeys: the one of the highest term that it knows of, from the coordinator itself or from a
// notice of a server (coordinator_notices.h; docs/protocol.md#another-coordinator). Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/membership/coordinator_notices.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class CoordinatorTerm {
 public:
  // Whether what a coordinator of `term` says counts; 0: whichever it is. A higher one replaces the one known.
  bool Obeys(uint32_t term, Mistake lower_too = {}) {
    if (term == 0) return true;
    if (!CoordinatorNotices::IsNear(term_, term)) return false;
    if (term < term_ && !lower_too) return false;
    term_ = std::max(term_, term);
    return true;
  }
  // Where to join from now on, when the notice names a later coordinator and its sender has a say in it.
  std::optional<CoordinatorPlace> Follow(NodeId from, const CoordinatorAt& notice, const ShardMap& map) {
    return notice.term <= term_ ? std::nullopt : Accept(from, notice, map);
  }
  // The same of any notice.
  std::optional<CoordinatorPlace> Accept(NodeId from, const CoordinatorAt& notice, const ShardMap& map) {
    const std::optional<std::string> address = notices_.Check(from, notice, map, term_);
    if (!address) return std::nullopt;
    term_ = notice.term;
    return CoordinatorPlace{.term = notice.term, .address = CoordinatorAddress(*address, notice.port)};
  }
  // The coordinator of this term is in this process: no notice is needed.
  void Raise(uint32_t term) { term_ = std::max(term_, term); }
  // Notices that came before a map in which they count.
  std::vector<std::pair<NodeId, CoordinatorAt>> TakeEarly() { return notices_.TakeEarly(); }

  uint32_t term() const { return term_; }
  uint64_t notices_ignored() const { return notices_.ignored(); }

 private:
  uint32_t term_ = 0;
  CoordinatorNotices notices_;
};

}  // namespace attune::ps
