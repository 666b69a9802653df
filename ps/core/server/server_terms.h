// A server when its job gets another coordinator: whom it obeys, what it keeps for the next one, and where it says to
// others that the present one is (docs/protocol.md#another-coordinator). Pure. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time_source.h"
#include "ps/core/membership/coordinator_term.h"
#include "ps/core/membership/support_given.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/node_inputs.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class ServerTerms {
 public:
  // Whether what a coordinator of `term` says counts; 0: whichever it is. A higher one replaces the one known.
  bool Obeys(uint32_t term, Mistake lower_too = {}) { return coordinator_.Obeys(term, lower_too); }
  // The coordinator of notice.term runs in this process from now on. False: a later one is known, or this one.
  bool BeginsHere(CoordinatorAt notice);
  // Where to join from now on, when the notice names a coordinator that is not known to be somewhere else, and its
  // sender has a say in it.
  std::optional<CoordinatorPlace> Follow(NodeId from, const CoordinatorAt& notice, NodeId self, const ShardMap& map);
  // Notices that came before a map in which they count.
  std::vector<std::pair<NodeId, CoordinatorAt>> TakeEarly() { return coordinator_.TakeEarly(); }
  // To be passed on. nullptr: the coordinator is where it was when this server started.
  const CoordinatorAt* notice() const { return at_.host == NodeId() ? nullptr : &at_; }
  uint32_t term() const { return coordinator_.term(); }
  // Of other coordinators, from nodes that have no say in it.
  uint64_t notices_ignored() const { return coordinator_.notices_ignored(); }

  // The obeyed coordinator has asked for this server's support, as it does with every answer.
  void OnQuestion(const SupportQuestion& question, MonotonicTime now) {
    heard_ = now;
    support_.OnQuestion(term(), question.number, question.lasts, now);
  }
  const SupportGiven& support() const { return support_; }
  // Since the coordinator's last answer, or since the start.
  Duration Silence(MonotonicTime now) const { return now - heard_; }

  // What a coordinator knew: the newest record is kept for the next one, unless another server has a newer one by
  // `records_from` of the map.
  void Keep(CoordinatorRecord record, const ShardMap& map);
  const std::optional<CoordinatorRecord>& kept() const { return kept_; }

  // This map is in force from now on.
  void OnMap(const ShardMap& map);

 private:
  CoordinatorTerm coordinator_;
  CoordinatorAt at_;  // host 0: where it was when this server started
  SupportGiven support_;
  MonotonicTime heard_{};
  std::optional<CoordinatorRecord> kept_;
};

}  // namespace attune::ps
