#include "tests/simulation/describe.h"

#include <sstream>

namespace attune::ps::simulation {
namespace {

struct Writer {
  std::ostringstream& text;

  template <typename List>
  void Keys(const List& keys) {
    text << " keys";
    for (const auto& key : keys) text << ' ' << key;
  }
  void Rows(const RowBatch& rows) {
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      text << " [key " << rows.keys[i];
      if (i < rows.versions.size()) text << " version " << rows.versions[i];
      if (i < rows.move_numbers.size()) text << " move " << rows.move_numbers[i];
      const size_t width = rows.values.size() / rows.keys.size() / 2;
      text << " pushes";
      for (size_t column = 0; column < width; ++column) {
        if (rows.values[i * width * 2 + column] != 0) text << ' ' << column;
      }
      text << ']';
    }
  }
  void TheRecords(const Records& records) {
    for (const FilterRecord& record : records.records) {
      text << " record(" << record.origin << '#' << record.sequence << " of #" << record.key_index << ')';
    }
    for (const Settled& settled : records.settled)
      text << " settled(" << settled.origin << "<=" << settled.acked_below << ')';
  }

  void operator()(const Push& m) {
    text << ' ' << m.origin << '#' << m.sequence << (m.by_home ? " by home" : "") << " acked<=" << m.acked_below;
    Keys(m.keys);
  }
  void operator()(const PushAck& m) {
    text << " #" << m.sequence << " positions";
    for (size_t i = 0; i < m.positions.size(); ++i) text << ' ' << m.positions.At(i);
  }
  void operator()(const PushRefused& m) { text << " #" << m.sequence << ' ' << attune::ToString(m.status); }
  void operator()(const Pull& m) {
    text << ' ' << m.origin << '#' << m.request << (m.by_home ? " by home" : "");
    Keys(m.keys);
    for (const After& after : m.after) text << " after #" << after.sequence;
  }
  void operator()(const PullReply& m) {
    text << " #" << m.request << " versions";
    for (const RowVersion version : m.versions) text << ' ' << version;
  }
  void operator()(const PullRefused& m) { text << " #" << m.request << ' ' << attune::ToString(m.status); }
  void operator()(const Localize& m) {
    text << " to " << m.to;
    Keys(m.keys);
  }
  void operator()(const MoveOrder& m) {
    text << " to " << m.to << " numbers";
    for (const uint16_t number : m.move_numbers) text << ' ' << number;
    Keys(m.keys);
  }
  void operator()(const Handover& m) {
    text << ' ' << m.handover;
    Rows(m.rows);
    TheRecords(m.records);
  }
  void operator()(const HandoverAck& m) { text << ' ' << m.handover << " arrived at " << m.arrived_at; }
  void operator()(const Replicate& m) {
    text << ' ' << m.origin << '#' << m.sequence << (m.probe ? " probe" : "") << (m.relayed ? " relayed" : "")
         << (m.ack_wanted ? "" : " no ack") << " versions";
    for (const RowVersion version : m.versions) text << ' ' << version;
    Keys(m.keys);
  }
  void operator()(const ReplicateRefused& m) { (*this)(m.replicate); }
  void operator()(const InstallWanted& m) { Keys(m.keys); }
  void operator()(const Install& m) {
    text << ' ' << m.install;
    Rows(m.rows);
    TheRecords(m.records);
  }
  void operator()(const InstallAck& m) { text << ' ' << m.install; }
  void operator()(const JoinMarker& m) { text << ' ' << m.join_id; }
  void Entries(const DirectoryBatch& entries) {
    for (size_t i = 0; i < entries.keys.size(); ++i) {
      text << " [key " << entries.keys[i] << " at " << entries.owners[i] << " move " << entries.move_numbers[i] << ']';
    }
  }
  void operator()(const HomeHandoff& m) {
    Entries(m.entries);
    for (const ShardId shard : m.complete) text << " shard " << shard << " complete";
  }
  void operator()(const CollectOwners& m) { text << " of " << m.recovered_at; }
  void operator()(const OwnersReport& m) {
    Entries(m.entries);
    text << (m.last ? " last" : "");
  }
  void operator()(const FetchRows& m) {
    Keys(m.keys);
    text << (m.all_but ? " all but these" : "") << (m.last ? " last" : "");
  }
  void operator()(const FetchedRows& m) {
    Rows(m.rows);
    TheRecords(m.records);
    text << (m.last ? " last" : "");
  }
  void operator()(const Round& m) {
    Keys(m.keys);
    text << " #" << m.number << (m.first ? " first" : "") << (m.last ? " last" : "");
  }
  void operator()(const RoundReply& m) {
    Keys(m.keys);
    text << " #" << m.number;
    if (!m.left.empty()) text << " takes back";
    for (const Key key : m.left) text << ' ' << key;
    text << (m.last ? " last" : "");
  }
  // Home and backup of each shard, and who is to be the next one.
  void operator()(const MapUpdate& m) {
    text << " is " << m.map.version << " with members";
    for (const Member& member : m.map.members) text << ' ' << member.node;
    text << ", shards";
    for (const Shard& shard : m.map.shards) {
      text << ' ' << shard.home << '/' << shard.backup;
      if (shard.next_backup != NodeId()) text << '+' << shard.next_backup;
    }
  }
  template <typename Other>
  void operator()(const Other&) {}
};

}  // namespace

std::string Describe(const Message& message) {
  std::ostringstream text;
  text << NameOf(message) << " (map " << MapVersionOf(message).counter() << ')';
  std::visit(Writer{text}, message);
  return text.str();
}

std::string Describe(const ShardMap& map) {
  std::ostringstream text;
  text << map.version << ": members";
  for (const Member& member : map.members) {
    text << ' ' << (member.role == Role::kServer ? "s" : "w") << member.node << (member.leaving ? "(leaving)" : "");
  }
  for (size_t i = 0; i < map.shards.size(); ++i) {
    const Shard& shard = map.shards[i];
    text << ", shard " << i << " home " << shard.home;
    if (shard.backup != NodeId()) text << " backup " << shard.backup;
    if (shard.next_backup != NodeId()) text << " next " << shard.next_backup << " since " << shard.join_id.counter();
  }
  if (map.recovered_at > MapVersion()) text << ", recovered at " << map.recovered_at.counter();
  return text.str();
}

}  // namespace attune::ps::simulation
