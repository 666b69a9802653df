#include "operator/controller/members/move_planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "operator/controller/members/move.h"
#include "operator/controller/observe/text.h"
#include "operator/controller/observe/timestamp.h"

namespace attune::controller {
namespace {

bool IsOurs(const Observed& observed, const ObservedPod& pod) {
  return IsServerOf(observed, pod) || IsWorkerOf(observed, pod);
}

const ObservedPod* FindByUid(const Observed& observed, const std::string& uid) {
  const auto found = std::ranges::find(observed.pods, uid, &ObservedPod::uid);
  return found == observed.pods.end() ? nullptr : &*found;
}

const ObservedPod* FindByName(const Observed& observed, const std::string& name) {
  const auto found = std::ranges::find_if(
      observed.pods, [&](const ObservedPod& pod) { return pod.name == name && IsOurs(observed, pod); });
  return found == observed.pods.end() ? nullptr : &*found;
}

bool IsLeaving(const ObservedPod& pod) { return IsBeingDeleted(pod) || pod.drain_deadline || pod.draining_since; }

// On one sign: what is given up for it has not begun to work.
bool IsOnLostNode(const Observed& observed, const ObservedPod& pod) {
  if (!observed.nodes || pod.node.empty()) return false;
  const auto node = observed.nodes->find(pod.node);
  return node == observed.nodes->end() || !node->second.ready;
}

std::string NameList(std::vector<std::string> names) {
  constexpr size_t kNamedMax = 8;
  std::ranges::sort(names);
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamedMax); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamedMax) text += " and " + std::to_string(names.size() - kNamedMax) + " more";
  return text.empty() ? "none" : text;
}

// --- whether it can be

// Why no pod can be made on another machine; "" when one may be. What is not known is no reason.
std::string CheckMachines(const Observed& observed, const std::string& from, const std::string& to) {
  if (!to.empty() && to == from) return "it runs on " + to + " already";
  if (!observed.machines) return "";
  std::vector<std::string> others;
  for (const scheduler::Machine& machine : *observed.machines) {
    if (machine.name != from) others.push_back(machine.name);
  }
  if (others.empty()) return "there is no other machine that takes pods";
  if (to.empty() || std::ranges::find(others, to) != others.end()) return "";
  return "\"" + FitText(to, 64) +
         "\" takes no pods: there is no machine of this name, it is not ready, or it is cordoned; others: " +
         NameList(std::move(others));
}

// Why this request is refused; "" when it is taken up.
std::string CheckRequest(const Observed& observed, const MoveFacts& facts, const api::MoveStatus& move,
                         const ObservedPod* pod) {
  if (facts.ends) return "the goal is reached, and the job ends";
  if (!facts.begun) return "the job has not begun to train";
  if (pod == nullptr) {
    std::vector<std::string> names;
    for (const ObservedPod& each : observed.pods) {
      if (IsOurs(observed, each)) names.push_back(each.name);
    }
    return "the job has no such pod; it has " + NameList(std::move(names));
  }
  if (IsLeaving(*pod)) return "it leaves the job already";
  if (!IsAlive(*pod)) return "it does not run";
  if (pod->role == RoleName::kServer && !facts.elastic)
    return "servers of this job cannot join and leave while it runs";
  return CheckMachines(observed, pod->node, move.to);
}

api::MoveStatus Begin(const Observed& observed, const MoveFacts& facts, Now now) {
  api::MoveStatus move{.request = observed.job.move_request, .state = api::kMoveRefused, .since = ToRfc3339(now.wall)};
  const auto request = ParseMoveRequest(move.request);
  if (!request) {
    move.ended = move.since;
    move.message = "the annotation attune.dev/move is \"" + FitText(move.request, 128) +
                   "\"; write POD or POD to=NODE, such as \"worker-1 to=node-2\"";
    return move;
  }
  const std::string prefix = observed.job.name + "-";
  move.pod = request->pod.starts_with(prefix) ? request->pod : prefix + request->pod;
  move.to = request->to;
  move.why = FitText(request->why, 200);
  const ObservedPod* pod = FindByName(observed, move.pod);
  const std::string problem = CheckRequest(observed, facts, move, pod);
  if (!problem.empty()) {
    move.ended = move.since;
    move.message = FitText(move.pod, 128) + " stays where it is: " + problem;
    return move;
  }
  move.pod_uid = pod->uid;
  move.from = pod->node;
  move.state = api::kMoving;
  move.message = move.pod + " moves from " + move.from + (move.to.empty() ? "" : " to " + move.to) +
                 (move.why.empty() ? "" : ", because " + move.why) +
                 (pod->role == RoleName::kWorker ? ": it stays until another worker has begun there"
                  : facts.servers >= 2           ? ": its rows move to the other servers first"
                                                 : ": its rows move to one more server first, which leaves afterwards");
  return move;
}

// --- how far it has come

class MoveFollower {
 public:
  MoveFollower(const Observed& observed, const MoveFacts& facts, const PlanOptions& options, Now now,
               const api::MoveStatus& move, Draft& draft)
      : observed_(observed),
        facts_(facts),
        options_(options),
        now_(now),
        move_(move),
        draft_(draft),
        is_server_(move.pod.starts_with(observed.job.name + "-" + ToString(RoleName::kServer) + "-")),
        old_(FindByUid(observed, move.pod_uid)) {}

  api::MoveStatus Run() {
    if (facts_.ends) return GiveUp("the goal is reached, and the job ends");
    const bool stays = old_ != nullptr && !IsLeaving(*old_) && !MayGo(observed_, *old_);
    if (observed_.job.move_request.empty() && stays) {
      return GiveUp("the request was withdrawn");
    }
    return is_server_ ? FollowServer() : FollowWorker();
  }

 private:
  api::MoveStatus FollowWorker() {
    const ObservedPod* other = StandInFor(observed_, move_.pod_uid);
    const bool goes = old_ == nullptr || IsLeaving(*old_) || HasEnded(*old_);
    if (other == nullptr) {
      return goes ? GiveUp(move_.pod + " left the job before another worker had taken its place")
                  : Wait("no other worker was made", nullptr);
    }
    if (HasEnded(*other)) return GiveUp(other->name + ", made to take its place, has ended");
    if (IsLeaving(*other)) return GiveUp(other->name + ", made to take its place, leaves the job");
    const bool has_begun = HasBegunToTrain(observed_, *other);
    if (!has_begun && IsOnLostNode(observed_, *other)) {
      return GiveUp("machine " + other->node + ", where " + other->name + " was to take its place, is lost");
    }
    if (!goes && !other->node.empty() && other->node == move_.from) {
      return GiveUp("no other machine had room: " + other->name + " was placed on " + other->node + ", too");
    }
    if (has_begun) return old_ == nullptr ? Moved(*other) : Look();  // it is asked to leave, and has its time for that
    return Wait("no other worker has begun to train", other);
  }

  api::MoveStatus FollowServer() {
    if (!IsWanted()) return GiveUp("it is not wanted now");
    if (old_ != nullptr) return Wait("its rows have not moved to the other servers", nullptr);
    const ObservedPod* next = FindByName(observed_, move_.pod);
    if (next == nullptr) return Wait("no other server was made", nullptr);
    if (!IsAlive(*next) || !facts_.serving.contains(next->index)) return Wait("its successor has no rows yet", next);
    if (next->node == move_.from) {
      return GiveUp("no other machine had room: it was placed on " + next->node + " again");
    }
    return Moved(*next);
  }

  // This server, by its name.
  bool IsWanted() const {
    for (int32_t index = 0; index < facts_.servers; ++index) {
      if (move_.pod == PodName(observed_.job.name, RoleName::kServer, index)) return true;
    }
    return false;
  }

  api::MoveStatus Look() {
    draft_.Requeue(kLookAgain, "the move of " + move_.pod);
    return move_;
  }

  api::MoveStatus Wait(const std::string& what, const ObservedPod* who) {
    const auto since = ParseRfc3339(move_.since);
    const Duration timeout = is_server_ ? options_.server_move_timeout : options_.worker_move_timeout;
    // By another operator's clock, perhaps: a begin in the future is none.
    const Duration passed = since ? std::max<Duration>(now_.wall - *since, Duration::zero()) : timeout;
    if (passed < timeout) {
      const Duration pause = who != nullptr && HasStarted(*who) ? kLookAgain : kLookLater;
      draft_.Requeue(std::min<Duration>(timeout - passed, pause), "the move of " + move_.pod);
      return move_;
    }
    std::string text =
        what + " within " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()) + " s";
    if (who != nullptr && !who->unschedulable_message.empty()) {
      text += "; " + who->name + " cannot be placed: " + who->unschedulable_message;
    } else if (who != nullptr && !who->container.reason.empty()) {
      text += "; " + who->name + ": " + who->container.reason;
    }
    return GiveUp(text);
  }

  api::MoveStatus GiveUp(const std::string& why) {
    api::MoveStatus next = move_;
    next.state = api::kMoveGivenUp;
    next.ended = ToRfc3339(now_.wall);
    next.message = "the move of " + move_.pod + " from " + move_.from + " was given up: " + FitText(why, 512);
    draft_.Requeue(kLookAgain, "what was begun is undone");
    return next;
  }

  api::MoveStatus Moved(const ObservedPod& to) {
    api::MoveStatus next = move_;
    next.state = api::kMoved;
    next.ended = ToRfc3339(now_.wall);
    next.to = to.node;
    next.message = move_.pod + " moved from " + move_.from + " to " + to.node;
    if (to.name != move_.pod) next.message += " as " + to.name;
    if (const auto since = ParseRfc3339(move_.since)) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_.wall - *since).count();
      next.message += " in " + std::to_string(std::max<int64_t>(seconds, 0)) + " s";
    }
    if (!move_.to.empty() && move_.to != to.node)
      next.message += "; " + move_.to + " was preferred, and the scheduler chose otherwise";
    if (!move_.why.empty()) next.message += "; " + move_.why;
    return next;
  }

  const Observed& observed_;
  const MoveFacts& facts_;
  const PlanOptions& options_;
  const Now now_;
  const api::MoveStatus& move_;
  Draft& draft_;
  const bool is_server_;
  const ObservedPod* const old_;  // null: it is gone
};

}  // namespace

std::optional<api::MoveStatus> NextMove(const Observed& observed, const MoveFacts& facts, const PlanOptions& options,
                                        Now now, Draft& draft) {
  const auto& before = observed.job.status.move;
  if (const api::MoveStatus* move = CurrentMove(observed)) {
    return MoveFollower(observed, facts, options, now, *move, draft).Run();
  }
  const std::string& request = observed.job.move_request;
  if (request.empty() || (before && before->request == request)) return before;
  api::MoveStatus begun = Begin(observed, facts, now);
  draft.Requeue(kLookAgain, "a request to move a pod");
  return begun;
}

void ReportMove(const std::optional<api::MoveStatus>& before, const std::optional<api::MoveStatus>& next,
                const Draft::Needs& written, Draft& draft) {
  if (!next || (before && before->state == next->state && before->request == next->request)) return;
  if (next->state == api::kMoving) draft.Normal(kEventMoveBegun, "MovePod", next->message, written);
  if (next->state == api::kMoved) draft.Normal(kEventPodMoved, "MovePod", next->message, written);
  if (next->state == api::kMoveRefused) draft.Warn(kEventMoveRefused, "MovePod", next->message, written);
  if (next->state == api::kMoveGivenUp) draft.Warn(kEventMoveGivenUp, "MovePod", next->message, written);
}

}  // namespace attune::controller
