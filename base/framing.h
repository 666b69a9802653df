// Messages on a stream of bytes, as on the Unix socket between training process and sidecar: 4-byte little-endian
// length, then the message. Pure: bytes in, messages out. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace attune {

// A window is a few hundred bytes, a final report at most about 8 KiB; anything near this is not one of ours.
inline constexpr uint32_t kFrameBytesMax = 64 << 10;
inline constexpr size_t kFrameHeaderBytes = 4;

std::string EncodeFrame(std::string_view payload);

class FrameDecoder {
 public:
  // Takes what was read from the socket. Memory held is at most one frame and the piece given last.
  void Feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole payload; nullopt when more bytes are needed; ResourceExhausted when the announced length is over
  // kFrameBytesMax, known from the header before anything of it is stored. After an error the connection is of no use.
  StatusOr<std::optional<std::string>> Next();

 private:
  std::string buffer_;
};

}  // namespace attune
