// A server's part in a checkpoint: at the coordinator's mark every table begins a snapshot, all within one step, so
// that no push lies between two of them; the shell writes it while training goes on (protocol 5.5).
#include <utility>

#include "ps/core/server_core.h"

namespace attune::ps {

void ServerCore::OnMessage(NodeId, Mark&& message, MonotonicTime, ServerOutputs& out) {
  if (node_ == NodeId()) return;
  if (cut_ && cut_->mark.cut == message.cut) {  // the answer was lost
    if (cut_->done) {
      out.send.push_back({.to = kCoordinator, .message = *cut_->done});
    } else {
      out.send.push_back({.to = kCoordinator, .message = MarkDone{.cut = message.cut}});
    }
    return;
  }
  if (cut_ && message.cut < cut_->mark.cut) return;  // a late copy
  if (cut_ && !cut_->done) {
    out.call_off_snapshot = !std::exchange(cut_->called_off, true);
    next_mark_ = std::move(message);
    return;
  }
  BeginCut(std::move(message), out);
}

void ServerCore::BeginCut(Mark mark, ServerOutputs& out) {
  cut_ = Cut{.mark = std::move(mark), .done = {}};
  const Mark& begun = cut_->mark;
  Status status;
  for (const auto& store : rows_.tables()) {
    if (store != nullptr && status.ok()) status = store->BeginSnapshot();
  }
  if (!status.ok()) {
    EndSnapshots(false);
    cut_->done = SnapshotDone{.cut = begun.cut, .status = std::move(status), .files = {}};
    out.send.push_back({.to = kCoordinator, .message = *cut_->done});
    return;
  }
  out.send.push_back({.to = kCoordinator, .message = MarkDone{.cut = begun.cut}});
  // Without its own part of the base a server does not know what has changed since.
  const bool knows_base =
      begun.base != 0 && last_written_.checkpoint == begun.base && last_written_.directory == begun.directory;
  out.write_snapshot = SnapshotOrder{.cut = begun.cut,
                                     .directory = begun.directory,
                                     .checkpoint = begun.checkpoint,
                                     .part = options_.index,
                                     .changed_only = knows_base};
}

void ServerCore::EndSnapshots(bool kept) {
  for (const auto& store : rows_.tables()) {
    if (store != nullptr) store->EndSnapshot(kept);
  }
  last_written_ = {};
  if (kept) last_written_ = {.directory = cut_->mark.directory, .checkpoint = cut_->mark.checkpoint};
}

void ServerCore::On(SnapshotWritten input, MonotonicTime, ServerOutputs& out) {
  if (!cut_ || cut_->mark.cut != input.cut || cut_->done) return;
  EndSnapshots(input.status.ok());
  cut_->done = SnapshotDone{.cut = input.cut, .status = std::move(input.status), .files = std::move(input.files)};
  if (!cut_->called_off) out.send.push_back({.to = kCoordinator, .message = *cut_->done});
  if (next_mark_) {
    BeginCut(std::move(*next_mark_), out);
    next_mark_.reset();
  }
}

void ServerCore::OnMessage(NodeId, CutEnded&& message, MonotonicTime, ServerOutputs& out) {
  if (next_mark_ && next_mark_->cut == message.cut) next_mark_.reset();
  if (!cut_ || cut_->mark.cut != message.cut || cut_->done) return;
  out.call_off_snapshot = !std::exchange(cut_->called_off, true);
}

}  // namespace attune::ps
