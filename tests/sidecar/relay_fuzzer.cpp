// The sidecar between a process and an operator that say anything, in any order: its promises hold (relay/relay.h),
// and bytes on the socket are frames or an error.
#include "base/check.h"
#include "base/framing.h"
#include "sidecar/relay/relay.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/random_message.h"

namespace attune::sidecar {
namespace {

constexpr size_t kWindowsMax = 5;

RelayOptions Options() {
  RelayOptions options;
  options.identity.set_protocol_version(1);
  options.identity.set_job_uid("uid");
  options.identity.set_role("worker");
  options.windows_max = kWindowsMax;
  return options;
}

ProcessSaid SomeProcessWord(fuzz::Input& input) {
  ProcessSaid said;
  if (input.Below(4) == 0) {
    v1::ProcessHello& hello = *said.message.mutable_hello();
    hello.set_protocol_version(1);
    hello.set_job_uid("uid");
    hello.set_role("worker");
  } else {
    fuzz::Fill(said.message, input);
  }
  if (input.Below(2) == 0) fuzz::Fill(said.usage.emplace(), input);
  return said;
}

OperatorSaid SomeOperatorWord(fuzz::Input& input) {
  OperatorSaid said;
  if (input.Below(3) == 0) {
    said.message.mutable_accepted()->set_protocol_version(1);
    said.message.mutable_accepted()->set_report_seconds(fuzz::SomeDouble(input));
  } else {
    fuzz::Fill(said.message, input);
  }
  return said;
}

RelayInput SomeInput(fuzz::Input& input) {
  switch (input.Below(9)) {
    case 0:
      return ProcessConnected{};
    case 1:
      return ProcessGone{};
    case 2:
      return MessageSent{};
    case 3:
      return StreamEnded{input.Below(2) == 0 ? OkStatus() : Error(StatusCode::kUnavailable, "gone")};
    case 4:
      return Tick{};
    case 5:
    case 6:
      return SomeOperatorWord(input);
    default:
      return SomeProcessWord(input);
  }
}

void FeedSocket(fuzz::Input& input) {
  FrameDecoder decoder;
  for (uint64_t pieces = input.Below(4); pieces > 0; --pieces) {
    v1::ProcessMessage message;
    fuzz::Fill(message, input);
    std::string bytes = EncodeFrame(message.SerializeAsString());
    if (input.Below(2) == 0 && !bytes.empty())
      bytes[input.Below(bytes.size())] = static_cast<char>(input.Take<uint8_t>());
    decoder.Feed(bytes);
    while (true) {
      const auto payload = decoder.Next();
      if (!payload.ok()) return;
      if (!payload->has_value()) break;
      v1::ProcessMessage read;
      if (!read.ParseFromString(**payload)) return;
    }
  }
}

}  // namespace
}  // namespace attune::sidecar

namespace attune::fuzz {

std::vector<uint8_t> Example(uint64_t seed) {
  std::vector<uint8_t> bytes(2'000);
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>((seed = seed * 6364136223846793005ULL + 1442695040888963407ULL) >> 56);
  return bytes;
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  using namespace attune::sidecar;
  fuzz::Input input(data, size);
  FeedSocket(input);
  Relay relay(Options());
  MonotonicTime now{std::chrono::seconds(1000)};
  bool finished = false;
  while (!input.empty() && !finished) {
    now += std::chrono::milliseconds(input.Take<uint16_t>());
    const RelayOutput output = relay.Step(SomeInput(input), now);
    ATTUNE_CHECK(relay.buffered_reports() <= kWindowsMax + 1) << relay.buffered_reports();
    ATTUNE_CHECK(output.to_process.size() <= OpenDirectives::kMax + 1) << output.to_process.size();
    finished = output.finished;
  }
  return 0;
}
