// The leases of training data that a worker holds (docs/worker.md): how far each is, and what the coordinator is to be
// sent when the program is through with one and its pushes are settled. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/worker/lease_progress.h"

namespace attune::ps {

class HeldLeases {
 public:
  // How far pushes are: the last one issued, and the one up to which all are settled.
  struct Pushes {
    SequenceNumber issued, settled;
  };

  // Leases of this data set are of evaluations: holding one does not make the coordinator count this worker.
  void MarkWhenDue(DataSetId data_set) { when_due_.insert(data_set); }
  // True: the coordinator has not counted this worker in the floor until now.
  bool Add(const LeaseGrant& grant) {
    const bool is_first = std::ranges::all_of(leases_, [](const auto& held) { return held.second.when_due; });
    leases_.insert_or_assign(grant.lease, Lease{.progress = LeaseProgress(grant.begin, grant.end),
                                                .when_due = when_due_.contains(grant.data_set)});
    return is_first;
  }
  // The program has processed the items before `position`; `ended`: and is through with the lease. Returns what to send
  // when that was the last of it.
  std::optional<Message> Advance(LeaseId id, uint64_t position, bool ended, Pushes pushes) {
    const auto it = leases_.find(id);
    if (it == leases_.end() || it->second.ended) return std::nullopt;
    it->second.progress.Advance(position, pushes.issued);
    it->second.ended = ended;
    return Settle(it, pushes.settled);
  }
  // The program is through with all of them. Calls `send(Message)` like Settle.
  template <typename Send>
  void EndAll(Pushes pushes, Send&& send) {
    std::vector<std::pair<LeaseId, uint64_t>> held;
    for (const auto& [id, lease] : leases_) held.emplace_back(id, lease.progress.named());
    for (const auto& [id, named] : held) {
      if (std::optional<Message> report = Advance(id, named, true, pushes)) send(*std::move(report));
    }
  }
  // All pushes up to `settled` are: `send(Message)` is called for each lease that this was the last of.
  template <typename Send>
  void Settle(SequenceNumber settled, Send&& send) {
    for (auto it = leases_.begin(); it != leases_.end();) {
      const auto here = it++;
      if (!here->second.progress.CanSettle(settled)) continue;
      if (std::optional<Message> report = Settle(here, settled)) send(*std::move(report));
    }
  }
  // `visit(LeaseId, uint64_t position)`: items before it are done.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [id, lease] : leases_) visit(id, lease.progress.done());
  }
  void Clear() { leases_.clear(); }
  bool empty() const { return leases_.empty(); }

 private:
  struct Lease {
    LeaseProgress progress;
    bool ended = false;
    bool when_due = false;
  };
  using Place = std::map<LeaseId, Lease>::iterator;

  std::optional<Message> Settle(Place place, SequenceNumber settled) {
    const LeaseId id = place->first;
    LeaseProgress& progress = place->second.progress;
    progress.Settle(settled);
    if (!place->second.ended || !progress.settled()) return std::nullopt;
    std::optional<Message> report = LeaseDone{.header = {}, .lease = id};
    if (!progress.complete()) report = LeaseReturn{.header = {}, .lease = id, .position = progress.done()};
    leases_.erase(place);
    return report;
  }

  std::map<LeaseId, Lease> leases_;
  std::set<DataSetId> when_due_;
};

}  // namespace attune::ps
