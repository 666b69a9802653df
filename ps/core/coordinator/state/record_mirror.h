// The copy of the coordinator's record at another server, and the answers that wait for it. Copies are numbered; one is
// in progress at a time, and it holds everything, so nothing is merged. An answer may go out once the copy that knows
// of it has arrived, and once no server keeps an older copy that a successor could take for the newest: a map says from
// which number on copies count (ShardMap::records_from). Externally synchronized.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class RecordMirror {
 public:
  struct Answer {
    NodeId node;
    std::optional<ConnectionId> connection;  // of a node that has left
    RequestId request;
    Message message;
  };

  // Numbers of different terms never meet.
  explicit RecordMirror(uint32_t term) : number_(uint64_t{term} << 32), arrived_(number_) {}

  // --- copies

  // The record has changed, though no answer waits for it.
  void NoteChange() { changed_ = true; }
  // A server that may have a copy of an earlier coordinator.
  void NoteOlderCopy(NodeId server) { older_.insert(server); }
  // Who gets the copies; 0: no server can. True when it is another server than before.
  bool SetHost(NodeId host);
  NodeId host() const { return host_; }
  // Whether a copy is to be sent to the host now: a new one, or the one in progress, which may be lost. `moved` as
  // SetHost has returned it. Its number is number().
  bool BeginCopy(bool moved, MonotonicTime now, Duration again_after);
  // Of the last copy sent.
  uint64_t number() const { return number_; }
  // The server has a new connection: what was in progress to it is sent again now.
  void RepeatTo(NodeId server, MonotonicTime now) {
    if (server == host_) again_at_ = now;
  }
  // False: not the host, or a number that was not sent.
  bool Acknowledge(NodeId from, uint64_t number);

  // --- older copies

  // `dropped(NodeId)`: whether the server is gone, or has dropped its copy by now (MustHaveDropped).
  template <typename Dropped>
  void ForgetOlderIf(Dropped&& dropped) {
    std::erase_if(older_, [&](NodeId server) { return server == host_ || dropped(server); });
  }
  // A server whose map is of this version has dropped what it had, when the newest map counts copies from `from` on.
  bool MustHaveDropped(MapVersion map, uint64_t from) const { return from >= first_there_ && map >= announced_by_; }
  // The number that the next map is to name, because the first copy at the host has arrived and others have older ones.
  std::optional<uint64_t> ToAnnounce(uint64_t from) const {
    if (older_.empty() || arrived_ < first_there_ || from >= first_there_) return std::nullopt;
    return first_there_;
  }
  void Announced(MapVersion by) { announced_by_ = by; }

  // --- answers

  bool AnyWaits() const { return !waiting_.empty(); }
  // It waits for the next copy: the one in progress does not know of it.
  void Hold(Answer answer) {
    waiting_.emplace_back(number_ + 1, std::move(answer));
    hurries_ = true;
  }
  // One that nothing waits for goes with a copy that is sent anyway, or with one of its own, by the first BeginCopy
  // after kUnhurried.
  void HoldUnhurried(Answer answer, MonotonicTime now) {
    waiting_.emplace_back(number_ + 1, std::move(answer));
    if (!unhurried_since_) unhurried_since_ = now;
  }
  static constexpr Duration kUnhurried = std::chrono::milliseconds(20);
  // Gives `send(Answer)` those that may go out, in their order. `all`: there is no other server to wait for.
  template <typename Send>
  void Release(bool all, Send&& send) {
    if (!all && (!older_.empty() || arrived_ < first_there_)) return;
    while (!waiting_.empty() && (all || waiting_.front().first <= arrived_)) {
      Answer answer = std::move(waiting_.front().second);
      waiting_.pop_front();
      send(std::move(answer));
    }
  }

 private:
  std::deque<std::pair<uint64_t, Answer>> waiting_;  // with the number of the copy that knows of it
  uint64_t number_, arrived_;                        // of the last copy sent, and acknowledged
  bool changed_ = false;
  bool hurries_ = false;  // an answer that waits for a copy which has not been sent
  std::optional<MonotonicTime> unhurried_since_;
  NodeId host_;
  uint64_t first_there_ = 0;  // the first copy sent to the host
  std::set<NodeId> older_;    // who may still have an older one
  MapVersion announced_by_;   // the map that names first_there_
  MonotonicTime again_at_ = kNever;
};

}  // namespace attune::ps
