#include "operator/controller/members/move.h"

#include <algorithm>
#include <chrono>

#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

constexpr std::string_view kTo = "to=", kWhy = "why=", kId = "id=", kSpace = " \t\n";

std::string_view TakeWord(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

}  // namespace

std::optional<MoveRequest> ParseMoveRequest(std::string_view text) {
  MoveRequest request;
  request.pod = TakeWord(text);
  if (request.pod.empty() || request.pod.find('=') != std::string::npos) return std::nullopt;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    if (text.empty()) return request;
    if (text.starts_with(kWhy)) {
      request.why = text.substr(kWhy.size());
      return request;
    }
    const std::string_view word = TakeWord(text);
    if (word.starts_with(kTo)) {
      request.to = word.substr(kTo.size());
    } else if (!word.starts_with(kId)) {
      return std::nullopt;
    }
  }
}

std::string ToText(const MoveRequest& request, const std::string& id) {
  std::string text = request.pod;
  if (!request.to.empty()) text += " to=" + request.to;
  if (!id.empty()) text += " id=" + id;
  if (!request.why.empty()) text += " why=" + request.why;
  return text;
}

std::optional<Draft::Ref> RequestMove(const Observed& observed, const ObservedPod& pod, const std::string& to,
                                      const std::string& why, Now now, Draft& draft) {
  const std::string& last = observed.job.move_request;
  const auto& move = observed.job.status.move;
  const bool answered = last.empty() || (move && move->request == last);
  if (!answered || CurrentMove(observed) != nullptr) return std::nullopt;
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now.wall.time_since_epoch()).count();
  kube::Json patch;
  patch["metadata"]["uid"] = observed.job.uid;
  patch["metadata"]["annotations"][api::kAnnotationMove] =
      ToText({.pod = pod.name, .to = to, .why = why}, std::to_string(time));
  return draft.Create(PatchJob{std::move(patch), pod.name + " is to move: " + why});
}

const api::MoveStatus* CurrentMove(const Observed& observed) {
  const auto& move = observed.job.status.move;
  return move && move->state == api::kMoving ? &*move : nullptr;
}

bool IsBeingMoved(const Observed& observed, const ObservedPod& pod) {
  const api::MoveStatus* move = CurrentMove(observed);
  return move != nullptr && move->pod_uid == pod.uid;
}

bool NeedsOneMoreServer(const Observed& observed) {
  const api::MoveStatus* move = CurrentMove(observed);
  return move != nullptr && observed.job.spec.servers.replicas == 1 &&
         move->pod == PodName(observed.job.name, RoleName::kServer, 0);
}

bool HasAllPods(const Observed& observed) {
  int32_t servers = 0, workers = 0;
  for (const ObservedPod& pod : observed.pods) {
    const bool is_server = IsServerOf(observed, pod);
    if (!is_server && !IsWorkerOf(observed, pod)) continue;
    if (!IsAlive(pod) || !pod.ready || pod.drain_deadline || pod.draining_since) return false;
    ++(is_server ? servers : workers);
  }
  return servers == observed.job.spec.servers.replicas && workers == observed.job.spec.workers.replicas;
}

bool IsTooSoonAgain(const Observed& observed, std::string_view why, Now now) {
  const auto& last = observed.job.status.move;
  if (!last || !last->why.starts_with(why)) return false;
  if (last->state != api::kMoveRefused && last->state != api::kMoveGivenUp) return false;
  const auto ended = ParseRfc3339(last->ended);
  return ended && now.wall >= *ended && now.wall - *ended < kMoveRetry;
}

const ObservedPod* StandInFor(const Observed& observed, const std::string& uid) {
  const auto found = std::ranges::find_if(observed.pods, [&](const ObservedPod& pod) {
    return !uid.empty() && IsWorkerOf(observed, pod) && pod.stands_in_for == uid;
  });
  return found == observed.pods.end() ? nullptr : &*found;
}

const telemetry::PodSample* ReportOf(const Observed& observed, const ObservedPod& pod) {
  const auto found = std::ranges::find_if(observed.sample.pods, [&](const telemetry::PodSample& sample) {
    return sample.pod == pod.name && (sample.pod_uid.empty() || sample.pod_uid == pod.uid);
  });
  return found == observed.sample.pods.end() ? nullptr : &*found;
}

bool HasBegunToTrain(const Observed& observed, const ObservedPod& worker) {
  const telemetry::PodSample* sample = ReportOf(observed, worker);
  return IsAlive(worker) && worker.ready && sample != nullptr && sample->connected &&
         sample->window.worker().clock() > 0;
}

bool MayGo(const Observed& observed, const ObservedPod& worker) {
  if (!IsBeingMoved(observed, worker)) return false;
  const ObservedPod* other = StandInFor(observed, worker.uid);
  return other != nullptr && other->node != worker.node && HasBegunToTrain(observed, *other);
}

}  // namespace attune::controller
