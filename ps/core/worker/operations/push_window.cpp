#include "ps/core/worker/operations/push_window.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/pause_watch.h"

namespace attune::ps {

void PushWindow::Add(NewPush said) {
  Push& push = pushes_.emplace_back();
  push.sequence_ = next_;
  next_ = next_.Next();
  push.open_ = static_cast<uint32_t>(said.gradients.size());
  push.settled_.assign((said.gradients.size() + 63) / 64, 0);
  push.said_ = std::move(said);
}

SequenceNumber PushWindow::Reserve(TableId table) {
  Push& push = pushes_.emplace_back();
  push.sequence_ = next_;
  next_ = next_.Next();
  push.call_open_ = false;
  push.reserved_ = true;
  push.open_ = 1;
  push.said_.table = table;
  return push.sequence_;
}

const PushWindow::Push& PushWindow::Fill(SequenceNumber reserved, GroupedGradients gradients,
                                         std::vector<FoldCounts> folds, MonotonicTime now) {
  const size_t place = PlaceOf(reserved);
  ATTUNE_CHECK(place < pushes_.size() && pushes_[place].reserved_) << "push " << reserved << " has its keys already";
  Push& push = pushes_[place];
  push.reserved_ = false;
  push.open_ = static_cast<uint32_t>(gradients.size());
  push.settled_.assign((gradients.size() + 63) / 64, 0);
  push.said_.gradients = std::move(gradients);
  push.said_.folds = std::move(folds);
  MarkSent(push, now);
  if (reserved < next_to_index_) IndexPush(push);
  return push;
}

bool PushWindow::IsHeldUp() const {
  return !pushes_.empty() && pushes_.front().reserved_ && next_to_send_ < next_ && !HasRoom();
}

bool PushWindow::HasRoom() const {
  return next_to_send_.value() < pushes_.front().sequence_.value() + options_.in_flight_max;
}

void PushWindow::MarkSent(Push& push, MonotonicTime now) {
  push.sent_ = true;
  push.backoff_ = options_.resend_after;
  push.send_again_ = options_.no_resend ? kNever : now + push.backoff_;
}

void PushWindow::Postpone(Duration pause) {
  for (Push& push : pushes_) push.said_.deadline = MovedBy(pause, push.said_.deadline);
}

MonotonicTime PushWindow::EndOverdue(MonotonicTime now, std::vector<Completion>& completions) {
  MonotonicTime next = kNever;
  for (Push& push : pushes_) {
    if (!push.call_open_) continue;
    if (now < push.said_.deadline) {
      next = std::min(next, push.said_.deadline);
      continue;
    }
    push.call_open_ = false;
    completions.push_back(
        {.call = push.said_.call,
         .status =
             Error(StatusCode::kDeadlineExceeded,
                   "push of " + std::to_string(push.said_.gradients.size()) + " keys: " + std::to_string(push.open_) +
                       " are not acknowledged yet; the outcome is open, the session keeps sending"),
         .result = {}});
  }
  return next;
}

void PushWindow::EndAll(const Status& status, std::vector<Completion>& completions) {
  for (const Push& push : pushes_) {
    if (push.call_open_) completions.push_back({.call = push.said_.call, .status = status, .result = {}});
  }
  pushes_.clear();
}

const PushWindow::Push* PushWindow::TakeNextToSend(MonotonicTime now) {
  while (!pushes_.empty() && next_to_send_ < next_) {
    // One whose keys came later has been sent by then, and may be settled.
    if (next_to_send_ < pushes_.front().sequence_) next_to_send_ = pushes_.front().sequence_;
    if (!HasRoom()) return nullptr;
    Push& push = pushes_[PlaceOf(next_to_send_)];
    next_to_send_ = next_to_send_.Next();
    if (push.reserved_ || push.sent_) continue;
    MarkSent(push, now);
    return &push;
  }
  return nullptr;
}

size_t PushWindow::PlaceOf(SequenceNumber sequence) const {
  if (pushes_.empty() || sequence < pushes_.front().sequence_) return pushes_.size();
  return std::min<size_t>(sequence.value() - pushes_.front().sequence_.value(), pushes_.size());
}

const PushWindow::Push* PushWindow::Find(SequenceNumber sequence) const {
  const size_t place = PlaceOf(sequence);
  return place < pushes_.size() ? &pushes_[place] : nullptr;
}

bool PushWindow::Settle(SequenceNumber sequence, const Positions& positions, const Status& status,
                        std::vector<Completion>& completions) {
  const size_t place = PlaceOf(sequence);
  if (place == pushes_.size()) return false;  // a second answer
  Push& push = pushes_[place];
  const NewPush& said = push.said_;
  if (positions.size() > said.gradients.size()) return false;  // not to this push, or to one that has no keys yet
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint32_t position = positions.At(i);
    if (position >= said.gradients.size() || !push.IsOpen(position)) continue;
    push.settled_[position / 64] |= uint64_t{1} << (position % 64);
    --push.open_;
    if (sequence < next_to_index_) unacknowledged_.Remove(said.table, said.gradients.keys()[position], sequence);
  }
  if (push.refused_.ok()) push.refused_ = status;
  if (push.open_ > 0) return false;
  if (std::exchange(push.call_open_, false)) {
    completions.push_back({.call = said.call, .status = push.refused_, .result = {}});
  }
  if (pushes_.front().open_ > 0) return false;
  while (!pushes_.empty() && pushes_.front().open_ == 0) pushes_.pop_front();
  return true;
}

// Most pushes are settled before anybody asks which keys they touch, so the index of keys is made when it is needed.
void PushWindow::Index() {
  if (pushes_.empty()) {
    next_to_index_ = next_;
    return;
  }
  next_to_index_ = std::max(next_to_index_, pushes_.front().sequence_);
  for (; next_to_index_ < next_; next_to_index_ = next_to_index_.Next()) IndexPush(*Find(next_to_index_));
}

void PushWindow::IndexPush(const Push& push) {
  const Slice<Key>& keys = push.gradients().keys();
  for (uint32_t position = 0; position < keys.size(); ++position) {
    if (push.IsOpen(position)) unacknowledged_.Add(push.table(), keys[position], push.sequence_, position);
  }
}

bool PushWindow::AnyOpenOf(TableId table, std::span<const Key> keys) {
  Index();
  return !unacknowledged_.empty() &&
         std::ranges::any_of(keys, [&](Key key) { return unacknowledged_.Contains(table, key); });
}

void PushWindow::FindOpenOf(TableId table, std::span<const Key> keys, std::vector<After>& after) {
  Index();
  if (unacknowledged_.empty()) return;
  for (uint32_t i = 0; i < keys.size(); ++i) unacknowledged_.Find(table, keys[i], i, after);
}

}  // namespace attune::ps
