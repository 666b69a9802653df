// What a message from the network must be before a core sees it: the one place where its fields are checked. A decoder
// calls it last (ps/transport/frame.cpp, ps/runtime/control/coordinator_codec.cpp), and so does the simulated network,
// which decodes nothing: a message that honest cores send and this refuses is found there.
//
// The fields of control messages have their rules in the lists beside the structs (ps/core/protocol/field_list.h). What
// is checked where, of every field that a core uses as an index, a length, a count, a bit position or a difference:
//
//   field                                       checked
//   counts of arrays, bytes of a message        frame_check.cpp, from the header, before memory is taken; texts and
//                                               lists of control messages by the codec (AtMost), their bytes by gRPC
//   ids, counts, times, fractions, names of     here, by the rules of their lists (Is)
//   control messages
//   counts of parallel arrays                   here
//   positions: ascending, below kKeysPerCallMax here (Positions, FilterRecord, After)
//   positions against an open push or pull      push_window.cpp, pull_calls.cpp: what was asked is known there alone
//   key_index of records and afters             here
//   keys that are counted                       here: unique in MoveOrder, Handover, FetchRows (but those left
//                                               out) and FetchedRows
//   table ids                                   here: 1 .. kTablesMax; installed or not: top of the handlers of rows
//   length of rows, of gradients                RowPushes::Admit, RowCopies::Admit, RowTables::WhyUnfit
//   node ids                                    here: 1 .. kNodeIdMax; members or not: RowNode::Receive
//   shard ids of HomeHandoff and FetchRows      here: ascending; their handlers, against the map
//   sequences, clocks, steps, items, epochs     here: at most kNumberMax, so that no sum of a core wraps
//   sequences of pushes above acked_below       kPushWindowMax: RowPushes::Admit, DuplicateFilter::Add
//   bounds of leases and of done items          here and Validate(CutRecord::DataSet): in order, in range, disjoint
//   shard maps                                  Validate(ShardMap), from here; their number of shards against the map
//                                               of before, and the sender among the members: the cores
//   numbers with a fraction                     here: finite (losses, seconds)
//   durations                                   here: leases of at most a day; times that remain: where they are added
//   names of files                              here: plain names, never a path
//   kind of an answer against its question      RequestBook::AnsweredAs
//   place in the link's order                   CheckOrder here, from Peer::OnFrame; Link sorts by it
//
// Which kinds may come from whom: message_rights.h.
//
// A core that refuses a message by what it knows itself says so in `rejected` of its outputs, and does nothing else.
#pragma once

#include "base/status.h"
#include "ps/core/protocol/messages.h"

namespace attune::ps {

// InvalidArgument names the kind of message and what is wrong with it.
Status CheckMessage(const Message& message);
// Only what is asked for again may travel outside of a link's order (LinkHeader::sequence 0).
Status CheckOrder(const Message& message, const LinkHeader& link);

// Its two halves.
Status CheckRowMessage(const Message& message);
Status CheckControlMessage(const Message& message);

}  // namespace attune::ps
