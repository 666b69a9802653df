// Two servers and a worker that may own rows, rows between them, and the marks of checkpoints. What a snapshot holds is
// compared with the rows as they were at the mark.
#include "ps/core/rows/cut_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "ps/store/table_store.h"

namespace attune::ps::cut_part_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NodeId kA{1}, kB{2}, kWorker{3}, kOwner{4};
constexpr TableId kTable{1};
const TableSpec kSpec{.name = "t", .options = {.dim = 2, .optimizer = Sgd{.rate = 1}}};

ShardMap TwoServers() {
  const NodeId servers[] = {kA, kB};
  ShardMap map;
  map.version = MapVersion(1, 1);
  map.shards = EvenShards(8, servers, false, map.version);
  map.members = {{.node = kA, .role = Role::kServer, .index = 0, .address = "a"},
                 {.node = kB, .role = Role::kServer, .index = 1, .address = "b"},
                 {.node = kWorker, .role = Role::kWorker, .index = 0},
                 {.node = kOwner, .role = Role::kWorker, .index = 1, .address = "c", .takes_rows = true}};
  return map;
}

Mark MarkOf(uint64_t cut, uint64_t base = 0, const std::string& directory = "/c") {
  return {.cut = CutId(cut), .checkpoint = cut, .base = base, .directory = directory, .clock = 5};
}

// A server's rows and its part in cuts; messages to the other one wait in `sent`.
class Node {
 public:
  explicit Node(NodeId self, bool writes = true)
      : rows(Options(writes)), part(writes ? std::optional(7U) : std::nullopt) {
    rows.SetSelf(self);
    rows.AdoptMap(TwoServers(), {}, out.rows);
    EXPECT_TRUE(rows.InstallTable(kTable, kSpec).ok());
    out = {};
  }
  static RowOptions Options(bool writes) {
    RowOptions options;
    options.create_store = [](const TableSpec& spec) { return TableStore::Create(spec); };
    options.snapshots_go_home = !writes;
    return options;
  }

  void Receive(NodeId from, Message message) {
    rows.Receive(from, std::move(message), {}, out.rows);
    part.GoOn(rows, out);
    Collect();
  }
  template <typename Input>
  void Control(const Input& input) {
    if constexpr (std::is_same_v<Input, Mark> || std::is_same_v<Input, SnapshotWritten>) {
      part.On(input, rows, {}, out);
    } else {
      part.On(input, rows, out);
    }
    Collect();
  }
  void Adopt(const ShardMap& map) {
    rows.AdoptMap(map, {}, out.rows);
    Collect();
  }
  void Push(const std::vector<Key>& keys, uint64_t sequence) {
    Receive(kWorker, ps::Push{.origin = kWorker,
                              .sequence = SequenceNumber(sequence),
                              .table = kTable,
                              .map_version = MapVersion(1, 1),
                              .acked_below = {},
                              .positions = {.first = 0, .count = static_cast<uint32_t>(keys.size()), .list = {}},
                              .keys = keys,
                              .gradients = std::vector<float>(keys.size() * 2, -1.0F)});
  }
  void MoveTo(NodeId to, const std::vector<Key>& keys) {
    Receive(kWorker, Localize{.map_version = MapVersion(1, 1), .table = kTable, .to = to, .keys = keys});
  }
  // Key -> how many pushes it holds.
  std::map<Key, uint64_t> TakeSnapshot() {
    std::map<Key, uint64_t> found;
    TableStore& store = *rows.tables()[0];
    const auto visit = [&](const RowView& row, bool changed) {
      EXPECT_EQ(row.values[0], static_cast<float>(row.version.counter()));
      if (changed || !changed_only) found[row.key] = row.version.counter();
    };
    while (store.NextRows(64, visit)) {
    }
    return found;
  }
  std::map<Key, uint64_t> Rows() const {
    std::map<Key, uint64_t> found;
    rows.tables()[0]->ForEachRow([&](const RowView& row) { found[row.key] = row.version.counter(); });
    return found;
  }
  template <typename Kind>
  std::vector<Kind> Said() {
    std::vector<Kind> said;
    std::erase_if(reported, [&](const Message& message) {
      if (!std::holds_alternative<Kind>(message)) return false;
      said.push_back(std::get<Kind>(message));
      return true;
    });
    return said;
  }

  CutPart::Outputs out;
  RowNode rows;
  CutPart part;
  std::vector<Message> reported;  // to the coordinator
  std::vector<Outgoing> sent;
  std::optional<SnapshotOrder> order;
  bool call_off = false;
  bool changed_only = false;

 private:
  void Collect() {
    for (Message& message : out.to_coordinator) reported.push_back(std::move(message));
    for (Outgoing& message : out.rows.send) {
      if (message.to != kWorker) sent.push_back(std::move(message));
    }
    if (out.write) {
      order = std::move(out.write);
      changed_only = order->changed_only;
    }
    call_off = call_off || out.call_off;
    EXPECT_FALSE(out.rows.lost);
    out = {};
  }
};

// Carries everything both ways until nothing is left.
void Carry(Node& a, Node& b) {
  while (!a.sent.empty() || !b.sent.empty()) {
    for (Outgoing& message : std::exchange(a.sent, {})) b.Receive(a.rows.self(), std::move(message.message));
    for (Outgoing& message : std::exchange(b.sent, {})) a.Receive(b.rows.self(), std::move(message.message));
  }
}

std::vector<Key> KeysOf(NodeId home, size_t count) {
  const ShardMap map = TwoServers();
  std::vector<Key> keys;
  for (Key key = 1; keys.size() < count; ++key) {
    if (map.HomeOf(key) == home) keys.push_back(key);
  }
  return keys;
}

void Write(Node& node, uint64_t cut) {
  node.Control(WriteSnapshot{.cut = CutId(cut)});
  ASSERT_TRUE(node.order);
}
SnapshotWritten Done(uint64_t cut, Status status = OkStatus()) {
  return {.cut = CutId(cut), .status = std::move(status), .files = {{.table = kTable, .name = "f"}}};
}

TEST(CutPartTest, PushesAfterTheMarkAreNotInTheSnapshot) {
  Node a(kA);
  const std::vector<Key> keys = KeysOf(kA, 500);
  a.Push(keys, 1);
  const auto before = a.Rows();
  a.Control(MarkOf(1));
  EXPECT_THAT(a.Said<MarkDone>(), ElementsAre(MarkDone{CutId(1)}));
  a.Push(keys, 2);
  a.Push(KeysOf(kA, 600), 3);
  Write(a, 1);
  EXPECT_EQ(a.order->part, 7U);
  EXPECT_FALSE(a.order->changed_only);
  EXPECT_EQ(a.TakeSnapshot(), before);
  a.Control(Done(1));
  EXPECT_THAT(a.Said<SnapshotDone>(), SizeIs(1));
}

TEST(CutPartTest, AnswersThatWereLostAreGivenAgain) {
  Node a(kA);
  a.Control(MarkOf(1));
  a.Control(MarkOf(1));
  EXPECT_THAT(a.Said<MarkDone>(), SizeIs(2));
  Write(a, 1);
  a.order.reset();
  a.Control(WriteSnapshot{.cut = CutId(1)});
  EXPECT_FALSE(a.order) << "it is being written already";
  a.Control(Done(1));
  a.Control(WriteSnapshot{.cut = CutId(1)});
  a.Control(MarkOf(1));
  EXPECT_THAT(a.Said<SnapshotDone>(), SizeIs(3));
}

TEST(CutPartTest, ARowHandedOverBeforeItsSendersMarkIsInTheReceiversSnapshot) {
  for (const bool receiver_marked_first : {false, true}) {
    Node a(kA), b(kB);
    const std::vector<Key> keys = KeysOf(kA, 20);
    a.Push(keys, 1);
    a.MoveTo(kB, keys);
    if (receiver_marked_first) b.Control(MarkOf(1));
    a.Control(MarkOf(1));
    EXPECT_THAT(a.Said<MarkDone>(), IsEmpty()) << "its rows are on their way";
    Carry(a, b);
    EXPECT_THAT(a.Said<MarkDone>(), SizeIs(1));
    if (!receiver_marked_first) b.Control(MarkOf(1));
    EXPECT_THAT(b.Said<MarkDone>(), SizeIs(1));
    b.Push(keys, 2);
    Write(a, 1);
    Write(b, 1);
    EXPECT_THAT(a.TakeSnapshot(), IsEmpty());
    std::map<Key, uint64_t> want;
    for (const Key key : keys) want[key] = 1;
    EXPECT_EQ(b.TakeSnapshot(), want);
  }
}

TEST(CutPartTest, ARowHandedOverAfterItsSendersMarkIsInTheSendersSnapshotOnly) {
  Node a(kA), b(kB);
  const std::vector<Key> keys = KeysOf(kA, 20);
  a.Push(keys, 1);
  a.Control(MarkOf(1));
  b.Control(MarkOf(1));
  a.MoveTo(kB, keys);
  Carry(a, b);
  b.Push(keys, 2);
  Write(a, 1);
  Write(b, 1);
  EXPECT_THAT(a.TakeSnapshot(), SizeIs(20));
  EXPECT_THAT(b.TakeSnapshot(), IsEmpty());
}

// All have marked and workers continue, but this server has not heard yet that it is to write.
TEST(CutPartTest, ARowThatComesBackFromANodeThatOwnsRowsSinceTheMarkIsNotWrittenAgain) {
  Node a(kA), later(kOwner, /*writes=*/false);
  const std::vector<Key> keys = KeysOf(kA, 20);
  a.Push(keys, 1);
  const auto before = a.Rows();
  a.Control(MarkOf(1));
  ShardMap next = TwoServers();
  next.version = MapVersion(1, 2);
  next.marked = CutId(1);
  for (Node* node : {&a, &later}) node->Adopt(next);
  a.MoveTo(kOwner, keys);
  Carry(a, later);
  later.Push(keys, 2);
  a.MoveTo(kA, keys);
  Carry(a, later);
  EXPECT_THAT(a.Rows(), SizeIs(20)) << "they are back";
  Write(a, 1);
  EXPECT_EQ(a.TakeSnapshot(), before);
}

TEST(CutPartTest, RowsOfANodeThatWritesNoFilesAreInTheSnapshotOfTheirHome) {
  Node home(kA), owner(kOwner, /*writes=*/false);
  const std::vector<Key> keys = KeysOf(kA, 20);
  home.Push(keys, 1);
  home.MoveTo(kOwner, keys);
  Carry(home, owner);
  for (const bool home_first : {true, false}) {
    const uint64_t cut = home_first ? 1 : 2;
    if (home_first) home.Control(MarkOf(cut));
    owner.Control(MarkOf(cut));
    EXPECT_THAT(owner.Said<MarkDone>(), IsEmpty()) << "its rows are not there yet";
    Carry(home, owner);
    EXPECT_THAT(owner.Said<MarkDone>(), SizeIs(1));
    if (!home_first) home.Control(MarkOf(cut));
    owner.Push(keys, cut + 1);
    Write(home, cut);
    std::map<Key, uint64_t> want;
    for (const Key key : keys) want[key] = cut;
    EXPECT_EQ(home.TakeSnapshot(), want);
    home.Control(Done(cut));
    owner.Control(WriteSnapshot{.cut = CutId(cut)});
    EXPECT_FALSE(owner.order);
    EXPECT_THAT(owner.Said<SnapshotDone>(), SizeIs(1));
  }
}

TEST(CutPartTest, ARowThatReachesANodeWithoutFilesUnmarkedIsHomeBeforeItsSenderHasMarked) {
  Node home(kA), owner(kOwner, /*writes=*/false);
  const std::vector<Key> keys = KeysOf(kA, 5);
  home.Push(keys, 1);
  home.MoveTo(kOwner, keys);
  owner.Control(MarkOf(1));
  home.Control(MarkOf(1));
  for (Outgoing& message : std::exchange(home.sent, {})) owner.Receive(kA, std::move(message.message));
  EXPECT_THAT(owner.sent, SizeIs(1)) << "the rows, and no acknowledgement yet";
  Carry(home, owner);
  EXPECT_THAT(home.Said<MarkDone>(), SizeIs(1));
  Write(home, 1);
  EXPECT_THAT(home.TakeSnapshot(), SizeIs(5));
}

TEST(CutPartTest, OnlyWhatHasChangedIsWrittenWhenThePartOfTheBaseIsItsOwn) {
  Node a(kA);
  const std::vector<Key> keys = KeysOf(kA, 100);
  a.Push(keys, 1);
  a.Control(MarkOf(1));
  Write(a, 1);
  a.TakeSnapshot();
  a.Control(Done(1));
  a.Push({keys[3], keys[4]}, 2);
  a.Control(MarkOf(2, /*base=*/1));
  Write(a, 2);
  EXPECT_THAT(a.TakeSnapshot(), SizeIs(2));
  a.Control(Done(2, Error(StatusCode::kResourceExhausted, "disk full")));
  a.Control(MarkOf(3, /*base=*/1));
  Write(a, 3);
  EXPECT_THAT(a.TakeSnapshot(), SizeIs(100)) << "its last part has failed";
  a.Control(Done(3));
  a.Control(MarkOf(4, /*base=*/3, "/elsewhere"));
  Write(a, 4);
  EXPECT_THAT(a.TakeSnapshot(), SizeIs(100)) << "another directory has another checkpoint 3";
}

TEST(CutPartTest, ARowThatArrivesAfterTheBaseCountsAsChanged) {
  Node a(kA), b(kB);
  const std::vector<Key> keys = KeysOf(kA, 10);
  a.Push(keys, 1);
  for (Node* node : {&a, &b}) {
    node->Control(MarkOf(1));
    Write(*node, 1);
    node->TakeSnapshot();
    node->Control(Done(1));
  }
  a.MoveTo(kB, {keys[0]});
  Carry(a, b);
  for (Node* node : {&a, &b}) {
    node->Control(MarkOf(2, /*base=*/1));
    Write(*node, 2);
  }
  EXPECT_THAT(a.TakeSnapshot(), IsEmpty());
  EXPECT_THAT(b.TakeSnapshot(), SizeIs(1));
}

TEST(CutPartTest, ACutThatHasEndedIsCalledOffAndTheNextBeginsWhenItsWriterHasStopped) {
  Node a(kA);
  a.Push(KeysOf(kA, 10), 1);
  a.Control(MarkOf(1));
  Write(a, 1);
  a.Control(CutEnded{.cut = CutId(1)});
  EXPECT_TRUE(a.call_off);
  a.Control(MarkOf(2));
  EXPECT_THAT(a.Said<MarkDone>(), SizeIs(1)) << "of the first; the second cannot begin yet";
  a.Control(Done(1, Error(StatusCode::kCancelled, "called off")));
  EXPECT_THAT(a.Said<SnapshotDone>(), IsEmpty());
  EXPECT_THAT(a.Said<MarkDone>(), ElementsAre(MarkDone{CutId(2)}));
  Write(a, 2);
  EXPECT_THAT(a.TakeSnapshot(), SizeIs(10));
  a.Control(CutEnded{.cut = CutId(3)});
  EXPECT_TRUE(a.order) << "another cut has nothing to do with it";
}

TEST(CutPartTest, ACutThatEndsBeforeItIsWrittenLeavesNoSnapshotBehind) {
  Node a(kA);
  a.Control(MarkOf(1));
  a.Control(CutEnded{.cut = CutId(1)});
  EXPECT_FALSE(a.call_off);
  a.Control(MarkOf(2));
  EXPECT_THAT(a.Said<MarkDone>(), SizeIs(2));
}

TEST(CutPartTest, PushesInFlightAtTheMarkAreRecorded) {
  Node a(kA);
  const std::vector<Key> keys = KeysOf(kA, 3);
  a.Push(keys, 1);
  a.Control(MarkOf(1));
  a.Push(keys, 2);
  Write(a, 1);
  ASSERT_THAT(a.order->filter.pushes, SizeIs(1));
  const FilterRecords::Push& push = a.order->filter.pushes[0];
  EXPECT_EQ(push.origin, kWorker.value());
  EXPECT_EQ(push.sequence, 1U);
  EXPECT_EQ(push.keys, keys);
  EXPECT_THAT(push.positions, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace attune::ps::cut_part_test
