// One server's rows under whatever its fellow members send: it neither ends nor sends what others would refuse.
#include "base/check.h"
#include "ps/core/check/message_check.h"
#include "ps/core/rows/row_node.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/ps/core/check/hostile_messages.h"

namespace attune::ps {
namespace {

constexpr NodeId kSelf(1);

class Harness {
 public:
  explicit Harness(uint64_t seed)
      : messages_(seed),
        rows_({.create_store = [](const TableSpec& spec) { return TableStore::Create(spec); },
               .rows_per_message_max = 3,
               .installs_in_flight_max = 2}) {
    rows_.SetSelf(kSelf);
    Adopt();
    for (uint32_t table = 1; table <= HostileMessages::kTables; ++table) {
      ATTUNE_CHECK(rows_.InstallTable(TableId(table), HostileMessages::Spec(table)).ok());
    }
  }

  void Step(uint64_t seed) {
    messages_.Reseed(seed);
    Random& random = messages_.random();
    RowOutputs out;
    now_ += std::chrono::milliseconds(random.Below(300));
    switch (random.Below(40)) {
      case 0:
        return Adopt();
      case 1:
        rows_.OnTimer(now_);
        break;
      case 2:
        (void)rows_.BeginSnapshot(CutId(++cut_), now_, out);
        break;
      case 3:
        if (rows_.SnapshotSettled()) (void)rows_.SealSnapshot();
        break;
      case 4:
        rows_.EndSnapshot(random.Chance(0.5), out);
        break;
      case 5:
        rows_.SetRestorePoint({.directory = "/c", .checkpoint = random.Below(2), .clock = 1});
        break;
      default: {
        const NodeId from(static_cast<uint32_t>(2 + random.Below(HostileMessages::kNodes)));  // 6 is a stranger
        std::optional<Message> message = messages_.Row({.sequence = 1});
        if (message) rows_.Receive(from, *std::move(message), now_, out);
      }
    }
    Look(out);
  }

 private:
  void Adopt() {
    RowOutputs out;
    rows_.AdoptMap(messages_.NextMap(kSelf), now_, out);
    Look(out);
  }
  void Look(RowOutputs& out) {
    ATTUNE_CHECK(!out.lost) << attune::ToString(*out.lost);
    for (const Outgoing& outgoing : out.send) {
      const Status status = CheckMessage(outgoing.message);
      ATTUNE_CHECK(status.ok()) << attune::ToString(status);
    }
    for (const RestoreOrder& order : std::exchange(out.restore, {})) {
      RowOutputs restored;
      rows_.Restore(order, nullptr, {}, now_, restored);
      Look(restored);
    }
    (void)rows_.Report();
    (void)rows_.WhatWaits();
  }

  HostileMessages messages_;
  RowNode rows_;
  MonotonicTime now_{};
  uint64_t cut_ = 0;
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
