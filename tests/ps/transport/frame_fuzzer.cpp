// A stream of frames, cut into pieces: an error or messages, and what was accepted can be sent again.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/random.h"
#include "ps/transport/frame.h"
#include "ps/transport/frame_reader.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/ps/transport/samples.h"

namespace attune::ps {
namespace {

class Echo : public FrameReader::Sink {
 public:
  std::span<float> Place(const wire::FrameHeader& header) override {
    return std::span(rows_).first(std::min<size_t>(header.value_count, rows_.size()));
  }
  Status OnFrame(const wire::FrameHeader& header, const FramePayload& payload) override {
    if (header.kind == wire::FrameKind::kDelivered) return OkStatus();
    ASSIGN_OR_RETURN(const Message message, DecodeFrame(header, payload));
    ATTUNE_CHECK(EncodeFrame(message).ok()) << NameOf(message);
    return OkStatus();
  }

 private:
  std::vector<float> rows_ = std::vector<float>(6);
};

}  // namespace
}  // namespace attune::ps

std::vector<uint8_t> attune::fuzz::Example(uint64_t seed) {
  Random random(seed);
  const std::vector<ps::Message> messages = ps::OneOfEach();
  std::vector<uint8_t> bytes{static_cast<uint8_t>(random.Next())};
  for (uint64_t i = 1 + random.Below(4); i > 0; --i) {
    const ps::OutgoingFrame frame = *ps::EncodeFrame(messages[random.Below(messages.size())]);
    iovec parts[ps::OutgoingFrame::kPartsMax];
    const int count = frame.Gather(0, parts);
    for (int part = 0; part < count; ++part) {
      const auto* const from = static_cast<const uint8_t*>(parts[part].iov_base);
      bytes.insert(bytes.end(), from, from + std::min<size_t>(parts[part].iov_len, 4096));
    }
  }
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::ps;
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] * 7U;
  FrameReader reader;
  Echo echo;
  for (size_t at = 1; at < size;) {
    iovec parts[FrameReader::kSpacePartsMax];
    const size_t count = reader.Space(parts);
    size_t filled = 0;
    for (size_t i = 0; i < count; ++i) {
      const size_t n = std::min({parts[i].iov_len, size - at, piece - filled});
      std::memcpy(parts[i].iov_base, data + at, n);
      at += n;
      filled += n;
    }
    if (!reader.Filled(filled, echo).ok()) break;
  }
  return 0;
}
