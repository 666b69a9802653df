// The byte layout of the data plane: a fixed handshake, then frames of a fixed header and a raw payload. Little-endian,
// no padding, copied as it is. Plain data, no logic; ps/transport/frame.h and handshake.h give it meaning.
//
//   dialer -> listener   Hello: a fresh nonce
//   listener -> dialer   Challenge: a fresh nonce, and a proof over both that it knows the job's secret
//   dialer -> listener   Handshake: who it is, and a proof over everything said so far
//   listener -> dialer   HandshakeReply: welcome or why not, and a proof over everything said so far
//   dialer -> listener   HandshakeEnd: how frames will travel
//   both, then           FrameHeader and the payload it describes
//
// To a dialer that has not proved itself a listener says one of two constant refusals, and closes. Where rows are
// encrypted, all of this travels inside TLS 1.3. Between processes that share memory, frames travel through it
// (ps/transport/shared/shared_ring.h), and the connection only shows whether the peer is alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace attune::wire {

inline constexpr uint32_t kHandshakeMagic = 0x48'4E'54'41;  // "ATNH"
inline constexpr uint32_t kFrameMagic = 0x46'4E'54'41;      // "ATNF"
inline constexpr uint32_t kEndianMark = 0x01020304;         // reads 0x04030201 on a machine of the other byte order

enum class DataType : uint8_t { kFloat32 = 1 };

struct Hello {
  uint32_t magic;
  uint32_t endian_mark;
  uint32_t protocol_version;
  uint32_t reserved;
  unsigned char nonce[32];
};
static_assert(sizeof(Hello) == 48 && std::is_trivially_copyable_v<Hello>);

struct Challenge {
  uint32_t magic;
  uint32_t refused;  // 1: nonce and proof are zeros, and the connection ends
  unsigned char nonce[32];
  unsigned char proof[32];
};
static_assert(sizeof(Challenge) == 72 && std::is_trivially_copyable_v<Challenge>);

struct Handshake {
  uint32_t magic;
  uint32_t node;           // the dialer
  uint32_t expected_node;  // whom it wants to reach
  DataType data_type;
  uint8_t reserved[3];
  uint64_t incarnation;  // of the dialer, random: link state of another incarnation is void
  uint64_t connection;   // random, names this connection
  uint64_t replaces;     // the connection of this pair that the dialer knows to be gone; 0: it has had none
  uint64_t met;          // incarnation of the listener as the dialer remembers it; 0: never met, or forgotten
  uint64_t delivered;    // frames of that incarnation that the dialer has handled, over all connections of the pair
  unsigned char proof[32];
};
static_assert(sizeof(Handshake) == 88 && std::is_trivially_copyable_v<Handshake>);

struct HandshakeReply {
  uint32_t magic;
  uint32_t status_code;  // canonical code, 0 = welcome; anything else is followed by the end of the connection
  uint16_t text_bytes;
  uint8_t shared_memory;  // 1: the two names below say where the dialer may hand over memory
  uint8_t reserved[5];
  uint64_t incarnation;    // of the listener
  uint64_t met;            // incarnation of the dialer as the listener remembers it; 0: never met, or forgotten
  uint64_t delivered;      // frames of the dialer that the listener has handled
  char rendezvous[32];     // abstract Unix socket
  char meeting_token[16];  // to be shown there
  char text[240];
  unsigned char proof[32];  // zeros: the dialer's proof was wrong
};
static_assert(sizeof(HandshakeReply) == 360 && std::is_trivially_copyable_v<HandshakeReply>);

struct HandshakeEnd {
  uint32_t magic;
  uint32_t shared_memory;  // 1: frames travel through the memory handed over, 0: over this connection
};
static_assert(sizeof(HandshakeEnd) == 8 && std::is_trivially_copyable_v<HandshakeEnd>);

enum class FrameKind : uint8_t {
  kDelivered = 0,  // of the transport itself: nothing but `delivered`
  kPush = 1,
  kPushAck = 2,
  kPushRefused = 3,
  kPull = 4,
  kPullReply = 5,
  kPullRefused = 6,
  kMoved = 7,
  kLinkAck = 8,
  kLocalize = 9,
  kMoveOrder = 10,
  kHandover = 11,
  kHandoverAck = 12,
  kReplicate = 13,
  kReplicateRefused = 14,
  kInstallWanted = 15,
  kInstall = 16,
  kInstallAck = 17,
  kJoinMarker = 18,
  kHomeHandoff = 19,
  kCollectOwners = 20,
  kOwnersReport = 21,
  kFetchRows = 22,
  kFetchedRows = 23,
  kSnapshotRows = 24,
  kSnapshotRowsAck = 25,
  kRound = 26,
  kRoundReply = 27,
  kCoordinatorAt = 28,
};

inline constexpr uint8_t kFlagPositionList = 1;  // positions are listed, not consecutive
inline constexpr uint8_t kFlagOfPull = 2;        // Moved: `number` is a request, else a sequence
inline constexpr uint8_t kFlagByHome = 4;
inline constexpr uint8_t kFlagAckWanted = 8;
inline constexpr uint8_t kFlagRelayed = 16;
inline constexpr uint8_t kFlagProbe = 32;
inline constexpr uint8_t kFlagLast = 64;
inline constexpr uint8_t kFlagAllBut = 128;
inline constexpr uint8_t kFlagFirst = kFlagAllBut;  // of a Round, which knows no other use of that bit

// The payload follows in this order, each part an array: keys and versions (8 bytes each), values and words (4), halves
// (2), extra (1). Fields a kind does not use are 0.
struct FrameHeader {
  uint32_t magic;
  FrameKind kind;
  uint8_t flags;
  uint16_t status_code;    // of a refusal
  uint64_t link_number;    // 1, 2, ... per ordered pair of nodes; 0: not numbered
  uint64_t delivered;      // the other direction's frames that the sender has handled
  uint64_t core_sequence;  // numbers of the cores' own link layer (LinkHeader); the transport only carries them
  uint64_t core_delivered;
  uint32_t table;
  uint32_t origin;       // node that pushes or pulls
  uint64_t number;       // sequence of a push, request of a pull, handover, install, round
  uint64_t map_version;  // the sender's
  uint64_t acked_below;
  uint64_t detail;          // pull: nanoseconds until its deadline; push: version seen; its answer: staleness;
                            // join_id, recovered_at, arrived_at; cut; round: how many a second
  uint64_t step;            // of the origin; round: picoseconds a byte
  uint64_t inner_version;   // ReplicateRefused: map version of what comes back
  uint32_t node;            // owner, or whom rows shall go to; push: place of the version seen
  uint32_t first_position;  // when positions are consecutive
  uint32_t position_count;
  uint32_t key_count;
  uint32_t version_count;  // row versions
  uint32_t value_count;    // floats
  uint32_t word_count;     // positions, owners, shards, announced uses
  uint32_t half_count;     // move numbers
  uint32_t extra_bytes;    // "after" entries (16 bytes each), folds (8), keys (8), records, or text
  uint32_t reserved;
};
static_assert(sizeof(FrameHeader) == 136 && std::is_trivially_copyable_v<FrameHeader>);

}  // namespace attune::wire
