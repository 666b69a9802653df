// Slots of a ring as a hostile writer may leave them, and answers as a hostile reader may give them.
#include <cstring>
#include <memory>

#include "base/random.h"
#include "ps/transport/shared/shared_ring.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/ps/transport/samples.h"

namespace attune::ps {
namespace {

constexpr size_t kSlots = 4;

class Keeper : public RingReader::Sink {
 public:
  std::span<float> Place(const wire::FrameHeader&) override { return {}; }
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
    ASSIGN_OR_RETURN(Message message, DecodeFrame(header, payload));
    kept.push_back(std::move(message));
    return OkStatus();
  }
  std::vector<Message> kept;
};

// Of a slot: everything but the padding.
constexpr size_t kSlotBytes = offsetof(RingSlot, padding);

}  // namespace
}  // namespace attune::ps

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  using namespace attune::ps;
  Random random(seed);
  const std::vector<ps::Message> messages = OneOfEach();
  auto area = std::make_shared<RingArea>();
  RingWriter writer(area, [] {});
  for (size_t i = 0; i < kSlots; ++i) {
    OutgoingFrame frame = *EncodeFrame(messages[random.Below(messages.size())]);
    frame.header.link_number = i + 1;
    (void)writer.Write(frame);
  }
  std::vector<uint8_t> bytes(kSlots * kSlotBytes);
  for (size_t i = 0; i < kSlots; ++i) {
    std::memcpy(bytes.data() + i * kSlotBytes, static_cast<const void*>(&area->slots[i]), kSlotBytes);
  }
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  static const auto area = std::make_shared<RingArea>();
  for (size_t i = 0; i < kSlots; ++i) {
    auto* const slot = static_cast<void*>(&area->slots[i]);
    std::memset(slot, 0, sizeof(RingSlot));
    if (size > i * kSlotBytes) std::memcpy(slot, data + i * kSlotBytes, std::min(kSlotBytes, size - i * kSlotBytes));
  }
  {
    RingReader reader(area, [] {});
    Keeper keeper;
    while (true) {
      const auto frames = reader.Poll(keeper, 2);
      if (!frames.ok() || *frames == 0) break;
    }
  }
  // The same bytes as answers to a writer.
  RingWriter writer(area, [] {});
  attune::fuzz::Input input(data, size);
  const std::vector<Message> messages = OneOfEach();
  for (int i = 0; i < 64 && !input.empty(); ++i) {
    area->returned[input.Below(kRingUnits)] = input.Take<uint8_t>();
    area->slots[input.Below(kRingSlots)].full = input.Take<uint8_t>() % 2;
    (void)writer.Write(*EncodeFrame(messages[input.Below(messages.size())]));
    (void)writer.Reserve(input.Take<uint16_t>());
    (void)writer.Handled();
  }
  return 0;
}
