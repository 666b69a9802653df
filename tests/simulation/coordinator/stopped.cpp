// Processes that stand still, which the platform does not see, and clocks that run at speeds of their own.
#include <algorithm>
#include <utility>

#include "tests/simulation/coordinator/simulation.h"

namespace attune::ps::simulation {
namespace {

// The wait of an operator that hears nothing of a coordinator, and misses it in what others say.
constexpr Duration kSilenceNoticed = std::chrono::milliseconds(2500);

}  // namespace

MonotonicTime CoordinatorSimulation::ClockOf(size_t place) const {
  const auto passed = static_cast<double>((now() - MonotonicTime{}).count());
  return MonotonicTime{} + Duration(static_cast<int64_t>(passed * servers_[place].clock_rate));
}

MonotonicTime CoordinatorSimulation::WhenClockShows(size_t place, MonotonicTime time) const {
  if (time == kNever) return kNever;
  const auto passed = static_cast<double>((time - MonotonicTime{}).count());
  return MonotonicTime{} + Duration(static_cast<int64_t>(passed / servers_[place].clock_rate) + 1);
}

void CoordinatorSimulation::AfterAt(size_t place, Duration delay, std::function<void()> run) {
  After(delay, [this, place, run = std::move(run)] { network_.WhenAwake(PlaceOf({true, place}), run); });
}

// Mostly the coordinator's. One at a time, and while nothing else is lost: a copy that stands still while the other one
// is lost may be waited for without end.
void CoordinatorSimulation::StopProcess() {
  if (finished_ || any_stopped_ || !Settled() || !Chief().map().formed()) return;
  Party party{true, leaders_[chief_]->host};
  if (random().Chance(0.2)) party = {false, random().Below(workers_.size())};
  if (random().Chance(0.3)) party = {true, random().Below(servers_.size())};
  if (!Alive(party)) return;
  const bool coordinators = party.is_server && party.place == leaders_[chief_]->host;
  if (coordinators && !CopyIsSafe(party.place)) return;
  Trace(Name(party) + " stands still");
  Count(coordinators ? "coordinators stopped" : "others stopped");
  any_failure_ = any_stopped_ = true;
  any_server_died_ = any_server_died_ || party.is_server;  // its rows may be restored
  network_.Pause(PlaceOf(party));
  const Duration stopped = FromMilliseconds(random().Uniform() * (random().Chance(0.5) ? 12'000 : 4'000));
  After(stopped, [this, party, stopped] { Resume(party, stopped); });
  const Duration noticed = kSilenceNoticed + FromMilliseconds(random().Uniform() * 3000);
  if (coordinators && noticed < stopped) After(noticed, [this, leader = chief_] { FollowTheSilent(leader); });
}

void CoordinatorSimulation::Resume(Party party, Duration stopped) {
  Trace(Name(party) + " runs again");
  any_stopped_ = false;
  if (!party.is_server) {
    for (auto& [call, deadline] : workers_[party.place]->calls) deadline += stopped;
  }
  for (auto& [id, asked] : commands_) asked.until += stopped;
  network_.Resume(PlaceOf(party));
}

// The operator does not know whether it is dead. What it does may come at any time, also when the process runs again.
void CoordinatorSimulation::FollowTheSilent(size_t leader) {
  if (finished_ || leader + 1 != leaders_.size() || !leaders_[leader]->alive || appointing_) return;
  Count("silent coordinators followed");
  any_failure_ = true;
  Appoint({}, UINT32_MAX);
}

// OneLeader, at every step of a coordinator: a leader begins with a step, and its lease ends with time.
void CoordinatorSimulation::CheckOneLeader() {
  std::string acting;
  size_t count = 0;
  for (const auto& leader : leaders_) {
    if (!leader->alive || !leader->core->MayAct(ClockOf(leader->host))) continue;
    ++count;
    acting += (acting.empty() ? "" : " and ") + std::to_string(leader->term);
  }
  if (count > 1) Violation("OneLeader: coordinators of terms " + acting + " may act at one time");
}

}  // namespace attune::ps::simulation
