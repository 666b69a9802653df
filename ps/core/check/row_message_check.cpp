// Fields of row messages.
#include <algorithm>
#include <functional>
#include <string>

#include "ps/core/check/message_check.h"
#include "ps/core/keys/key_index.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

// The first thing that is wrong; null while nothing is.
class RowVerdict {
 public:
  void Require(bool holds, const char* what) {
    if (wrong_ == nullptr && !holds) wrong_ = what;
  }
  bool ok() const { return wrong_ == nullptr; }
  const char* wrong() const { return wrong_; }

 private:
  const char* wrong_ = nullptr;
};

void CheckNode(NodeId node, RowVerdict& verdict) {
  verdict.Require(node != NodeId() && node.value() <= kNodeIdMax, "a node id that is none");
}

void CheckTable(TableId table, RowVerdict& verdict) {
  verdict.Require(table != TableId() && table.value() <= kTablesMax, "a table id that is none");
}

template <typename Id>
void CheckNumber(Id number, RowVerdict& verdict) {
  verdict.Require(number.value() <= kNumberMax, "a number beyond any that can be reached");
}

void CheckStaleness(uint64_t staleness, RowVerdict& verdict) {
  verdict.Require(staleness == kNotMeasured || staleness >> RowVersion::kCounterBits == 0, "a staleness that is none");
}

void CheckPositions(const Positions& positions, RowVerdict& verdict) {
  if (positions.list.empty()) {
    verdict.Require(uint64_t{positions.first} + positions.count <= kKeysPerCallMax, "positions beyond any call's keys");
    return;
  }
  verdict.Require(std::ranges::adjacent_find(positions.list, std::greater_equal<>()) == positions.list.end(),
                  "positions that do not ascend");
  verdict.Require(positions.list.back() < kKeysPerCallMax, "positions beyond any call's keys");
}

void CheckPositions(const Positions& positions, size_t keys, RowVerdict& verdict) {
  CheckPositions(positions, verdict);
  verdict.Require(positions.size() == keys, "positions that do not fit the keys");
}

// What is counted per key would be counted twice.
void CheckUnique(const Slice<Key>& keys, RowVerdict& verdict) {
  if (!verdict.ok()) return;
  static thread_local KeySet seen;
  seen.Start(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (seen.FindOrInsert(keys[i], i) != i) return verdict.Require(false, "a key twice");
  }
}

void CheckRows(const RowBatch& rows, RowVerdict& verdict) {
  if (!rows.keys.empty()) CheckTable(rows.table, verdict);
  const size_t count = rows.keys.size();
  verdict.Require(rows.versions.size() == count, "versions that do not fit the keys");
  verdict.Require(rows.move_numbers.size() == count, "move numbers that do not fit the keys");
  verdict.Require(count == 0 ? rows.values.empty() : rows.values.size() % count == 0,
                  "values that do not fit the keys");
}

void CheckRecords(const Records& records, size_t keys, RowVerdict& verdict) {
  for (const FilterRecord& record : records.records) {
    CheckNode(record.origin, verdict);
    CheckNumber(record.sequence, verdict);
    verdict.Require(record.position < kKeysPerCallMax, "a record of a position beyond any call's keys");
    verdict.Require(record.key_index < keys, "a record of a key that is not in it");
  }
  for (const Settled& settled : records.settled) {
    CheckNode(settled.origin, verdict);
    CheckNumber(settled.acked_below, verdict);
  }
}

void CheckAfter(const std::vector<After>& after, size_t keys, RowVerdict& verdict) {
  for (const After& push : after) {
    verdict.Require(push.key_index < keys, "an open push of a key that is not in it");
    verdict.Require(push.position < kKeysPerCallMax, "an open push with a position beyond any call's keys");
    CheckNumber(push.sequence, verdict);
  }
}

void CheckEntries(const DirectoryBatch& entries, RowVerdict& verdict) {
  if (!entries.keys.empty()) CheckTable(entries.table, verdict);
  verdict.Require(entries.owners.size() == entries.keys.size(), "owners that do not fit the keys");
  verdict.Require(entries.move_numbers.size() == entries.keys.size(), "move numbers that do not fit the keys");
  for (const NodeId owner : entries.owners) CheckNode(owner, verdict);
}

// Each is looked at once.
void CheckShards(const std::vector<ShardId>& shards, RowVerdict& verdict) {
  verdict.Require(std::ranges::adjacent_find(shards, std::greater_equal<>()) == shards.end(),
                  "shards that do not ascend");
  verdict.Require(shards.empty() || shards.back().value() < kShardsMax, "a shard that no job has");
}

// --- one function per kind; kinds without any field that could be wrong fall into the template

template <typename Other>
void Check(const Other&, RowVerdict&) {}

// Identity and keys of a push or a copy of one.
template <typename Pushed>
void CheckPushed(const Pushed& pushed, RowVerdict& verdict) {
  CheckNode(pushed.origin, verdict);
  CheckTable(pushed.table, verdict);
  CheckNumber(pushed.sequence, verdict);
  CheckNumber(pushed.acked_below, verdict);
  verdict.Require(pushed.step <= kNumberMax, "a step beyond any that can be reached");
  verdict.Require(!pushed.keys.empty(), "no keys");
  CheckPositions(pushed.positions, pushed.keys.size(), verdict);
  verdict.Require(!pushed.keys.empty() && pushed.gradients.size() % pushed.keys.size() == 0,
                  "gradients that do not fit the keys");
  verdict.Require(pushed.folds.empty() || pushed.folds.size() == pushed.keys.size(), "folds that do not fit the keys");
  for (const FoldCounts& fold : pushed.folds) {
    verdict.Require(fold.pushes > 0 && fold.pushes <= kFoldPushesMax && fold.updates <= fold.pushes,
                    "a fold of pushes that cannot be");
  }
}

void Check(const Push& push, RowVerdict& verdict) {
  CheckPushed(push, verdict);
  verdict.Require(push.seen == RowVersion() || push.seen_index < push.keys.size(),
                  "a version of a key that is not in it");
}
void Check(const PushAck& ack, RowVerdict& verdict) {
  CheckNumber(ack.sequence, verdict);
  CheckPositions(ack.positions, verdict);
  CheckStaleness(ack.staleness, verdict);
}
void Check(const PushRefused& refused, RowVerdict& verdict) {
  CheckNumber(refused.sequence, verdict);
  CheckPositions(refused.positions, verdict);
}
void Check(const Pull& pull, RowVerdict& verdict) {
  CheckNode(pull.origin, verdict);
  CheckTable(pull.table, verdict);
  CheckNumber(pull.request, verdict);
  CheckNumber(pull.acked_below, verdict);
  verdict.Require(!pull.keys.empty(), "no keys");
  CheckPositions(pull.positions, pull.keys.size(), verdict);
  CheckAfter(pull.after, pull.keys.size(), verdict);
}
void Check(const PullReply& reply, RowVerdict& verdict) {
  CheckNumber(reply.request, verdict);
  CheckPositions(reply.positions, verdict);
  const size_t rows = reply.positions.size();
  verdict.Require(rows == 0 || reply.rows.size() % rows == 0, "values that do not fit the rows");
  verdict.Require(reply.versions.size() <= rows, "versions that do not fit the rows");
}
void Check(const PullRefused& refused, RowVerdict& verdict) { CheckNumber(refused.request, verdict); }
void Check(const Moved& moved, RowVerdict& verdict) {
  CheckNumber(moved.request, verdict);
  CheckNumber(moved.sequence, verdict);
}

void Check(const Localize& localize, RowVerdict& verdict) {
  CheckTable(localize.table, verdict);
  CheckNode(localize.to, verdict);
}
void Check(const MoveOrder& order, RowVerdict& verdict) {
  CheckTable(order.table, verdict);
  CheckNode(order.to, verdict);
  verdict.Require(order.move_numbers.size() == order.keys.size(), "move numbers that do not fit the keys");
  CheckUnique(order.keys, verdict);
}
void Check(const Handover& handover, RowVerdict& verdict) {
  verdict.Require(!handover.rows.keys.empty(), "no rows");
  CheckTable(handover.rows.table, verdict);
  CheckRows(handover.rows, verdict);
  CheckRecords(handover.records, handover.rows.keys.size(), verdict);
  CheckUnique(handover.rows.keys, verdict);
}

void Check(const Replicate& replicate, RowVerdict& verdict) {
  CheckPushed(replicate, verdict);
  verdict.Require(replicate.versions.size() == replicate.keys.size(), "versions that do not fit the keys");
  verdict.Require(replicate.probe || !replicate.gradients.empty(), "no gradients");
  CheckNode(replicate.owner, verdict);
  CheckStaleness(replicate.staleness, verdict);
}
void Check(const ReplicateRefused& refused, RowVerdict& verdict) { Check(refused.replicate, verdict); }
void Check(const InstallWanted& wanted, RowVerdict& verdict) { CheckTable(wanted.table, verdict); }
void Check(const Install& install, RowVerdict& verdict) {
  CheckTable(install.rows.table, verdict);
  CheckRows(install.rows, verdict);
  CheckRecords(install.records, install.rows.keys.size(), verdict);
}

void Check(const HomeHandoff& handoff, RowVerdict& verdict) {
  CheckEntries(handoff.entries, verdict);
  CheckShards(handoff.complete, verdict);
}
void Check(const OwnersReport& report, RowVerdict& verdict) { CheckEntries(report.entries, verdict); }
void Check(const FetchRows& fetch, RowVerdict& verdict) {
  if (!fetch.keys.empty()) CheckTable(fetch.table, verdict);
  if (!fetch.all_but) CheckUnique(fetch.keys, verdict);
  CheckShards(fetch.shards, verdict);
}
void Check(const FetchedRows& fetched, RowVerdict& verdict) {
  CheckRows(fetched.rows, verdict);
  CheckRecords(fetched.records, fetched.rows.keys.size(), verdict);
  CheckUnique(fetched.rows.keys, verdict);
}
void Check(const SnapshotRows& rows, RowVerdict& verdict) {
  CheckRows(rows.rows, verdict);
  CheckRecords(rows.records, rows.rows.keys.size(), verdict);
}

void Check(const Round& round, RowVerdict& verdict) {
  if (!round.keys.empty()) CheckTable(round.table, verdict);
  verdict.Require(round.number > 0 && round.number <= kNumberMax, "a number that no round has");
  verdict.Require(round.rounds_per_second <= kRoundsPerSecondMax, "more rounds a second than there can be");
  verdict.Require(round.picoseconds_per_byte <= kPicosecondsPerByteMax, "a price that no byte has");
  verdict.Require(round.uses.size() == round.keys.size(), "uses that do not fit the keys");
  CheckUnique(round.keys, verdict);
  CheckAfter(round.after, round.keys.size(), verdict);
}
void Check(const RoundReply& reply, RowVerdict& verdict) {
  if (!reply.keys.empty() || !reply.left.empty()) CheckTable(reply.table, verdict);
  verdict.Require(reply.number > 0 && reply.number <= kNumberMax, "a number that no round has");
  verdict.Require(reply.versions.size() == reply.keys.size(), "versions that do not fit the keys");
  verdict.Require(reply.keys.empty() ? reply.rows.empty() : reply.rows.size() % reply.keys.size() == 0,
                  "values that do not fit the keys");
  CheckUnique(reply.keys, verdict);
}
void Check(const CoordinatorAt& at, RowVerdict& verdict) {
  CheckNode(at.host, verdict);
  verdict.Require(at.address.size() <= kNameBytesMax, "an address that is too long");
}

}  // namespace

Status CheckRowMessage(const Message& message) {
  RowVerdict verdict;
  std::visit([&](const auto& body) { Check(body, verdict); }, message);
  if (verdict.ok()) return OkStatus();
  return Error(StatusCode::kInvalidArgument, std::string("malformed ") + NameOf(message) + ": " + verdict.wrong());
}

Status CheckMessage(const Message& message) {
  return IsRowMessage(message) ? CheckRowMessage(message) : CheckControlMessage(message);
}

// A worker's own pushes and pulls, and answers to them, are asked for again when they do not come.
Status CheckOrder(const Message& message, const LinkHeader& link) {
  const bool repeatable = IsAnswer(message) || std::holds_alternative<Push>(message) ||
                          std::holds_alternative<Pull>(message) || std::holds_alternative<LinkAck>(message) ||
                          std::holds_alternative<CoordinatorAt>(message) || !IsRowMessage(message);
  if (link.sequence != 0 || repeatable) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               std::string("malformed ") + NameOf(message) + ": it does not say where in the order it belongs");
}

}  // namespace attune::ps
