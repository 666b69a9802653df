// How much of its namespace the search of one job counts on. What policies leave changes with every other job, and a
// space of settings that changed as often would never be searched: what the search counts on narrows when a change has
// met the edge, and widens when there is clearly more. Whether a change fits at its moment is asked each time
// (change_gate.h). A plain value.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/observe/tuning_values.h"

namespace attune::controller {

class RoomInForce {
 public:
  // At each look; `now` in seconds.
  void Look(const NamespaceRoom& left, double now);
  // A change was refused: from the next look on what is left then is counted on.
  void Met() { met_ = true; }

  const NamespaceRoom& room() const { return room_; }
  // Differs where the search differs; "" without bounds.
  std::string Key() const;

  static constexpr double kMore = 1.25;  // this many times as much is clearly more
  static constexpr double kWidenEverySeconds = 600;

 private:
  NamespaceRoom room_;
  std::optional<double> since_;
  bool met_ = false;
};

}  // namespace attune::controller
