// Where each row message keeps what: described once, for writing and for reading. A codec is FrameWriter or FrameParser
// of frame.cpp; both offer the same calls, and each call moves one field between the message and its place in the
// frame.
//
//   Number(&FrameHeader::x, value)  an id or a number in the fixed header
//   Flag(flag, value)               one bit of it
//   Keys, Versions, Values, Words, Halves
//                                   the arrays of the payload; shared with the message, not copied
//   At(positions), Why(status)      both with a part in the header and a part behind it
//   Counted, Rest                   lists in the extra part, item by item with Extra(number); Rest goes to its end
//
// `map_version`, which all but LinkAck have, is the caller's.
#pragma once

#include <concepts>
#include <type_traits>

#include "proto/frame.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

inline constexpr size_t kAfterBytes = 16;   // sequence, position, key index
inline constexpr size_t kRecordBytes = 24;  // sequence, origin, position, key index, refused
inline constexpr size_t kSettledBytes = 12;
inline constexpr size_t kFoldBytes = 8;

// `Given` is `Wanted`, const when it is written to a frame.
template <typename Given, typename Wanted>
concept MaybeConst = std::same_as<std::remove_const_t<Given>, Wanted>;

// --- what several messages have

// A push, or a copy of one.
template <typename Codec, typename Pushed>
void IdentityFields(Codec& codec, Pushed& pushed) {
  codec.Number(&wire::FrameHeader::origin, pushed.origin);
  codec.Number(&wire::FrameHeader::number, pushed.sequence);
  codec.Number(&wire::FrameHeader::table, pushed.table);
  codec.Number(&wire::FrameHeader::acked_below, pushed.acked_below);
  codec.Number(&wire::FrameHeader::step, pushed.step);
  codec.At(pushed.positions);
  codec.Keys(pushed.keys);
}

struct AfterFields {
  template <typename ItemCodec, typename Entry>
  void operator()(ItemCodec& codec, Entry& after) const {
    codec.Extra(after.sequence);
    codec.Extra(after.position);
    codec.Extra(after.key_index);
  }
};

template <typename Codec, MaybeConst<std::vector<FoldCounts>> Folds>
void FoldFields(Codec& codec, Folds& folds) {
  codec.Rest(folds, kFoldBytes, [](auto& item_codec, auto& fold) {
    item_codec.Extra(fold.pushes);
    item_codec.Extra(fold.updates);
  });
}

template <typename Codec, MaybeConst<RowBatch> Rows>
void Fields(Codec& codec, Rows& rows) {
  codec.Number(&wire::FrameHeader::table, rows.table);
  codec.Keys(rows.keys);
  codec.Versions(rows.versions);
  codec.Halves(rows.move_numbers);
  codec.Values(rows.values);
}

template <typename Codec, MaybeConst<Records> Books>
void Fields(Codec& codec, Books& books) {
  codec.Counted(books.records, kRecordBytes, [](auto& item_codec, auto& record) {
    item_codec.Extra(record.sequence);
    item_codec.Extra(record.origin);
    item_codec.Extra(record.position);
    item_codec.Extra(record.key_index);
    item_codec.Extra(record.refused);
  });
  codec.Rest(books.settled, kSettledBytes, [](auto& item_codec, auto& settled) {
    item_codec.Extra(settled.acked_below);
    item_codec.Extra(settled.origin);
  });
}

template <typename Codec, MaybeConst<DirectoryBatch> Entries>
void Fields(Codec& codec, Entries& entries) {
  codec.Number(&wire::FrameHeader::table, entries.table);
  codec.Keys(entries.keys);
  codec.Words(entries.owners);
  codec.Halves(entries.move_numbers);
}

// --- operations

template <typename Codec, MaybeConst<Push> M>
void Fields(Codec& codec, M& push) {
  IdentityFields(codec, push);
  codec.Flag(wire::kFlagByHome, push.by_home);
  codec.Number(&wire::FrameHeader::detail, push.seen);
  codec.Number(&wire::FrameHeader::node, push.seen_index);
  codec.Values(push.gradients);
  FoldFields(codec, push.folds);
}
template <typename Codec, MaybeConst<PushAck> M>
void Fields(Codec& codec, M& ack) {
  codec.Number(&wire::FrameHeader::number, ack.sequence);
  codec.Number(&wire::FrameHeader::node, ack.owner);
  codec.Number(&wire::FrameHeader::detail, ack.staleness);
  codec.At(ack.positions);
}
template <typename Codec, MaybeConst<PushRefused> M>
void Fields(Codec& codec, M& refused) {
  codec.Number(&wire::FrameHeader::number, refused.sequence);
  codec.At(refused.positions);
  codec.Why(refused.status);
}
template <typename Codec, MaybeConst<Pull> M>
void Fields(Codec& codec, M& pull) {
  codec.Number(&wire::FrameHeader::origin, pull.origin);
  codec.Number(&wire::FrameHeader::number, pull.request);
  codec.Number(&wire::FrameHeader::table, pull.table);
  codec.Number(&wire::FrameHeader::acked_below, pull.acked_below);
  codec.Number(&wire::FrameHeader::detail, pull.remaining);
  codec.At(pull.positions);
  codec.Flag(wire::kFlagByHome, pull.by_home);
  codec.Keys(pull.keys);
  codec.Rest(pull.after, kAfterBytes, AfterFields{});
}
template <typename Codec, MaybeConst<PullReply> M>
void Fields(Codec& codec, M& reply) {
  codec.Number(&wire::FrameHeader::number, reply.request);
  codec.At(reply.positions);
  codec.Values(reply.rows);
  codec.Versions(reply.versions);
}
template <typename Codec, MaybeConst<PullRefused> M>
void Fields(Codec& codec, M& refused) {
  codec.Number(&wire::FrameHeader::number, refused.request);
  codec.Why(refused.status);
}
template <typename Codec, MaybeConst<Moved> M>
void Fields(Codec& codec, M& moved) {
  bool of_pull = moved.request != RequestId();
  codec.Flag(wire::kFlagOfPull, of_pull);
  if (of_pull) {
    codec.Number(&wire::FrameHeader::number, moved.request);
  } else {
    codec.Number(&wire::FrameHeader::number, moved.sequence);
  }
}
template <typename Codec, MaybeConst<LinkAck> M>
void Fields(Codec&, M&) {}

// --- rows on their way

template <typename Codec, MaybeConst<Localize> M>
void Fields(Codec& codec, M& localize) {
  codec.Number(&wire::FrameHeader::table, localize.table);
  codec.Number(&wire::FrameHeader::node, localize.to);
  codec.Keys(localize.keys);
}
template <typename Codec, MaybeConst<MoveOrder> M>
void Fields(Codec& codec, M& order) {
  codec.Number(&wire::FrameHeader::table, order.table);
  codec.Number(&wire::FrameHeader::node, order.to);
  codec.Keys(order.keys);
  codec.Halves(order.move_numbers);
}
template <typename Codec, MaybeConst<Handover> M>
void Fields(Codec& codec, M& handover) {
  codec.Number(&wire::FrameHeader::number, handover.handover);
  codec.Number(&wire::FrameHeader::detail, handover.mark);
  Fields(codec, handover.rows);
  Fields(codec, handover.records);
}
template <typename Codec, MaybeConst<HandoverAck> M>
void Fields(Codec& codec, M& ack) {
  codec.Number(&wire::FrameHeader::number, ack.handover);
  codec.Number(&wire::FrameHeader::detail, ack.arrived_at);
}

// --- copies

template <typename Codec, MaybeConst<Replicate> M>
void Fields(Codec& codec, M& replicate) {
  IdentityFields(codec, replicate);
  codec.Number(&wire::FrameHeader::node, replicate.owner);
  codec.Flag(wire::kFlagAckWanted, replicate.ack_wanted);
  codec.Flag(wire::kFlagRelayed, replicate.relayed);
  codec.Flag(wire::kFlagProbe, replicate.probe);
  codec.Number(&wire::FrameHeader::detail, replicate.staleness);
  codec.Versions(replicate.versions);
  codec.Values(replicate.gradients);
  FoldFields(codec, replicate.folds);
}
template <typename Codec, MaybeConst<ReplicateRefused> M>
void Fields(Codec& codec, M& refused) {
  codec.Number(&wire::FrameHeader::inner_version, refused.replicate.map_version);
  Fields(codec, refused.replicate);
}
template <typename Codec, MaybeConst<InstallWanted> M>
void Fields(Codec& codec, M& wanted) {
  codec.Number(&wire::FrameHeader::table, wanted.table);
  codec.Flag(wire::kFlagByHome, wanted.by_home);
  codec.Keys(wanted.keys);
}
template <typename Codec, MaybeConst<Install> M>
void Fields(Codec& codec, M& install) {
  codec.Number(&wire::FrameHeader::number, install.install);
  Fields(codec, install.rows);
  Fields(codec, install.records);
}
template <typename Codec, MaybeConst<InstallAck> M>
void Fields(Codec& codec, M& ack) {
  codec.Number(&wire::FrameHeader::number, ack.install);
}
template <typename Codec, MaybeConst<JoinMarker> M>
void Fields(Codec& codec, M& marker) {
  codec.Number(&wire::FrameHeader::detail, marker.join_id);
}

// --- directories and recovery

template <typename Codec, MaybeConst<HomeHandoff> M>
void Fields(Codec& codec, M& handoff) {
  Fields(codec, handoff.entries);
  // Beside the owners, which fill the words.
  codec.Rest(handoff.complete, sizeof(uint32_t), [](auto& item_codec, auto& shard) { item_codec.Extra(shard); });
}
template <typename Codec, MaybeConst<CollectOwners> M>
void Fields(Codec& codec, M& collect) {
  codec.Number(&wire::FrameHeader::detail, collect.recovered_at);
}
template <typename Codec, MaybeConst<OwnersReport> M>
void Fields(Codec& codec, M& report) {
  codec.Number(&wire::FrameHeader::detail, report.recovered_at);
  codec.Flag(wire::kFlagLast, report.last);
  Fields(codec, report.entries);
}
template <typename Codec, MaybeConst<FetchRows> M>
void Fields(Codec& codec, M& fetch) {
  codec.Number(&wire::FrameHeader::detail, fetch.recovered_at);
  codec.Number(&wire::FrameHeader::table, fetch.table);
  codec.Flag(wire::kFlagAllBut, fetch.all_but);
  codec.Flag(wire::kFlagLast, fetch.last);
  codec.Keys(fetch.keys);
  codec.Words(fetch.shards);
}
template <typename Codec, MaybeConst<FetchedRows> M>
void Fields(Codec& codec, M& fetched) {
  codec.Number(&wire::FrameHeader::detail, fetched.recovered_at);
  codec.Flag(wire::kFlagAllBut, fetched.all_but);
  codec.Flag(wire::kFlagLast, fetched.last);
  Fields(codec, fetched.rows);
  Fields(codec, fetched.records);
}

// --- checkpoints

template <typename Codec, MaybeConst<SnapshotRows> M>
void Fields(Codec& codec, M& snapshot) {
  codec.Number(&wire::FrameHeader::detail, snapshot.cut);
  codec.Number(&wire::FrameHeader::number, snapshot.number);
  Fields(codec, snapshot.rows);
  Fields(codec, snapshot.records);
}
template <typename Codec, MaybeConst<SnapshotRowsAck> M>
void Fields(Codec& codec, M& ack) {
  codec.Number(&wire::FrameHeader::detail, ack.cut);
  codec.Number(&wire::FrameHeader::number, ack.number);
}

// --- copies at workers

template <typename Codec, MaybeConst<Round> M>
void Fields(Codec& codec, M& round) {
  codec.Number(&wire::FrameHeader::number, round.number);
  codec.Number(&wire::FrameHeader::table, round.table);
  codec.Number(&wire::FrameHeader::detail, round.rounds_per_second);
  codec.Number(&wire::FrameHeader::step, round.picoseconds_per_byte);
  codec.Flag(wire::kFlagFirst, round.first);
  codec.Flag(wire::kFlagLast, round.last);
  codec.Keys(round.keys);
  codec.Words(round.uses);
  codec.Rest(round.after, kAfterBytes, AfterFields{});
}
template <typename Codec, MaybeConst<RoundReply> M>
void Fields(Codec& codec, M& reply) {
  codec.Number(&wire::FrameHeader::number, reply.number);
  codec.Number(&wire::FrameHeader::table, reply.table);
  codec.Flag(wire::kFlagLast, reply.last);
  codec.Keys(reply.keys);
  codec.Versions(reply.versions);
  codec.Values(reply.rows);
  codec.Rest(reply.left, sizeof(Key), [](auto& item_codec, auto& key) { item_codec.Extra(key); });
}

// --- the coordinator's place

template <typename Codec, MaybeConst<CoordinatorAt> M>
void Fields(Codec& codec, M& at) {
  codec.Number(&wire::FrameHeader::number, at.term);
  codec.Number(&wire::FrameHeader::node, at.host);
  codec.Number(&wire::FrameHeader::detail, at.port);
  codec.Text(at.address, kNameBytesMax);
}

}  // namespace attune::ps
