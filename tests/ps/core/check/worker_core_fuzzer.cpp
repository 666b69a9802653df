// A worker under whatever its coordinator and its fellow members send: every call ends at most once and with what it
// asked for, nothing is written to its rows afterwards (they are freed then), and rows of others never end it.
#include <map>

#include "base/check.h"
#include "ps/core/check/message_check.h"
#include "ps/core/worker/worker_core.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/ps/core/check/hostile_messages.h"

namespace attune::ps {
namespace {

constexpr NodeId kSelf(4);

class Harness {
 public:
  explicit Harness(uint64_t seed)
      : messages_(seed),
        core_({.job_uid = "job",
               .incarnation = 4,
               .address = "127.0.0.1:7004",
               .keys_per_message_max = 4,
               .create_store = [](const TableSpec& spec) { return TableStore::Create(spec); },
               .row_bytes_max = 1 << 20}) {
    Take(PeerConnected{.peer = kCoordinator});
    Take(JoinCall{.call = NewCall(), .deadline = kNever});
    Deliver(Welcome{.node = kSelf, .map = messages_.NextMap(kSelf), .servers_expected = 3, .servers_joined = 3});
    for (uint32_t i = 1; i <= HostileMessages::kNodes; ++i) {
      if (NodeId(i) != kSelf) Take(PeerConnected{.peer = NodeId(i)});
    }
    for (uint32_t table = 1; table <= HostileMessages::kTables; ++table) {
      const CallId call = NewCall();
      tables_.insert(call);
      Take(OpenTableCall{.call = call, .deadline = kNever, .spec = HostileMessages::Spec(table)});
      if (asked_ != RequestId()) Deliver(TableOpened{.request = asked_, .table = TableId(table)});
    }
  }

  bool ended() const { return ended_; }

  void Step(uint64_t seed) {
    messages_.Reseed(seed);
    Random& random = messages_.random();
    now_ += std::chrono::milliseconds(random.Below(300));
    const MonotonicTime deadline = now_ + std::chrono::seconds(1 + random.Below(20));
    const uint32_t table = 1 + static_cast<uint32_t>(random.Below(HostileMessages::kTables));
    const size_t dim = table == 2 ? 3 : 2;
    std::vector<Key> keys(1 + random.Below(6));
    for (Key& key : keys) key = random.Below(HostileMessages::kKeys);
    const size_t values = keys.size() * dim;
    switch (random.Below(30)) {
      case 0:
        return Deliver(MapUpdate{messages_.NextMap(kSelf)});
      case 1:
        return Take(Timer{});
      case 2:
        return Take(PeerConnected{.peer = Peer()});
      case 3:
        return Take(PeerDisconnected{.peer = Peer()});
      case 4:
      case 5:
      case 6: {
        const CallId call = NewCall();
        std::vector<float>& rows = rows_[call];
        rows.resize(values);
        return Take(PullCall{.call = call, .deadline = deadline, .table = TableId(table), .keys = keys, .rows = rows});
      }
      case 7:
      case 8:
      case 9:
        return Take(PushCall{.call = NewCall(),
                             .deadline = deadline,
                             .table = TableId(table),
                             .keys = keys,
                             .gradients = std::vector<float>(values, 0.5F)});
      case 10:
        return Take(LocalizeCall{.call = NewCall(), .deadline = deadline, .table = TableId(table), .keys = keys});
      case 11:
        return Take(StepCall{.call = NewCall(), .deadline = deadline, .loss = random.Uniform(), .samples = 3});
      case 12: {
        const CallId call = NewCall();
        leases_.insert(call);
        return Take(LeaseCall{.call = call, .deadline = deadline, .data_set = DataSetId(1)});
      }
      case 13:
        if (random.Chance(0.5)) return Take(AdvanceLease{LeaseId(1 + random.Below(9)), random.Below(60)});
        return Take(EndLease{LeaseId(1 + random.Below(9)), random.Below(60)});
      case 14:
        return Take(FlushCall{.call = NewCall(), .deadline = deadline});
      default:
        break;
    }
    if (random.Chance(0.3)) {
      if (auto message = messages_.OfCoordinator()) Deliver(*std::move(message));
      return;
    }
    const NodeId from = Peer();
    LinkHeader link{.sequence = ++sent_[from], .delivered = random.Below(20)};
    if (random.Chance(0.05)) link.sequence = random.Below(1000);
    auto message = messages_.Row(link);
    if (!message) return void(--sent_[from]);
    if (IsAnswer(*message)) --sent_[from], link = {};
    Take(Received{.from = from, .message = *std::move(message), .link = link}, true);
  }

 private:
  CallId NewCall() { return CallId(++calls_); }
  NodeId Peer() {
    const auto peer = static_cast<uint32_t>(1 + messages_.random().Below(HostileMessages::kNodes + 1));
    return NodeId(peer == kSelf.value() ? 1 : peer);
  }
  void Deliver(Message message) { Take(Received{.from = kCoordinator, .message = std::move(message), .term = 1}); }

  void Take(WorkerInput input, bool of_rows = false) {
    WorkerOutputs out;
    core_.Step(std::move(input), now_, out);
    ATTUNE_CHECK(!out.lost || !of_rows) << attune::ToString(*out.lost);
    ended_ = ended_ || out.lost;
    for (const Completion& completion : out.completions) {
      ATTUNE_CHECK(completed_.insert(completion.call).second) << "call " << completion.call << " ends twice";
      if (completion.status.ok() && tables_.contains(completion.call)) {
        ATTUNE_CHECK(std::holds_alternative<TableResult>(completion.result));
      }
      if (completion.status.ok() && leases_.contains(completion.call)) {
        ATTUNE_CHECK(std::holds_alternative<LeaseResult>(completion.result));
      }
      rows_.erase(completion.call);
    }
    for (const Outgoing& outgoing : out.send) {
      if (const auto* heartbeat = std::get_if<Heartbeat>(&outgoing.message)) beats_ = heartbeat->number;
      if (const RequestHeader* header = HeaderOf(outgoing.message)) asked_ = header->request;
      Status status = CheckMessage(outgoing.message);
      if (status.ok()) status = CheckOrder(outgoing.message, outgoing.link);
      ATTUNE_CHECK(status.ok()) << attune::ToString(status);
    }
    if (beats_ > answered_ && messages_.random().Chance(0.9)) {
      answered_ = beats_;
      Deliver(HeartbeatAck{.number = beats_, .sync = {}, .liveness = std::chrono::seconds(100)});
    }
  }

  HostileMessages messages_;
  std::map<CallId, std::vector<float>> rows_;  // of open pulls
  WorkerCore core_;
  MonotonicTime now_{};
  bool ended_ = false;
  uint64_t calls_ = 0, beats_ = 0, answered_ = 0;
  RequestId asked_;
  std::set<CallId> completed_, tables_, leases_;
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
