// What a plan asks of running processes: each request has a key, is sent once, and again when its answer was lost or
// its refusal is old. What was sent and answered is part of the observation; a restarted operator simply asks again,
// and the other side takes a repetition as such.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"

namespace attune::controller {

// What the leading coordinator said last; null before it has, and while a newly appointed one has not yet.
const v1::JobWindow* CurrentWindow(const Observed& observed);
// Of a server, as the coordinator sees it; nullopt: no member.
std::optional<v1::ServerState::State> StateOf(const v1::JobWindow& window, int32_t index);
// Members that hold rows or are to. A coordinator that does not list its members counts them.
uint32_t MemberCount(const v1::JobWindow& window);
bool IsMember(const v1::JobWindow& window, int32_t index);

// Its sidecar's stream is open.
bool IsConnected(const Observed& observed, const ObservedPod& pod);
// The pod that status.coordinator names; null when there is none.
const ObservedPod* CoordinatorPod(const Observed& observed);

struct Reply {
  enum class State {
    kUnreachable,  // no process to ask now: no such pod, or its sidecar is away
    kWaiting,
    kDone,
    kRefused,  // `message` says why; asked again after a while
  };
  State state = State::kUnreachable;
  std::string message;
};

class Directives {
 public:
  // All must outlive it.
  Directives(const Observed& observed, const PlanOptions& options, Now now, Draft& draft)
      : observed_(observed), options_(options), now_(now), draft_(draft) {}

  // `key` must differ for whatever is to be done again.
  Reply Ask(const ObservedPod& pod, const std::string& key, const v1::Directive& directive, const std::string& reason);
  // The server that runs the coordinator. One that another has succeeded answers nothing any more, so what is open then
  // is asked of its successor at once: keys of answers have the term (KeyInTerm).
  Reply AskCoordinator(const std::string& key, const v1::Directive& directive, const std::string& reason);
  std::string KeyInTerm(const std::string& key) const;

  const v1::JobWindow* window() const { return CurrentWindow(observed_); }

 private:
  Duration RetryDelay(const v1::Directive& directive, uint32_t refusals) const;

  const Observed& observed_;
  const PlanOptions& options_;
  const Now now_;
  Draft& draft_;
};

}  // namespace attune::controller
