// What a node makes of CoordinatorAt, the notice that another coordinator is to be obeyed: it counts only from a server
// that is a member of the node's own map, about a server of that map or a later one, and for a term within reach of the
// one known. Anything else would let one frame of a stranger end a job. Pure; externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class CoordinatorNotices {
 public:
  // A term rises by one for each appointment; this many of them a node may have missed.
  static constexpr uint32_t kTermJumpMax = 4096;

  // Whether a coordinator of term `next` can follow what is known; the first one (known 0) can always.
  static bool IsNear(uint32_t known, uint32_t next) {
    return known == 0 || next <= known || next - known <= kTermJumpMax;
  }

  // The address of the server that the coordinator runs in; nothing when `from` has no say in it. The link may be older
  // than the map here, and the notice is sent once on each link: it is kept until there is another map. Of a host that
  // has joined with a later map the notice itself names the address: who published that map may be gone, so that it
  // never comes here. The process that answers there has to prove that it belongs to the job.
  std::optional<std::string> Check(NodeId from, const CoordinatorAt& notice, const ShardMap& map, uint32_t known_term) {
    if (!IsNear(known_term, notice.term)) {
      ++ignored_;
      return std::nullopt;
    }
    const Member* sender = map.Find(from);
    const Member* host = map.Find(notice.host);
    if (sender != nullptr && sender->role == Role::kServer) {
      if (host != nullptr && host->role == Role::kServer) return host->address;
      if (host == nullptr && !map.IsPast(notice.host) && !notice.address.empty()) return notice.address;
    }
    ++ignored_;
    if (sender == nullptr || sender->role == Role::kServer) Keep(from, notice);
    return std::nullopt;
  }
  // Notices that came before a map in which they count.
  std::vector<std::pair<NodeId, CoordinatorAt>> TakeEarly() { return std::exchange(early_, {}); }

  uint64_t ignored() const { return ignored_; }

 private:
  static constexpr size_t kKept = 64;  // the newest of as many senders: strangers cannot take more memory than that

  void Keep(NodeId from, const CoordinatorAt& notice) {
    std::erase_if(early_, [&](const auto& kept) { return kept.first == from; });
    if (early_.size() >= kKept) early_.erase(early_.begin());
    early_.emplace_back(from, notice);
  }

  std::vector<std::pair<NodeId, CoordinatorAt>> early_;
  uint64_t ignored_ = 0;
};

}  // namespace attune::ps
