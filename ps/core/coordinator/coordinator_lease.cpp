// When this coordinator may act (ps/core/membership/leadership.h): what follows from a change of that, and
// confirmations by the operator.
#include "ps/core/coordinator/coordinator_core.h"

namespace attune::ps {

void CoordinatorCore::CheckLease(MonotonicTime now, CoordinatorOutputs& out) {
  const bool held = leadership_.Held(now);
  if (const std::optional<bool> leads = leadership_.NoteHeld(now)) {
    out.events.push_back(*leads ? "a majority of the servers supports the coordinator; it continues"
                                : "the coordinator lacks the support of a majority of the servers; it suspends until "
                                  "they are heard of, proven gone, or the operator confirms it");
  }
  leadership_.WantConfirmation(map_, IsFinished(), now);
  if (held && map_.formed() && leadership_.NeedsOtherVoters(map_, now)) PublishMembers(out);
}

void CoordinatorCore::OnCommand(CommandId id, const ConfirmLeader& command, MonotonicTime, CoordinatorOutputs& out) {
  if (command.term != options_.term) {
    return Answer(
        id,
        Error(StatusCode::kFailedPrecondition, "a confirmation of term " + std::to_string(command.term) +
                                                   " for the coordinator of term " + std::to_string(options_.term)),
        {}, out);
  }
  if (!command.voters.nodes.empty() && leadership_.Confirm(command.voters)) {
    out.events.push_back("the operator confirms the coordinator with " + std::to_string(command.voters.nodes.size()) +
                         " voters");
    CheckLease(times_.now(), out);
    return Answer(id, OkStatus(), {}, out);
  }
  Answer(id, Error(StatusCode::kFailedPrecondition, "the confirmation is older than the voters in force"), {}, out);
}

}  // namespace attune::ps
