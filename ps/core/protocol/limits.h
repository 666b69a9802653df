// Sizes that nothing received may exceed and no queue may outgrow. Transports check the message limits before they take
// memory, decoders what the fields say (message_check.h); a simulated transport goes through the same check.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::ps {

// One message.
inline constexpr size_t kKeysPerMessageMax = 1 << 16;
inline constexpr size_t kFloatsPerMessageMax = 4 << 20;     // 16 MiB of rows or gradients
inline constexpr size_t kAfterPerMessageMax = 1 << 20;      // entries of Pull::after
inline constexpr size_t kMessageBytesMax = 32 << 20;        // any encoded message
inline constexpr size_t kControlMessageBytesMax = 4 << 20;  // any encoded message to or from the coordinator
inline constexpr size_t kNameBytesMax = 256;                // table, data set, job
inline constexpr size_t kPathBytesMax = 4096;
inline constexpr size_t kStatusBytesMax = 4096;  // text of an error; longer ones are cut by the sender

// Numbers. Below these nothing that a core adds to them wraps: far more than a job can count in its life.
inline constexpr uint64_t kNumberMax = uint64_t{1} << 62;  // sequences, requests, clocks, steps, items
// What is counted over nodes stays one of them, too.
constexpr uint64_t CappedSum(uint64_t a, uint64_t b) { return a + b < kNumberMax ? a + b : kNumberMax; }
inline constexpr uint32_t kNodeIdMax = 1U << 30;
inline constexpr uint32_t kFoldPushesMax = 1U << 30;           // pushes to a copy of a row, in one fold
inline constexpr uint64_t kRoundsPerSecondMax = 1000;          // of one worker to one home
inline constexpr uint64_t kPicosecondsPerByteMax = 1'000'000;  // of the way between the two: 8 Mbit/s
inline constexpr uint64_t kOpenEpochsMax = uint64_t{1} << 20;  // begun beyond the last one that is finished

// One call of a worker program; larger ones are refused before anything is sent.
inline constexpr size_t kKeysPerCallMax = 1 << 22;

// One job.
inline constexpr uint32_t kDimMax = 65536;
inline constexpr uint32_t kShardsDefault = 1024;
inline constexpr uint32_t kShardsMax = 1 << 16;
inline constexpr size_t kMembersMax = 4096;
inline constexpr uint32_t kServersMax = 1024;
inline constexpr size_t kVoterSetsMax = 16;  // that one map names
inline constexpr size_t kTablesMax = 4096;
inline constexpr size_t kDataSetsMax = 256;
inline constexpr uint64_t kLeasesPerEpochMax = 1 << 20;  // smaller leases are made larger

// Queues of a node.
inline constexpr uint32_t kPushWindowMax = 1024;          // sequence numbers of one origin beyond its acked_below
inline constexpr size_t kParkedPullsPerOriginMax = 4096;  // waiting for own pushes
inline constexpr size_t kHeldMessagesMax = 4096;          // waiting for a map
inline constexpr size_t kPullsInFlightMax = 65536;        // of one worker
inline constexpr size_t kLocalizesInFlightMax = 64;       // calls of one worker
inline constexpr size_t kLocationsMax = 1 << 16;          // owners of rows that one worker remembers
inline constexpr size_t kIntentsMax = 1 << 24;            // announced uses of rows, of one worker
inline constexpr size_t kInterestsMax = 1 << 22;          // announced rows by node, at one home
inline constexpr size_t kFetchedBytesMax = 256 << 20;     // rows fetched ahead by one worker
inline constexpr size_t kRequestsInFlightMax = 4096;      // of one node at the coordinator
inline constexpr size_t kAnswersBehindAWait = 1024;       // kept for one node because an older request of it waits
inline constexpr size_t kCommandsMax = 64;                // of the operator, of one kind, not answered
inline constexpr size_t kFilesPerSnapshotMax = 16384;     // that one node writes for one checkpoint
inline constexpr size_t kLeasesPerWorkerMax = 1024;       // open at one time
inline constexpr size_t kUnreachedMax = 64;               // members without a link that a node names

// Lists of one message that nothing but its size bounds further.
inline constexpr size_t kDoneRangesMax = kControlMessageBytesMax;
inline constexpr size_t kOpenLeasesMax = kMembersMax * kLeasesPerWorkerMax;

}  // namespace attune::ps
