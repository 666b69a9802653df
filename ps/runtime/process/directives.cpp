#include "ps/runtime/process/directives.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "attune/v1/telemetry.pb.h"
#include "proto/contract.h"
#include "proto/row_management.h"
#include "proto/sync_mode.h"
#include "ps/core/protocol/incarnation.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

StatusOr<NodeGone> FromNodeGone(const v1::NodeGone& gone) {
  const uint32_t pod = PodNumber(gone.pod_uid());
  if (gone.role() == contract::kRoleServer) return NodeGone{Role::kServer, gone.index(), pod};
  if (gone.role() == contract::kRoleWorker) return NodeGone{Role::kWorker, gone.index(), pod};
  return Error(StatusCode::kInvalidArgument, "'" + gone.role().substr(0, 32) + "' is neither server nor worker");
}

StatusOr<uint32_t> FromTerm(uint64_t term) {
  if (term >= 1 && term <= UINT32_MAX) return static_cast<uint32_t>(term);
  return Error(StatusCode::kInvalidArgument,
               "a coordinator of term " + std::to_string(term) + "; terms are 1 to 4294967295");
}

StatusOr<Voters> FromVoters(const v1::Voters& voters) {
  constexpr int kVotersMax = 1024;
  const auto& nodes = voters.nodes();
  const bool ascending = std::ranges::adjacent_find(nodes, std::greater_equal<>()) == nodes.end();
  if (nodes.empty() || nodes.size() > kVotersMax || !ascending || nodes.Get(0) == 0) {
    return Error(StatusCode::kInvalidArgument, "voters of map " + std::to_string(voters.map_version()) + " that are " +
                                                   std::to_string(nodes.size()) + " numbers; 1 to " +
                                                   std::to_string(kVotersMax) + ", ascending, are possible");
  }
  Voters result{.map_version = MapVersion(voters.map_version()), .nodes = {}};
  for (const uint32_t node : nodes) result.nodes.emplace_back(node);
  return result;
}

StatusOr<Command> FromHostCoordinator(const v1::HostCoordinator& wanted) {
  HostCoordinator command;
  ASSIGN_OR_RETURN(command.term, FromTerm(wanted.term()));
  if (wanted.has_voters()) {
    ASSIGN_OR_RETURN(command.voters, FromVoters(wanted.voters()));
  }
  return Command(std::move(command));
}

StatusOr<Command> FromConfirmLeader(const v1::ConfirmLeader& confirmed) {
  ConfirmLeader command;
  ASSIGN_OR_RETURN(command.term, FromTerm(confirmed.term()));
  ASSIGN_OR_RETURN(command.voters, FromVoters(confirmed.voters()));
  return Command(std::move(command));
}

}  // namespace

StatusOr<Command> ToCommand(const v1::Directive& directive) {
  switch (directive.kind_case()) {
    case v1::Directive::kSetSynchronization: {
      ASSIGN_OR_RETURN(const SyncMode mode, FromProto(directive.set_synchronization().synchronization()));
      return Command(SetSynchronization{mode});
    }
    case v1::Directive::kSetRowManagement: {
      ASSIGN_OR_RETURN(const RowManagement management, FromProto(directive.set_row_management().management()));
      return Command(SetRowManagement{management});
    }
    case v1::Directive::kCheckpoint:
      return Command(TakeCheckpoint{directive.checkpoint().directory()});
    case v1::Directive::kSetServers:
      if (directive.set_servers().servers() == 0) {
        return Error(StatusCode::kInvalidArgument, "a job without servers; at least one has to stay");
      }
      return Command(SetServers{directive.set_servers().servers()});
    case v1::Directive::kDrainServer:
      return Command(DrainServer{directive.drain_server().index()});
    case v1::Directive::kNodeGone: {
      ASSIGN_OR_RETURN(const NodeGone gone, FromNodeGone(directive.node_gone()));
      return Command(gone);
    }
    case v1::Directive::kHostCoordinator:
      return FromHostCoordinator(directive.host_coordinator());
    case v1::Directive::kConfirmLeader:
      return FromConfirmLeader(directive.confirm_leader());
    default:
      return Error(StatusCode::kUnimplemented, "this process does not know the directive; use images of one release");
  }
}

void AnswerBox::Put(uint64_t directive, const Status& status, const std::string& text, std::vector<std::string> lines) {
  const MutexLock lock(mutex_);
  if (!wake_ || answers_.size() >= kAnswersMax) return;
  Answer answer{directive, status.ok(), status.ok() ? text : std::string(attune::Message(status)), std::move(lines)};
  if (answer.text.size() > kTextBytesMax) answer.text.resize(kTextBytesMax);
  answers_.push_back(std::move(answer));
  wake_();
}

std::deque<AnswerBox::Answer> AnswerBox::TakeAll() {
  const MutexLock lock(mutex_);
  return std::exchange(answers_, {});
}

void AnswerBox::Close() {
  const MutexLock lock(mutex_);
  wake_ = {};
}

}  // namespace attune::ps
