// The identities of the protocol as types that do not mix. Each is a number that only grows within one job.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>

#include "ps/types/key.h"  // the identity of a row

namespace attune::ps {

template <typename Tag, typename Number>
class StrongId {
 public:
  using number_type = Number;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Number value) : value_(value) {}
  constexpr Number value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;
  constexpr StrongId Next() const { return StrongId(static_cast<Number>(value_ + 1)); }

  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << id.value_; }

 private:
  Number value_ = 0;
};

// A process that takes part. Given by the coordinator at join, from 1, never reused: a restarted process is a new node.
using NodeId = StrongId<struct NodeIdTag, uint32_t>;
// Where nodes send control messages, in whichever server the coordinator runs.
inline constexpr NodeId kCoordinator{0};

// One per Push call of a worker, over all tables and shards, from 1. (origin NodeId, SequenceNumber) names a push for
// ever; the unit of exactly-once is (origin, sequence, key).
using SequenceNumber = StrongId<struct SequenceNumberTag, uint64_t>;

// Numbers what a node asks and expects an answer to (pulls; requests to the coordinator), from 1 per node.
using RequestId = StrongId<struct RequestIdTag, uint64_t>;

// One of the fixed hash partitions of a job's keys.
using ShardId = StrongId<struct ShardIdTag, uint32_t>;

// Given by the coordinator, from 1.
using TableId = StrongId<struct TableIdTag, uint32_t>;
using DataSetId = StrongId<struct DataSetIdTag, uint32_t>;
using LeaseId = StrongId<struct LeaseIdTag, uint64_t>;
// Of a checkpoint in progress, rising; term of the coordinator in the upper half.
using CutId = StrongId<struct CutIdTag, uint64_t>;

// Of a node to the coordinator; given by the coordinator's shell, unique per coordinator.
using ConnectionId = StrongId<struct ConnectionIdTag, uint64_t>;

// Term of the coordinator in the upper 32 bits, counter in the lower, compared as one number. 0: no map yet.
class MapVersion {
 public:
  constexpr MapVersion() = default;
  constexpr explicit MapVersion(uint64_t value) : value_(value) {}
  constexpr MapVersion(uint32_t term, uint32_t counter) : value_((uint64_t{term} << 32) | counter) {}
  constexpr uint64_t value() const { return value_; }
  constexpr uint32_t term() const { return static_cast<uint32_t>(value_ >> 32); }
  constexpr uint32_t counter() const { return static_cast<uint32_t>(value_); }
  constexpr MapVersion Next() const { return MapVersion(value_ + 1); }
  constexpr auto operator<=>(const MapVersion&) const = default;

  friend std::ostream& operator<<(std::ostream& out, MapVersion version) {
    return out << version.term() << '.' << version.counter();
  }

 private:
  uint64_t value_ = 0;
};

}  // namespace attune::ps

template <typename Tag, typename Number>
struct std::hash<attune::ps::StrongId<Tag, Number>> {
  size_t operator()(attune::ps::StrongId<Tag, Number> id) const { return std::hash<Number>()(id.value()); }
};
