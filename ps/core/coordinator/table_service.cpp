#include "ps/core/coordinator/table_service.h"

#include <map>
#include <string>
#include <utility>

#include "ps/core/progress/differences.h"
#include "ps/core/protocol/limits.h"
#include "ps/store/formulas/table_options.h"

namespace attune::ps {
namespace {

std::string Difference(const TableOptions& here, const TableOptions& there) {
  Differences differences;
  differences.Compare("dim", here.dim, there.dim);
  differences.Compare("optimizer", Describe(here.optimizer), Describe(there.optimizer));
  differences.Compare("initializer", Describe(here.initializer), Describe(there.initializer));
  differences.Compare("seed", here.seed, there.seed);
  differences.Compare("rows_max", here.rows_max, there.rows_max);
  differences.Compare("schedule", Describe(here.schedule), Describe(there.schedule));
  differences.Compare("value_type", Describe(here.value_type), Describe(there.value_type));
  differences.Compare("non_finite_gradients", Describe(here.non_finite_gradients),
                      Describe(there.non_finite_gradients));
  return differences.text();
}

}  // namespace

void TableService::OnMessage(const MemberState& node, const OpenTable& message, CoordinatorOutputs& out) {
  const NodeId asker = node.member.node;
  const RequestId request = message.header.request;
  const auto refuse = [&](StatusCode code, const std::string& text) {
    replies_.Refuse(asker, request, Error(code, text), out);
  };
  if (message.spec.name.empty() || message.spec.name.size() > kNameBytesMax) {
    return refuse(StatusCode::kInvalidArgument, "a table's name has 1 to " + std::to_string(kNameBytesMax) + " bytes");
  }
  const JobTables::Waiter waiter{.node = asker, .request = request};
  if (const TableSpec* known = tables_.Find(message.spec.name)) {
    if (const std::string difference = Difference(message.spec.options, known->options); !difference.empty()) {
      return refuse(StatusCode::kFailedPrecondition, difference + "; all workers must say the same");
    }
    return AnswerWaiters(tables_.Wait(message.spec.name, waiter), out);
  }
  if (tables_.IsFull()) {
    return refuse(StatusCode::kResourceExhausted,
                  "the job has " + std::to_string(kTablesMax) + " tables, more are not allowed");
  }
  const TableId table = tables_.Open(message.spec, waiter, job_.members().Servers(), job_.now());
  job_.SendToAll(Role::kServer, tables_.OrderOf(table, job_.map().version), out);
}

bool TableService::OnInstalled(const MemberState& server, const TableInstalled& message, CoordinatorOutputs& out) {
  const NodeId id = server.member.node;
  const Status problem = message.status.ok() ? OkStatus() : Annotate(message.status, job_.members().Name(id));
  JobTables::Installed installed = tables_.OnInstalled(id, message.table, problem);
  if (!installed.event.empty()) out.events.push_back(std::move(installed.event));
  AnswerWaiters(installed.answers, out);
  return installed.changes;
}

void TableService::StopWaitingForTheGone(CoordinatorOutputs& out) {
  AnswerWaiters(tables_.StopWaitingForTheGone([this](NodeId id) { return job_.members().contains(id); }), out);
}

void TableService::AnswerWaiters(const std::vector<JobTables::Answer>& answers, CoordinatorOutputs& out) {
  for (const auto& [to, table, status] : answers) {
    if (status.ok()) {
      replies_.Reply(to.node, to.request, TableOpened{.request = to.request, .table = table}, out);
    } else {
      replies_.Refuse(to.node, to.request, status, out);
    }
  }
}

void TableService::AskOpenersToWait(CoordinatorOutputs& out) {
  for (const auto& [asker, request] : tables_.StillWaiting(job_.now())) {
    if (const MemberState* node = job_.members().Find(asker)) {
      JobContext::Send(*node, StillWorking{.request = request}, out);
    }
  }
}

void TableService::SendOpenOrders(const MemberState& server, CoordinatorOutputs& out) const {
  for (InstallTable& order : tables_.OrdersFor(server.member.node, job_.map().version)) {
    JobContext::Send(server, std::move(order), out);
  }
}

void TableService::Restore(const CoordinatorRecord& record, const PreviousMembers& previous) {
  tables_.SetLoad(record.load);
  std::map<TableId, TableSpec> found;
  for (const auto& [id, former] : previous) {
    if (!former.answer || job_.mutations().tables_numbered_anew) continue;
    for (const InstallTable& table : former.answer->tables) found.emplace(table.table, table.spec);
  }
  tables_.Restore(record.tables, found, job_.members().Servers(), job_.now());
}

}  // namespace attune::ps
