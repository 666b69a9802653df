// A worker's pulls: one call becomes a message per route, whose answers are written into the caller's rows. Each
// message is sent again until its keys are answered, by one node or several, or the call has ended.
//
// The caller's rows have one writer (docs/protocol.md#one-pull). While an answer is being received into them (PlaceOf)
// this class leaves them alone, and what else arrives for them waits until the shell has revoked the place.
//
// Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/membership/cluster_view.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/worker/worker_io.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class PullCalls {
 public:
  struct Options {
    Duration resend_after{};  // doubles per attempt up to resend_after_max
    Duration resend_after_max{};
    Mistake place_every_answer{};
    Mistake ignore_deadline{};
  };
  // Some keys of a call, which go to one node.
  struct Part {
    CallId call;
    NodeId to;
    TableId table;
    uint32_t dim = 0;
    Slice<Key> keys;
    std::span<const uint32_t> places;  // of the keys in the call, ascending
    std::vector<After> after;
  };
  // What messages say of their sender.
  struct Sender {
    const ClusterView& cluster;
    SequenceNumber acked_below;
    MonotonicTime now;
  };
  // An answer has been taken: it was for these keys of its message, by its positions.
  struct Answered {
    CallId call;
    TableId table;
    Slice<Key> keys;  // of the message
  };
  using Answer = std::pair<NodeId, PullReply>;

  explicit PullCalls(const Options& options) : options_(options) {}

  // --- calls

  // `in_place`: answers may be received straight into its rows.
  void Begin(const PullCall& call, bool in_place = true);
  // All keys are here: they are written into the caller's rows, and the part need not be sent.
  bool TakeFrom(const TableStore& store, const Part& part);
  // `send(NodeId to, Pull)`: to this node, or one that is connected. Returns when the part is to be sent again.
  template <typename Send>
  MonotonicTime Add(Part part, const Sender& sender, Send&& send) {
    const auto [request, open] = Enter(std::move(part), sender.now);
    SendPart(request, *open, sender, send);
    return open->send_again;
  }
  // Some of the call's rows come from elsewhere: it does not end before as many calls of Fill or Release.
  void Hold(CallId call) { ++calls_.at(call).open; }
  // A row of the call; nothing when the call has ended.
  void Fill(CallId call, uint32_t place, std::span<const float> row, std::vector<Completion>& completions);
  // The same for a row that is asked for in another way.
  void Release(CallId call, std::vector<Completion>& completions);
  bool Contains(CallId call) const { return calls_.contains(call); }
  // All parts have been added. A call of none ends here.
  void Added(CallId call, std::vector<Completion>& completions);
  // Nothing when there is no such call.
  void End(CallId call, const Status& status, std::vector<Completion>& completions);
  void Postpone(Duration pause);
  // Ends the calls whose time is over. Returns the next deadline.
  MonotonicTime EndOverdue(MonotonicTime now, const ShardMap& map, std::vector<Completion>& completions);
  void EndAll(const Status& status, std::vector<Completion>& completions);

  // --- messages

  // Those for a node that has just been connected.
  template <typename Send>
  void SendTo(NodeId peer, const Sender& sender, Send&& send) {
    for (auto& [request, open] : open_) {
      if (open.to == peer) SendPart(request, open, sender, send);
    }
  }
  // All, to the home of the first key: it sends on what belongs elsewhere.
  template <typename Send>
  void SendAll(const Sender& sender, Send&& send) {
    for (auto& [request, open] : open_) {
      open.to = sender.cluster.map().HomeOf(open.keys[0]);
      SendPart(request, open, sender, send);
    }
  }
  // The same for those that have not been answered in time. Returns when the next one is due.
  template <typename Send>
  MonotonicTime SendAgain(const Sender& sender, Send&& send) {
    MonotonicTime next = kNever;
    for (auto& [request, open] : open_) {
      if (sender.now >= open.send_again) {
        open.to = sender.cluster.map().HomeOf(open.keys[0]);
        SendPart(request, open, sender, send);
        open.backoff = std::min(open.backoff * 2, options_.resend_after_max);
        open.send_again = sender.now + open.backoff;
      }
      next = std::min(next, open.send_again);
    }
    return next;
  }
  // Nothing when the answer says nothing new, has to wait for the caller's rows (then `out` asks for them to be
  // revoked), or ends the call with an error. A call ends with the last of its keys.
  std::optional<Answered> Take(NodeId from, PullReply& reply, const ShardMap& map, WorkerOutputs& out);
  // The request is refused: its call ends.
  void Refused(RequestId request, const Status& status, std::vector<Completion>& completions);

  // --- where answers are received

  // Where the rows of an answer of `from` belong when they belong in one piece, `values` of them; else empty. No second
  // place is given before this one is free.
  std::span<float> PlaceOf(NodeId from, RequestId request, size_t values);
  // An answer that will be handled later gives its place back, with a copy of its rows.
  void TakeOutOfPlace(NodeId from, PullReply& reply);
  // The place is free. Returns the answers that have waited for that, which are to be taken now.
  std::vector<Answer> Revoked(RequestId request);
  // Requests whose answers are being received from this node.
  std::vector<RequestId> PlacedBy(NodeId peer) const;

  size_t in_flight() const { return open_.size(); }  // messages

 private:
  struct Call {
    MonotonicTime deadline;
    std::span<float> rows;
    std::vector<RequestId> messages;
    uint32_t open = 0;  // of these, and rows that are held
    bool in_place = true;
  };
  struct Open {
    CallId call;
    NodeId to;
    TableId table;
    uint32_t dim = 0;
    Slice<Key> keys;
    std::vector<uint32_t> places;
    std::vector<After> after;
    std::vector<bool> answered;  // per key, once an answer has come for some of them
    std::optional<NodeId> placed_by;
    std::vector<Answer> waiting;
    MonotonicTime send_again;
    Duration backoff{};
  };

  std::pair<RequestId, Open*> Enter(Part part, MonotonicTime now);
  Pull MessageOf(RequestId request, Open& open, const Sender& sender) const;
  template <typename Send>
  void SendPart(RequestId request, Open& open, const Sender& sender, Send&& send) const {
    if (open.to != sender.cluster.self() && !sender.cluster.IsConnected(open.to)) return;  // sent once it is
    send(open.to, MessageOf(request, open, sender));
  }
  std::span<float> RowsOf(const Open& open) const;  // of the caller; empty when they are not in one piece
  bool IsInPlace(const Open& open, NodeId from, const PullReply& reply) const;
  Status Timeout(const Call& call, const ShardMap& map) const;

  const Options options_;
  std::map<CallId, Call> calls_;
  std::map<RequestId, Open> open_;
  RequestId next_{1};
  std::vector<float> here_;  // scratch
};

}  // namespace attune::ps
