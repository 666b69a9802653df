// Messages as a member may send them that is broken or means harm: mostly what an honest one could say in a small job,
// with numbers here and there that no honest one says. They go through the real encoder, are damaged as bytes now and
// then, and come back through the real decoder; what that refuses never reaches a core. For the fuzzers of the cores.
//
// The job: nodes 1 to 3 are servers, 4 and 5 workers; tables 1 (Sgd) and 2 (Adagrad); keys 0 to 23 in 8 shards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

class HostileMessages {
 public:
  static constexpr uint32_t kServers = 3, kNodes = 5, kTables = 2, kKeys = 24, kShards = 8;

  explicit HostileMessages(uint64_t seed);

  Random& random() { return random_; }
  // What follows depends on this seed alone, so inputs can be cut and joined.
  void Reseed(uint64_t seed) { random_ = Random(seed); }
  // As a decoder gives them; empty: refused there, or not even encoded.
  std::optional<Message> Row(const LinkHeader& link);
  std::optional<Message> OfNode();
  std::optional<Message> OfCoordinator();

  // The map that honest members have, under which most messages are sent.
  const ShardMap& map() const { return map_; }
  // The next one: homes, backups, members and recoveries at random, valid, `self` among them.
  ShardMap NextMap(NodeId self);

  // 1: `dim` 2, Sgd; 2: `dim` 3, Adagrad.
  static TableSpec Spec(uint32_t table);
  CoordinatorRecord Record();

 private:
  // Seldom a number that no honest node says.
  uint64_t Number(uint64_t below);
  NodeId Node() { return NodeId(static_cast<uint32_t>(1 + Number(kNodes))); }
  TableId Table() { return TableId(static_cast<uint32_t>(1 + Number(kTables))); }
  SequenceNumber Sequence() { return SequenceNumber(1 + Number(12)); }
  MapVersion Version();
  RowVersion OfRow();
  double Fraction();
  size_t WidthOf(TableId table, bool with_state);
  std::vector<Key> Keys(size_t count);
  Positions PositionsOf(size_t count);
  std::vector<float> Values(size_t count);
  template <typename T, typename Make>
  std::vector<T> Some(size_t count, Make make);
  RowBatch Rows();
  Records RecordsOf(size_t keys);
  DirectoryBatch Entries();
  template <typename Pushed>
  void Fill(Pushed& pushed);
  Message AnyRow();
  Message AnyOfNode();
  Message AnyOfCoordinator();
  Heartbeat Standing();
  SyncState Sync();
  RequestHeader Header() { return {RequestId(1 + Number(40)), RequestId(Number(8)), Duration(Number(1000000000))}; }
  void Damage(std::span<std::byte> bytes);

  Random random_;
  ShardMap map_;
};

}  // namespace attune::ps
