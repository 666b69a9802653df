// A coordinator, the first one or one that takes over, under whatever its members send: it sends nothing that they
// would refuse.
#include <vector>

#include "base/check.h"
#include "ps/core/check/message_check.h"
#include "ps/core/coordinator/coordinator_core.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/ps/core/check/hostile_messages.h"

namespace attune::ps {
namespace {

CoordinatorOptions OptionsOf(bool takeover) {
  return {.job_uid = "job",
          .term = takeover ? 2U : 1U,
          .takeover = takeover,
          .servers = HostileMessages::kServers,
          .shards = HostileMessages::kShards,
          .items = 60,
          .backups = 1,
          .host_index = 0};
}

class Harness {
 public:
  explicit Harness(uint64_t seed) : messages_(seed), core_(OptionsOf(seed % 2 == 1)) {
    (void)messages_.NextMap(NodeId(1));
    for (uint32_t i = 1; i <= HostileMessages::kNodes; ++i) {  // the connection of node i
      const bool server = i <= HostileMessages::kServers;
      Take(FromConnection{.from = ConnectionId(i),
                          .message = Join{.incarnation = i,
                                          .job_uid = "job",
                                          .role = server ? Role::kServer : Role::kWorker,
                                          .index = server ? i - 1 : i - HostileMessages::kServers - 1,
                                          .address = "127.0.0.1:" + std::to_string(7000 + i),
                                          .node = seed % 2 == 1 ? NodeId(i) : NodeId()}});
    }
  }

  void Step(uint64_t seed) {
    messages_.Reseed(seed);
    Random& random = messages_.random();
    now_ += std::chrono::milliseconds(random.Below(800));
    const ConnectionId from(1 + random.Below(HostileMessages::kNodes + 1));
    switch (random.Below(30)) {
      case 0:
        return Take(CoordinatorTimer{});
      case 1:
        if (random.Chance(0.2)) return Take(ConnectionClosed{.connection = from});
        return;
      case 2:
        return Take(
            FromOperator{.id = CommandId(++commands_), .command = AnyCommand(), .timeout = std::chrono::seconds(9)});
      case 3:
        if (random.Chance(0.2)) (void)messages_.NextMap(NodeId(1));
        return;
      default:
        if (auto message = messages_.OfNode()) Take(FromConnection{.from = from, .message = *std::move(message)});
    }
  }

 private:
  Command AnyCommand() {
    Random& random = messages_.random();
    const auto index = static_cast<uint32_t>(random.Below(HostileMessages::kServers + 1));
    switch (random.Below(7)) {
      case 6:
        return SetRowManagement{static_cast<RowManagement>(random.Below(3))};
      case 0:
        return SetSynchronization{random.Chance(0.5) ? SyncMode::Bsp() : SyncMode::Async()};
      case 1:
        return TakeCheckpoint{.directory = "/c"};
      case 2:
        return DrainServer{.index = index};
      case 3:
        return SetServers{.servers = 1 + index};
      case 4:
        return SetBackups{.backups = index % 2};
      default:
        return NodeGone{.role = random.Chance(0.5) ? Role::kServer : Role::kWorker, .index = index, .pod = 0};
    }
  }

  void Take(CoordinatorInput input) {
    CoordinatorOutputs out;
    core_.Step(std::move(input), now_, out);
    for (const ToConnection& sent : out.send) {
      const Status status = CheckMessage(sent.message);
      ATTUNE_CHECK(status.ok()) << attune::ToString(status);
    }
    (void)core_.progress();
    (void)core_.LastRecord();
    if (out.begin_checkpoint) {
      Take(CheckpointBegun{.cut = out.begin_checkpoint->cut, .status = {}, .checkpoint = ++checkpoints_});
    }
    if (out.commit_checkpoint) Take(CheckpointCommitted{.cut = out.commit_checkpoint->cut, .status = {}});
  }

  HostileMessages messages_;
  CoordinatorCore core_;
  MonotonicTime now_{};
  uint64_t commands_ = 0, checkpoints_ = 0;
};

}  // namespace
}  // namespace attune::ps

// Four bytes are a step.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attune::fuzz::Input input(data, size);
  attune::ps::Harness harness(input.Take<uint64_t>());
  while (!input.empty()) harness.Step(input.Take<uint32_t>());
  return 0;
}
