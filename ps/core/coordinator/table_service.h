// Tables that workers open and servers install (ps/core/progress/job_tables.h). Externally synchronized.
#pragma once

#include <vector>

#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/membership/takeover.h"
#include "ps/core/progress/job_tables.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class TableService {
 public:
  // Both outlive it.
  TableService(JobContext& job, Replies& replies)
      : job_(job), replies_(replies), tables_(job.options().load, job.options().load_timeout) {}

  // The request was taken up.
  void OnMessage(const MemberState& node, const OpenTable& message, CoordinatorOutputs& out);
  // True: the server had been asked, and may be given rows now.
  bool OnInstalled(const MemberState& server, const TableInstalled& message, CoordinatorOutputs& out);
  // Servers that are gone are waited for no more.
  void StopWaitingForTheGone(CoordinatorOutputs& out);
  void AskOpenersToWait(CoordinatorOutputs& out);

  // A server has joined, and must have them before it is given rows.
  void NoteJoined(NodeId server) { tables_.NoteJoined(server); }
  void NoteGone() { tables_.NoteGone(); }
  // Everything this server has been asked to do and has not reported.
  void SendOpenOrders(const MemberState& server, CoordinatorOutputs& out) const;

  bool HasAll(NodeId server) const { return tables_.HasAll(server); }
  std::vector<NodeId> ServersWithout() const { return tables_.ServersWithout(); }
  // Rows neither move nor are copied meanwhile.
  bool IsLoading() const { return tables_.IsLoading(); }
  std::vector<TableSpec> Specs() const { return tables_.Specs(); }

  void Restore(const CoordinatorRecord& record, const PreviousMembers& previous);
  void Fill(CoordinatorRecord& record) const { record.tables = tables_.Records(); }
  void SkipPause(Duration pause) { tables_.SkipPause(pause); }

 private:
  void AnswerWaiters(const std::vector<JobTables::Answer>& answers, CoordinatorOutputs& out);

  JobContext& job_;
  Replies& replies_;
  JobTables tables_;
};

}  // namespace attune::ps
