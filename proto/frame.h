// The byte layout of the data plane: a fixed handshake in both directions, then frames of a fixed header and a raw
// payload. Little-endian, no padding, copied as it is. Plain data, no logic; ps/transport/frame.h gives it meaning.
//
//   dialer -> listener   Handshake
//   listener -> dialer   HandshakeReply; status_code 0 means welcome, anything else is followed by the end of the
//   connection both, then           FrameHeader, key_count keys (8 bytes each), value_count floats (4 bytes each),
//   extra_bytes of extra
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace attune::wire {

inline constexpr uint32_t kHandshakeMagic = 0x48'4E'54'41;  // "ATNH"
inline constexpr uint32_t kFrameMagic = 0x46'4E'54'41;      // "ATNF"
inline constexpr uint32_t kEndianMark = 0x01020304;         // reads 0x04030201 on a machine of the other byte order

enum class DataType : uint8_t { kFloat32 = 1 };

struct Handshake {
  uint32_t magic;
  uint32_t endian_mark;
  uint32_t protocol_version;
  uint32_t node;           // the dialer
  uint32_t expected_node;  // whom it wants to reach
  DataType data_type;
  uint8_t job_uid_bytes;
  uint16_t reserved;
  char job_uid[104];
};
static_assert(sizeof(Handshake) == 128 && std::is_trivially_copyable_v<Handshake>);

struct HandshakeReply {
  uint32_t magic;
  uint32_t protocol_version;
  uint32_t status_code;  // canonical code, 0 = welcome
  uint16_t text_bytes;
  uint16_t reserved;
  char text[240];
};
static_assert(sizeof(HandshakeReply) == 256 && std::is_trivially_copyable_v<HandshakeReply>);

enum class FrameKind : uint8_t {
  kPush = 1,
  kPushAck = 2,
  kPushRefused = 3,
  kPull = 4,
  kPullReply = 5,
  kPullRefused = 6,
  kMoved = 7,
};

inline constexpr uint8_t kFlagPositionList = 1;  // positions are listed in the extra part, not consecutive
inline constexpr uint8_t kFlagOfPull = 2;        // Moved: `number` is a request, else a sequence

struct FrameHeader {
  uint32_t magic;
  FrameKind kind;
  uint8_t flags;
  uint16_t status_code;  // of a refusal
  uint32_t table;
  uint32_t origin;  // node that pushes or pulls
  uint64_t number;  // sequence of a push, request of a pull
  uint64_t map_version;
  uint64_t acked_below;
  uint64_t detail;          // pull: nanoseconds until its deadline; push and its answers: first position
  uint32_t position_count;  // answers to a push, when consecutive
  uint32_t key_count;
  uint32_t value_count;
  uint32_t extra_bytes;  // position list (4 bytes each), "after" entries (16 bytes each) or text, by kind
};
static_assert(sizeof(FrameHeader) == 64 && std::is_trivially_copyable_v<FrameHeader>);

}  // namespace attune::wire
