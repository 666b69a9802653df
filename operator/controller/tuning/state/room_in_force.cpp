#include "operator/controller/tuning/state/room_in_force.h"

#include <cstdint>

namespace attune::controller {
namespace {

// Another bound than before is in force at once: a policy was made or deleted.
bool IsOther(const std::optional<int64_t>& in_force, const std::optional<int64_t>& left) {
  return in_force.has_value() != left.has_value();
}

// Their limit of CPU is a matter of the search.
bool AreOther(const PodClaim& in_force, const PodClaim& left) {
  return in_force.millicores != left.millicores || in_force.bytes != left.bytes ||
         in_force.limit.has_value() != left.limit.has_value();
}

bool IsClearlyMore(const std::optional<int64_t>& in_force, const std::optional<int64_t>& left) {
  return in_force && left && static_cast<double>(*left) > RoomInForce::kMore * static_cast<double>(*in_force);
}

}  // namespace

void RoomInForce::Look(const NamespaceRoom& left, double now) {
  const bool other = !since_ || IsOther(room_.millicores, left.millicores) || IsOther(room_.bytes, left.bytes) ||
                     AreOther(room_.pods.server, left.pods.server) || AreOther(room_.pods.worker, left.pods.worker);
  const bool more = IsClearlyMore(room_.millicores, left.millicores) || IsClearlyMore(room_.bytes, left.bytes);
  if (!other && !met_ && !(more && now - *since_ >= kWidenEverySeconds)) return;
  room_ = left;
  room_.others_changing = 0;  // no matter of the search
  since_ = now;
  met_ = false;
}

std::string RoomInForce::Key() const {
  std::string key;
  if (room_.millicores) key += "room-cpu" + std::to_string(*room_.millicores) + " ";
  if (room_.bytes) key += "room-memory" + std::to_string(*room_.bytes) + " ";
  return key;
}

}  // namespace attune::controller
