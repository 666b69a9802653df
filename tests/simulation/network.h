// A network that delays, reorders, loses, repeats and breaks, between processes that are known by numbers. What a
// message is and who is alive is the caller's: it hands over what is to happen when one arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/simulation/world.h"

namespace attune::ps::simulation {

using Place = uint32_t;  // of a process in the network

struct NetworkFaults {
  double delay_max = 1;  // milliseconds, uniform from 0
  double loss = 0, duplicate = 0;
  double break_chance = 0;  // of the connection, per message
  double late_copy = 0;     // of what is in flight when a connection breaks, this share arrives all the same
  uint32_t queue = 0;       // of Send: what one has in flight to another; more is dropped, as at a full queue. 0: any
};

class Network {
 public:
  // `on_break`: a connection is to break.
  Network(World& world, NetworkFaults faults, std::function<void(Place, Place)> on_break)
      : world_(world), faults_(faults), on_break_(std::move(on_break)) {}

  Duration Delay(double factor = 1) {
    return FromMilliseconds(world_.random().Uniform() * faults_.delay_max * factor) + Duration(1);
  }
  // Arrives once, twice or never.
  void Send(Place from, Place to, std::function<void()> arrive);
  // Arrives after what was sent before, like the bytes of a stream; never when the connection breaks first.
  void SendInOrder(Place from, Place to, std::function<void()> arrive);
  // The draw whether the connection breaks, which Send makes by itself.
  void MayBreak(Place a, Place b);
  // What is in flight between the two is lost, but for late copies.
  void Cut(Place a, Place b) { ++generations_[Between(a, b)]; }

  // From now on nothing is lost, repeated or broken; delays stay.
  void Calm() { calm_ = true; }
  void SlowDown(Place from, Place to, double factor) { slow_wires_[{from, to}] = factor; }
  void SlowNobody() {
    slow_wires_.clear();
    slow_places_.clear();
  }
  void SlowDown(Place place, double factor) { slow_places_[place] = factor; }
  // Nothing passes between `these` and all others until Heal.
  void Partition(std::set<Place> these) { apart_ = std::move(these); }
  void Heal() { apart_.clear(); }
  // Nothing passes between these two, though both reach all others.
  void Sever(Place a, Place b) { severed_.insert(Between(a, b)); }
  void Mend(Place a, Place b) { severed_.erase(Between(a, b)); }
  void MendAll() { severed_.clear(); }
  bool Apart(Place a, Place b) const {
    return apart_.contains(a) != apart_.contains(b) || (!severed_.empty() && severed_.contains(Between(a, b)));
  }
  // A process that does not run, though others cannot know: what comes to it waits at its door, and fills the queues of
  // those who send it, until it runs again and finds everything at once.
  void Pause(Place place) { doors_.try_emplace(place); }
  void Resume(Place place);
  bool IsPaused(Place place) const { return !doors_.empty() && doors_.contains(place); }
  // At once, or when it runs again, in this order.
  void WhenAwake(Place place, std::function<void()> run);

 private:
  static std::pair<Place, Place> Between(Place a, Place b) { return {a < b ? a : b, a < b ? b : a}; }
  double Factor(Place from, Place to) const;

  World& world_;
  NetworkFaults faults_;
  std::function<void(Place, Place)> on_break_;
  bool calm_ = false;
  std::map<std::pair<Place, Place>, uint64_t> generations_;    // of the connection between two
  std::map<std::pair<Place, Place>, MonotonicTime> in_order_;  // last arrival, by direction
  std::map<std::pair<Place, Place>, double> slow_wires_;
  std::map<Place, double> slow_places_;
  std::set<Place> apart_;
  std::set<std::pair<Place, Place>> severed_;
  std::map<Place, std::vector<std::function<void()>>> doors_;  // of those that are paused
  std::map<std::pair<Place, Place>, uint32_t> under_way_;      // with NetworkFaults::queue
};

}  // namespace attune::ps::simulation
