// The Events of a fake cluster, as a person reads them.
#pragma once

#include <string>
#include <vector>

#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller {

// What Events with this reason say, in their order.
inline std::vector<std::string> Notes(const FakeCluster& cluster, const std::string& reason) {
  std::vector<std::string> notes;
  for (const EmitEvent& event : cluster.events()) {
    if (event.event_reason == reason) notes.push_back(event.note);
  }
  return notes;
}

}  // namespace attune::controller
