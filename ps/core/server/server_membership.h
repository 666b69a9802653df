// A server's membership of its job, as far as the coordinator gives it: the number it has been given, and when it asks
// to join or for a newer map. Pure. Externally synchronized.
#pragma once

#include <optional>
#include <utility>

#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class ServerMembership {
 public:
  // `introduction`: what every Join of this process says. What was not answered is asked for again after that time.
  ServerMembership(Join introduction, Duration ask_again_after)
      : introduction_(std::move(introduction)), ask_again_after_(ask_again_after) {}

  // The connection to the coordinator.
  void Connected() { connected_ = true; }
  void Disconnected() { connected_ = false; }
  bool connected() const { return connected_; }

  // To be sent now. A number counts with a map only (`formed`): the coordinator that gave it may have been lost before
  // the job had formed.
  Join Ask(bool formed, uint32_t term, MonotonicTime now) {
    join_sent_ = now;
    if (!formed) node_ = NodeId();
    Join join = introduction_;
    join.node = node_;
    join.term = term;
    return join;
  }
  // When to ask again; kNever: there is an answer, or no coordinator to ask.
  MonotonicTime ask_again_at() const {
    return connected_ && node_ == NodeId() ? join_sent_ + ask_again_after_ : kNever;
  }
  // True: the number is new. A member keeps the one it has.
  bool Welcomed(NodeId node) {
    if (node_ != NodeId()) return false;
    node_ = node;
    return true;
  }
  NodeId node() const { return node_; }  // 0: no member yet
  // Whether the coordinator listens to what this server says of itself.
  bool CanReport() const { return connected_ && node_ != NodeId(); }

  // To be sent now, because a map newer than this one is needed. nullopt: it has been asked for lately, or no
  // coordinator is there.
  std::optional<MapRequest> AskForMap(MapVersion have, MonotonicTime now) {
    if (!connected_ || (map_asked_ && now < *map_asked_ + ask_again_after_)) return std::nullopt;
    map_asked_ = now;
    return MapRequest{.have = have};
  }

 private:
  const Join introduction_;
  const Duration ask_again_after_;
  NodeId node_;
  bool connected_ = false;
  MonotonicTime join_sent_{};
  std::optional<MonotonicTime> map_asked_;
};

}  // namespace attune::ps
