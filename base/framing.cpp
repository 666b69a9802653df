#include "base/framing.h"

namespace attune {

std::string EncodeFrame(std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  frame.reserve(kFrameHeaderBytes + payload.size());
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) frame.push_back(static_cast<char>(size >> (8 * i)));
  frame.append(payload);
  return frame;
}

StatusOr<std::optional<std::string>> FrameDecoder::Next() {
  if (buffer_.size() < kFrameHeaderBytes) return std::optional<std::string>();
  uint32_t size = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    size |= static_cast<uint32_t>(static_cast<unsigned char>(buffer_[i])) << (8 * i);
  }
  if (size > kFrameBytesMax) {
    return Error(StatusCode::kResourceExhausted, "a frame announces " + std::to_string(size) + " bytes, at most " +
                                                     std::to_string(kFrameBytesMax) +
                                                     " are taken; the peer does not speak attune's telemetry protocol");
  }
  if (buffer_.size() < kFrameHeaderBytes + size) return std::optional<std::string>();
  std::optional<std::string> payload = buffer_.substr(kFrameHeaderBytes, size);
  buffer_.erase(0, kFrameHeaderBytes + size);
  return payload;
}

}  // namespace attune
