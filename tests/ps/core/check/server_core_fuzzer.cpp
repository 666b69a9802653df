// A server under whatever its coordinator and its fellow members send: rows of others never end it, and it sends
// nothing that others would refuse.
#include "base/check.h"
#include "ps/core/check/message_check.h"
#include "ps/core/server/server_core.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/ps/core/check/hostile_messages.h"

namespace attune::ps {
namespace {

constexpr NodeId kSelf(2);

class Harness {
 public:
  explicit Harness(uint64_t seed)
      : messages_(seed),
        core_({.job_uid = "job",
               .incarnation = 2,
               .index = 1,
               .address = "127.0.0.1:7002",
               .create_store = [](const TableSpec& spec) { return TableStore::Create(spec); }}) {
    Take(PeerConnected{.peer = kCoordinator});
    Deliver(Welcome{.node = kSelf, .map = messages_.NextMap(kSelf), .servers_expected = 3, .servers_joined = 3});
    for (uint32_t table = 1; table <= HostileMessages::kTables; ++table) {
      Deliver(InstallTable{TableId(table), HostileMessages::Spec(table), {}});
    }
  }

  bool ended() const { return ended_; }

  void Step(uint64_t seed) {
    messages_.Reseed(seed);
    Random& random = messages_.random();
    now_ += std::chrono::milliseconds(random.Below(300));
    switch (random.Below(40)) {
      case 0:
        return Deliver(MapUpdate{messages_.NextMap(kSelf)});
      case 1:
        return Take(Timer{});
      case 2:
        return Take(PeerConnected{.peer = Peer()});
      case 3:
        return Take(PeerDisconnected{.peer = Peer()});
      case 4:
        return Take(CoordinatorHere{.term = static_cast<uint32_t>(random.Below(3)), .port = 7});
      default:
        break;
    }
    if (random.Chance(0.2)) {
      if (auto message = messages_.OfCoordinator()) Deliver(*std::move(message));
      return;
    }
    const NodeId from = Peer();
    LinkHeader link{.sequence = ++sent_[from], .delivered = random.Below(20)};
    if (random.Chance(0.05)) link.sequence = random.Below(1000);
    auto message = messages_.Row(link);
    if (!message) return void(--sent_[from]);
    Take(Received{.from = from, .message = *std::move(message), .link = link}, true);
  }

 private:
  NodeId Peer() { return NodeId(static_cast<uint32_t>(1 + messages_.random().Below(HostileMessages::kNodes + 1))); }
  void Deliver(Message message) { Take(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }

  void Take(ServerInput input, bool of_rows = false) {
    ServerOutputs out;
    core_.Step(std::move(input), now_, out);
    ATTUNE_CHECK(!out.lost || !of_rows) << attune::ToString(*out.lost);
    ended_ = ended_ || out.lost || out.finished;
    for (const Outgoing& outgoing : out.send) {
      if (const auto* heartbeat = std::get_if<Heartbeat>(&outgoing.message)) beats_ = heartbeat->number;
      Status status = CheckMessage(outgoing.message);
      if (status.ok()) status = CheckOrder(outgoing.message, outgoing.link);
      ATTUNE_CHECK(status.ok()) << attune::ToString(status);
    }
    if (beats_ > answered_ && messages_.random().Chance(0.9)) {
      answered_ = beats_;
      Deliver(HeartbeatAck{.number = beats_, .sync = {}, .liveness = std::chrono::seconds(100)});
    }
    for (const LoadOrder& order : out.load) Take(TableLoaded{.order = order, .status = {}, .table = {}});
    for (const RestoreOrder& order : out.restore) {
      Take(RowsRead{.order = order, .status = {}, .rows = nullptr, .filter = {}});
    }
    if (out.write_snapshot) Take(SnapshotWritten{.cut = out.write_snapshot->cut, .status = {}, .files = {}});
  }

  HostileMessages messages_;
  ServerCore core_;
  MonotonicTime now_{};
  bool ended_ = false;
  uint64_t beats_ = 0, answered_ = 0;
  std::map<NodeId, uint64_t> sent_;
};

}  // namespace
}  // namespace attune::ps

// Four bytes are a step.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attune::fuzz::Input input(data, size);
  attune::ps::Harness harness(input.Take<uint64_t>());
  while (!input.empty() && !harness.ended()) harness.Step(input.Take<uint32_t>());
  return 0;
}
