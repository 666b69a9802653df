#include "tests/simulation/network.h"

#include <algorithm>
#include <memory>

namespace attune::ps::simulation {

double Network::Factor(Place from, Place to) const {
  double factor = 1;
  if (const auto it = slow_wires_.find({from, to}); it != slow_wires_.end()) factor = std::max(factor, it->second);
  for (const Place end : {from, to}) {
    if (const auto it = slow_places_.find(end); it != slow_places_.end()) factor = std::max(factor, it->second);
  }
  return factor;
}

void Network::Send(Place from, Place to, std::function<void()> arrive) {
  Random& random = world_.random();
  if (!calm_ && random.Chance(faults_.loss)) return;
  if (Apart(from, to)) return;
  uint64_t& generation = generations_[Between(from, to)];
  const auto shared = std::make_shared<const std::function<void()>>(std::move(arrive));
  uint32_t* const under_way = faults_.queue > 0 ? &under_way_[{from, to}] : nullptr;
  if (under_way != nullptr && *under_way >= faults_.queue) return world_.Count("dropped at full queues");
  const int copies = !calm_ && random.Chance(faults_.duplicate) ? 2 : 1;
  const double factor = Factor(from, to);
  for (int copy = 0; copy < copies; ++copy) {
    const bool late = random.Chance(faults_.late_copy);
    if (under_way != nullptr) ++*under_way;
    const auto come = [shared, under_way, &generation, sent = generation, late] {  // map nodes stay where they are
      if (under_way != nullptr) --*under_way;
      if (generation == sent || late) (*shared)();
    };
    world_.After(Delay(factor), [this, to, come] {
      if (!IsPaused(to)) return come();
      WhenAwake(to, come);
    });
  }
  MayBreak(from, to);
}

void Network::SendInOrder(Place from, Place to, std::function<void()> arrive) {
  if (Apart(from, to)) return;
  MonotonicTime& last = in_order_[{from, to}];
  last = std::max(last, world_.now() + Delay(Factor(from, to)));
  uint64_t& generation = generations_[Between(from, to)];
  world_.At(last, [&generation, sent = generation, arrive = std::move(arrive)] {
    if (generation == sent) arrive();
  });
}

void Network::WhenAwake(Place place, std::function<void()> run) {
  const auto door = doors_.find(place);
  if (door == doors_.end()) return run();
  door->second.push_back(std::move(run));
}

void Network::Resume(Place place) {
  const auto door = doors_.find(place);
  if (door == doors_.end()) return;
  const std::vector<std::function<void()>> waiting = std::move(door->second);
  doors_.erase(door);
  for (const std::function<void()>& run : waiting) run();
}

void Network::MayBreak(Place a, Place b) {
  if (calm_ || !world_.random().Chance(faults_.break_chance)) return;
  world_.After(Delay(), [this, a, b] { on_break_(a, b); });
}

}  // namespace attune::ps::simulation
