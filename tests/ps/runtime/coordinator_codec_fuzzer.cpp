// Control messages as strangers may send them: an error, or a message that its own protobuf form gives back.
#include <algorithm>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "base/check.h"
#include "base/random.h"
#include "ps/runtime/control/coordinator_codec.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/ps/runtime/control_samples.h"

namespace attune::ps {
namespace {

// Compared as bytes: a number that is none is not equal to itself.
template <typename Encoded, typename Decode, typename Encode>
void Check(const uint8_t* data, size_t size, const Decode& decode, const Encode& encode) {
  Encoded message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  const StatusOr<Message> decoded = decode(message);
  if (!decoded.ok()) return;
  const StatusOr<Encoded> again = encode(*decoded);
  ATTUNE_CHECK(again.ok()) << NameOf(*decoded) << ": " << attune::ToString(again.status());
  const StatusOr<Message> decoded_again = decode(*again);
  ATTUNE_CHECK(decoded_again.ok()) << NameOf(*decoded) << ": " << attune::ToString(decoded_again.status());
  ATTUNE_CHECK(encode(*decoded_again)->SerializeAsString() == again->SerializeAsString()) << NameOf(*decoded);
}

}  // namespace
}  // namespace attune::ps

// The first byte says who speaks.
std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  const bool node = random.Chance(0.5);
  const std::vector<ps::Message> messages = node ? ps::MessagesOfNodes() : ps::MessagesOfCoordinators();
  const ps::Message& message = messages[random.Below(messages.size())];
  const std::string bytes =
      node ? ps::ToNodeMessage(message)->SerializeAsString() : ps::ToCoordinatorMessage(message)->SerializeAsString();
  std::vector<uint8_t> example(1 + bytes.size());
  example[0] = node ? 0 : 1;
  std::ranges::copy(bytes, example.begin() + 1);
  return example;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  [[maybe_unused]] static const auto silent = google::protobuf::SetLogHandler(nullptr);  // of what strings are none
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    Check<attune::v1::NodeMessage>(data + 1, size - 1, FromNodeMessage, ToNodeMessage);
  } else {
    Check<attune::v1::CoordinatorMessage>(data + 1, size - 1, FromCoordinatorMessage, ToCoordinatorMessage);
  }
  return 0;
}
