#include "ps/core/rows/cut_part.h"

#include <utility>

namespace attune::ps {

void CutPart::On(Mark mark, RowNode& rows, MonotonicTime now, Outputs& out) {
  if (cut_ && mark.cut < cut_->mark.cut) return;  // a late copy
  if (cut_ && mark.cut == cut_->mark.cut) {       // the answer was lost
    if (cut_->phase == Phase::kEnded && !cut_->called_off) {
      out.to_coordinator.push_back(cut_->done);
    } else if (cut_->phase != Phase::kMarked) {
      out.to_coordinator.push_back(MarkDone{.cut = mark.cut});
    }
    return;
  }
  if (cut_ && cut_->phase == Phase::kWriting) {
    out.call_off = !std::exchange(cut_->called_off, true);
    next_mark_ = std::move(mark);
    return;
  }
  Begin(std::move(mark), rows, now, out);
}

void CutPart::Begin(Mark mark, RowNode& rows, MonotonicTime now, Outputs& out) {
  const CutId cut = mark.cut;
  cut_ = Cut{.mark = std::move(mark), .done = {.cut = cut, .status = {}, .files = {}}};
  if (Status status = rows.BeginSnapshot(cut, now, out.rows); !status.ok()) {
    return End(std::move(status), {}, rows, out);
  }
  GoOn(rows, out);
}

void CutPart::GoOn(const RowNode& rows, Outputs& out) {
  if (!waits() || !rows.SnapshotSettled()) return;
  cut_->phase = Phase::kSettled;
  out.to_coordinator.push_back(MarkDone{.cut = cut_->mark.cut});
}

void CutPart::On(const WriteSnapshot& message, RowNode& rows, Outputs& out) {
  if (!cut_ || cut_->mark.cut != message.cut || cut_->phase == Phase::kWriting) return;
  if (cut_->phase == Phase::kEnded) {
    if (!cut_->called_off) out.to_coordinator.push_back(cut_->done);
    return;
  }
  FilterRecords filter = rows.SealSnapshot();
  if (!part_) return End(OkStatus(), {}, rows, out);
  cut_->phase = Phase::kWriting;
  const Mark& mark = cut_->mark;
  // Without its own part of the base a node does not know what has changed since.
  const bool knows_base =
      mark.base != 0 && last_written_.checkpoint == mark.base && last_written_.directory == mark.directory;
  out.write = SnapshotOrder{.cut = mark.cut,
                            .directory = mark.directory,
                            .checkpoint = mark.checkpoint,
                            .part = *part_,
                            .changed_only = knows_base,
                            .filter = std::move(filter)};
}

void CutPart::On(SnapshotWritten written, RowNode& rows, MonotonicTime now, Outputs& out) {
  if (!cut_ || cut_->mark.cut != written.cut || cut_->phase != Phase::kWriting) return;
  End(std::move(written.status), std::move(written.files), rows, out);
  if (!next_mark_) return;
  Begin(*std::exchange(next_mark_, std::nullopt), rows, now, out);
}

void CutPart::End(Status status, std::vector<CutFile> files, RowNode& rows, Outputs& out) {
  const bool kept = status.ok() && !cut_->called_off;
  rows.EndSnapshot(kept, out.rows);
  last_written_ = {};
  if (kept) last_written_ = {.directory = cut_->mark.directory, .checkpoint = cut_->mark.checkpoint};
  cut_->phase = Phase::kEnded;
  cut_->done.status = std::move(status);
  cut_->done.files = std::move(files);
  if (!cut_->called_off) out.to_coordinator.push_back(cut_->done);
}

void CutPart::On(const CutEnded& message, RowNode& rows, Outputs& out) {
  if (next_mark_ && next_mark_->cut == message.cut) next_mark_.reset();
  if (!cut_ || cut_->mark.cut != message.cut || cut_->phase == Phase::kEnded) return;
  const bool first = !std::exchange(cut_->called_off, true);
  if (cut_->phase == Phase::kWriting) {
    out.call_off = first;
  } else {
    End(Error(StatusCode::kCancelled, "called off"), {}, rows, out);
  }
}

}  // namespace attune::ps
