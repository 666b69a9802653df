#include "operator/controller/requests.h"

#include "operator/controller/text.h"

namespace attune::controller {
namespace {

v1::Synchronization ToProto(const api::Synchronization& from) {
  v1::Synchronization to;
  switch (from.mode) {
    case api::SyncMode::kAsync:
      to.set_mode(v1::Synchronization::ASYNC);
      break;
    case api::SyncMode::kBsp:
      to.set_mode(v1::Synchronization::BSP);
      break;
    case api::SyncMode::kSsp:
      to.set_mode(v1::Synchronization::SSP);
      break;
  }
  to.set_staleness(static_cast<uint32_t>(from.staleness.value_or(0)));
  return to;
}

void PlanSynchronization(const Observed& observed, const v1::JobWindow& window, Directives& directives,
                         RequestsView& view) {
  const api::Synchronization& wanted = observed.job.spec.synchronization;
  const api::Synchronization in_force = FromProto(window.synchronization());
  if (in_force == wanted) return;
  if (!window.abilities().synchronization_modes()) {
    view.synchronization_refused = "the servers of this job cannot switch to " + ToString(wanted) + " and go on with " +
                                   ToString(in_force) +
                                   "; set spec.synchronization back, or run the job with images that can";
    return;
  }
  v1::Directive directive;
  *directive.mutable_set_synchronization()->mutable_synchronization() = ToProto(wanted);
  const Reply reply = directives.AskCoordinator(
      "synchronization=" + ToString(wanted) + " of generation " + std::to_string(observed.job.generation), directive,
      ToString(wanted) + " is wanted");
  view.switching = reply.state != Reply::State::kRefused;
  if (reply.state == Reply::State::kRefused) {
    view.synchronization_refused = "switching to " + ToString(wanted) + " did not succeed: " + reply.message;
  }
}

void PlanCheckpoint(const Observed& observed, const v1::JobWindow& window, Directives& directives, RequestsView& view) {
  const std::string& request = observed.job.checkpoint_request;
  const auto& known = observed.job.status.checkpoint;
  if (request.empty() || (known && known->request == request)) return;
  if (!window.abilities().checkpoints()) {
    view.checkpoint = {request, "the servers of this job cannot write checkpoints while it runs"};
    return;
  }
  v1::Directive directive;
  directive.mutable_checkpoint()->set_directory(observed.job.spec.checkpoint.directory);
  const Reply reply = directives.AskCoordinator("checkpoint=" + request, directive, "a checkpoint was asked for");
  if (reply.state == Reply::State::kDone) view.checkpoint = {request, ""};
  if (reply.state == Reply::State::kRefused) view.checkpoint = {request, reply.message};
}

}  // namespace

api::Synchronization FromProto(const v1::Synchronization& from) {
  switch (from.mode()) {
    case v1::Synchronization::BSP:
      return {api::SyncMode::kBsp, std::nullopt};
    case v1::Synchronization::SSP:
      return {api::SyncMode::kSsp, from.staleness()};
    default:
      return {api::SyncMode::kAsync, std::nullopt};
  }
}

RequestsView PlanRequests(const Observed& observed, const ServersView& servers, Directives& directives, Draft& draft) {
  RequestsView view;
  const v1::JobWindow* window = directives.window();
  if (!servers.formed || window == nullptr) return view;
  PlanSynchronization(observed, *window, directives, view);
  PlanCheckpoint(observed, *window, directives, view);
  if (view.checkpoint && !view.checkpoint->problem.empty()) {
    draft.Warn(kEventCheckpointFailed, "Checkpoint",
               "The checkpoint asked for was not written: " + view.checkpoint->problem);
  }
  return view;
}

}  // namespace attune::controller
