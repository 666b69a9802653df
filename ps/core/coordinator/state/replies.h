// Requests of members and the answers to them. Each request is taken up once. Its answer waits until the copy of the
// coordinator's record at another server knows of it (record_mirror.h), for the next coordinator continues from there;
// and none leaves without the leader lease. Externally synchronized.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/record_mirror.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class Replies {
 public:
  // `job` outlives it.
  explicit Replies(JobContext& job) : job_(job), mirror_(job.options().term) {}

  // --- requests

  // True: it has not been seen before, and is to be taken up. An answer that was given already is sent again.
  static bool IsNew(MemberState& node, const RequestHeader& header, CoordinatorOutputs& out);
  // False: too many of one node are open, and it is refused. An answer is owed from then on.
  static bool TakeUp(MemberState& node, RequestId request, CoordinatorOutputs& out);
  void Reply(NodeId to, RequestId request, Message message, CoordinatorOutputs& out);
  // The same, to a request whose answer nothing waits for.
  void ReplyUnhurried(NodeId to, RequestId request, Message message, CoordinatorOutputs& out);
  void Refuse(NodeId to, RequestId request, Status why, CoordinatorOutputs& out) {
    Reply(to, request, Refused{.request = request, .status = std::move(why)}, out);
  }
  // Answers that may go out now; `all`: there is no other server to wait for.
  void Release(bool all, CoordinatorOutputs& out);

  // --- the copy

  // The record has changed, though no answer waits for it.
  void NoteChange() { mirror_.NoteChange(); }
  // A server that may have a copy of an earlier coordinator.
  void NoteOlderCopy(NodeId server) { mirror_.NoteOlderCopy(server); }
  // The server has a new connection.
  void RepeatTo(NodeId server) { mirror_.RepeatTo(server, job_.now()); }
  // True: the host has that copy, and answers may go out.
  bool Acknowledge(NodeId from, uint64_t number) { return mirror_.Acknowledge(from, number); }
  // Chooses the server that gets the copies. True when it is another one than before.
  bool ChooseHost();
  bool HasHost() const { return mirror_.host() != NodeId(); }
  // To whom a copy is to be sent now, with the number number(); nullptr: to none. `moved` as ChooseHost() returned it.
  const MemberState* CopyDue(bool moved);
  // Of the last copy sent.
  uint64_t number() const { return mirror_.number(); }
  // The number of the first copy that counts, which the next map is to name; nullopt: the newest map says so already,
  // or that cannot be decided now.
  std::optional<uint64_t> ToAnnounce();
  // The newest map names it.
  void NoteAnnounced() { mirror_.Announced(job_.map().version); }

 private:
  void Answer(NodeId to, RequestId request, Message message, bool hurries, CoordinatorOutputs& out);

  JobContext& job_;
  RecordMirror mirror_;
};

}  // namespace attune::ps
