// A worker's Localize calls: rows are asked for once the map lets this node own any, and counted as they arrive
// (docs/protocol.md#one-relocation). What has not come is asked for again, which changes nothing where it is on its
// way. Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/keys/key_index.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/row_messages.h"
#include "ps/core/worker/worker_io.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class LocalizeCalls {
 public:
  using Id = SequenceNumber;
  struct Options {
    size_t keys_per_message_max = 0;
    Duration resend_after{};  // doubles per attempt up to resend_after_max
    Duration resend_after_max{};
    uint64_t row_bytes_max = 0;  // for what is said of rows that there is no memory for
  };
  struct Waiting {
    Id call;
    TableId table;
  };
  // Where the rows of a call may go.
  struct Space {
    const TableStore* here = nullptr;  // null: no row of the table is here
    uint64_t rows_max = 0;             // that there is memory for, beyond those
  };

  explicit LocalizeCalls(const Options& options) : options_(options) {}

  // --- calls

  Id Add(const LocalizeCall& call, std::vector<Key> unique_keys);
  // Those that have not begun.
  std::vector<Waiting> NotBegun() const;
  // `send(TableId, Slice<Key>)` asks the homes for rows. A call with nothing to ask for ends. Returns when it is to be
  // sent again.
  template <typename Send>
  MonotonicTime Begin(Id id, const Space& space, MonotonicTime now, Send&& send, std::vector<Completion>& completions) {
    Call& call = calls_.at(id);
    Choose(id, call, space, now);
    if (call.open == 0) {
      End(id, OkStatus(), completions);
      return kNever;
    }
    const MonotonicTime send_again = call.send_again;
    SendOpen(call, send);
    return send_again;
  }
  void Postpone(Duration pause);
  // Ends the calls whose time is over. `silence()`: why one has not begun, as text. Returns the next deadline.
  template <typename Silence>
  MonotonicTime EndOverdue(MonotonicTime now, Silence&& silence, std::vector<Completion>& completions) {
    MonotonicTime next = kNever;
    std::vector<Id> late;
    for (const auto& [id, call] : calls_) {
      if (now < call.deadline) {
        next = std::min(next, call.deadline);
      } else {
        late.push_back(id);
      }
    }
    for (const Id id : late) End(id, Timeout(calls_.at(id), silence), completions);
    return next;
  }
  void EndAll(const Status& status, std::vector<Completion>& completions);

  // --- rows

  void Arrived(TableId table, const Slice<Key>& keys, std::vector<Completion>& completions);
  // What has not come yet.
  template <typename Send>
  void SendAll(Send&& send) const {
    for (const auto& [id, call] : calls_) {
      if (call.begun) SendOpen(call, send);
    }
  }
  // The same for calls whose rows have not come in time. Returns when the next one is due.
  template <typename Send>
  MonotonicTime SendAgain(MonotonicTime now, Send&& send) {
    MonotonicTime next = kNever;
    for (auto& [id, call] : calls_) {
      if (!call.begun) continue;
      if (now >= call.send_again) {
        SendOpen(call, send);
        call.backoff = std::min(call.backoff * 2, options_.resend_after_max);
        call.send_again = now + call.backoff;
      }
      next = std::min(next, call.send_again);
    }
    return next;
  }
  // Of rows that have been asked for; `row_bytes(TableId)`: of one.
  template <typename RowBytes>
  uint64_t BytesComing(RowBytes&& row_bytes) const {
    uint64_t bytes = 0;
    for (const auto& [id, call] : calls_) {
      if (call.begun) bytes += call.open * row_bytes(call.table);
    }
    return bytes;
  }

  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallId call;
    MonotonicTime deadline;
    TableId table;
    Slice<Key> keys;                // unique; those to come, once it has begun
    std::vector<uint64_t> arrived;  // bit per key
    uint32_t open = 0;
    bool begun = false;
    LocalizeResult result;
    MonotonicTime send_again = kNever;
    Duration backoff{};
    bool HasArrived(uint32_t place) const { return ((arrived[place / 64] >> (place % 64)) & 1) != 0; }
  };

  void Choose(Id id, Call& call, const Space& space, MonotonicTime now);
  static Slice<Key> OpenKeys(const Call& call);
  template <typename Send>
  void SendOpen(const Call& call, Send&& send) const {
    const Slice<Key> keys = OpenKeys(call);
    const TableId table = call.table;
    for (size_t at = 0; at < keys.size(); at += options_.keys_per_message_max) {
      send(table, keys.Part(at, std::min(options_.keys_per_message_max, keys.size() - at)));
    }
  }
  template <typename Silence>
  static Status Timeout(const Call& call, Silence&& silence) {
    return Error(StatusCode::kDeadlineExceeded,
                 "localize: " + (call.begun ? std::to_string(call.result.moved) + " of " +
                                                  std::to_string(call.result.moved + call.open) +
                                                  " rows have come within the call's time; the others may still come, "
                                                  "or stay where they are"
                                            : silence()));
  }
  void End(Id id, Status status, std::vector<Completion>& completions);

  const Options options_;
  std::map<Id, Call> calls_;
  Id next_{1};
  UnacknowledgedKeys coming_;      // keys of calls that have begun, by their number
  std::vector<After> waiting_;     // scratch
  std::vector<uint64_t> present_;  // scratch: bit per key
};

}  // namespace attune::ps
