#include "ps/core/trace/row_trace.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace attune::ps {
namespace {

using Event = RowTraceEvent;

std::string SecondsText(Duration time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f s", Seconds(time));
  return text.data();
}

std::string NameOf(const ShardMap& map, NodeId node) {
  const Member* const member = map.Find(node);
  if (member == nullptr) return "node " + std::to_string(node.value());
  return (member->role == Role::kServer ? "server " : "worker ") + std::to_string(member->index);
}

std::string WithPeer(std::string_view words, const std::string& peer) {
  std::string text(words);
  if (const size_t at = text.find('%'); at != std::string::npos) text.replace(at, 1, peer);
  return text;
}

// What of `keys` is this row, by its place; keys.size(): nothing.
template <typename Keys>
size_t PlaceOf(Key key, const Keys& keys) {
  return static_cast<size_t>(std::ranges::find(keys, key) - keys.begin());
}

}  // namespace

void RowTrace::Begin(TableKey row, MonotonicTime now) {
  *this = {};
  row_ = row;
  began_ = now;
}

std::vector<std::string> RowTrace::End(const ShardMap& map) {
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    std::string line =
        SecondsText(entry.first - began_) + "  " + WithPeer(WordsOf(entry.event), NameOf(map, entry.peer));
    if (entry.event == Event::kAnnounced) {
      line += ", for steps " + std::to_string(entry.low) + " to " + std::to_string(entry.high);
    }
    if (entry.event == Event::kAnnouncedTo || entry.event == Event::kAnnouncedBy) {
      line += ": at most " + std::to_string(entry.low) + " of the steps ahead read it, " + std::to_string(entry.high) +
              " push to it";
    }
    if (entry.count > 1) {
      line += "; " + std::to_string(entry.count) + " times, the last at " + SecondsText(entry.last - began_);
    }
    lines.push_back(std::move(line));
  }
  if (left_out_ > 0) lines.push_back("and " + std::to_string(left_out_) + " events more than there is room for");
  *this = {};
  return lines;
}

void RowTrace::Note(Event event, NodeId peer, MonotonicTime now, uint64_t low, uint64_t high) {
  const auto repeats = [&](const Entry& entry) { return entry.event == event && entry.peer == peer; };
  const auto known = std::find_if(entries_.begin() + static_cast<std::ptrdiff_t>(segment_), entries_.end(), repeats);
  if (known != entries_.end()) {
    ++known->count;
    known->last = now;
    known->low = event == Event::kAnnounced ? std::min(known->low, low) : std::max(known->low, low);
    known->high = std::max(known->high, high);
    return;
  }
  if (entries_.size() >= kEventsMax) {
    ++left_out_;
    return;
  }
  entries_.push_back({.event = event, .peer = peer, .first = now, .last = now, .low = low, .high = high});
  if (ChangesPlace(event)) segment_ = entries_.size();
}

// --- calls of the program

void RowTrace::Announced(TableId table, std::span<const Key> keys, uint64_t begin, uint64_t end, MonotonicTime now) {
  if (Concerns(table, keys)) Note(Event::kAnnounced, {}, now, begin, end - 1);
}

void RowTrace::Read(TableId table, std::span<const Key> keys, MonotonicTime now) {
  if (Concerns(table, keys)) Note(Event::kRead, {}, now);
}

void RowTrace::Pushed(TableId table, std::span<const Key> keys, MonotonicTime now) {
  if (Concerns(table, keys)) Note(Event::kPushed, {}, now);
}

// --- messages

void RowTrace::Received(NodeId from, const Message& message, MonotonicTime now) {
  std::visit(
      [&](const auto& kind) {
        if constexpr (requires { Heard(from, kind, now); }) Heard(from, kind, now);
      },
      static_cast<const MessageVariant&>(message));
}

void RowTrace::Sent(NodeId to, const Message& message, const Pulled& pulled, MonotonicTime now) {
  std::visit(
      [&](const auto& kind) {
        if constexpr (requires { Said(to, kind, pulled, now); }) Said(to, kind, pulled, now);
      },
      static_cast<const MessageVariant&>(message));
}

void RowTrace::Heard(NodeId, const Push& push, MonotonicTime now) {
  if (!Concerns(push.table, push.keys.view())) return;
  Note(push.folds.empty() ? Event::kPushCame : Event::kFoldCame, push.origin, now);
}

void RowTrace::Heard(NodeId, const Pull& pull, MonotonicTime now) {
  if (Concerns(pull.table, pull.keys.view())) Note(Event::kAskedForBy, pull.origin, now);
}

// An answer names places of the request only: one of several that answer it is taken for that of this row.
void RowTrace::Heard(NodeId from, const PullReply& reply, MonotonicTime now) {
  const auto asked = asked_.find(reply.request);
  if (asked == asked_.end() || asked->second != from) return;
  asked_.erase(asked);
  Note(Event::kCame, from, now);
}

void RowTrace::Heard(NodeId from, const Round& round, MonotonicTime now) {
  if (!Concerns(round.table, round.keys.view())) return;
  const AnnouncedUse& use = round.uses[PlaceOf(row_->key, round.keys.view())];
  const bool any = use.reads > 0 || use.writes > 0;
  Note(any ? Event::kAnnouncedBy : Event::kWithdrawnBy, from, now, use.reads, use.writes);
}

void RowTrace::Heard(NodeId from, const RoundReply& reply, MonotonicTime now) {
  if (Concerns(reply.table, reply.keys.view())) {
    Note(std::exchange(has_copy_, true) ? Event::kCopyRefreshed : Event::kCopyCame, from, now);
  }
  if (!Concerns(reply.table, reply.left)) return;
  has_copy_ = false;
  Note(Event::kCopyTakenBack, from, now);
}

void RowTrace::Heard(NodeId from, const Replicate& copied, MonotonicTime now) {
  if (Concerns(copied.table, copied.keys.view())) Note(Event::kBackupCame, from, now);
}

void RowTrace::Heard(NodeId, const Localize& wanted, MonotonicTime now) {
  if (Concerns(wanted.table, wanted.keys.view())) Note(Event::kWantedBy, wanted.to, now);
}

void RowTrace::Heard(NodeId from, const MoveOrder& order, MonotonicTime now) {
  if (Concerns(order.table, order.keys.view())) Note(Event::kMoveOrderCame, from, now);
}

void RowTrace::Heard(NodeId from, const Handover& moved, MonotonicTime now) {
  if (Concerns(moved.rows.table, moved.rows.keys.view())) Note(Event::kHandedHere, from, now);
}

void RowTrace::Said(NodeId to, const Push& push, const Pulled&, MonotonicTime now) {
  if (!Concerns(push.table, push.keys.view())) return;
  Note(push.folds.empty() ? Event::kPushSent : Event::kFoldSent, to, now);
}

void RowTrace::Said(NodeId to, const Pull& pull, const Pulled& pulled, MonotonicTime now) {
  if (!Concerns(pull.table, pull.keys.view())) return;
  constexpr size_t kAskedMax = 64;
  if (asked_.size() >= kAskedMax) asked_.erase(asked_.begin());  // never answered by this node
  asked_[pull.request] = to;
  Note(Concerns(pulled.table, pulled.keys) ? Event::kAskedFor : Event::kFetchedAhead, to, now);
}

void RowTrace::Said(NodeId to, const Round& round, const Pulled&, MonotonicTime now) {
  if (!Concerns(round.table, round.keys.view())) return;
  const AnnouncedUse& use = round.uses[PlaceOf(row_->key, round.keys.view())];
  const bool any = use.reads > 0 || use.writes > 0;
  if (use.has_copy != 0) has_copy_ = true;
  Note(any ? Event::kAnnouncedTo : Event::kWithdrawnTo, to, now, use.reads, use.writes);
}

void RowTrace::Said(NodeId to, const RoundReply& reply, const Pulled&, MonotonicTime now) {
  if (Concerns(reply.table, reply.keys.view())) Note(Event::kCopySent, to, now);
  if (Concerns(reply.table, reply.left)) Note(Event::kCopyRecalled, to, now);
}

void RowTrace::Said(NodeId to, const Replicate& copied, const Pulled&, MonotonicTime now) {
  if (Concerns(copied.table, copied.keys.view())) Note(Event::kBackedUp, to, now);
}

void RowTrace::Said(NodeId to, const Localize& wanted, const Pulled&, MonotonicTime now) {
  if (Concerns(wanted.table, wanted.keys.view())) Note(Event::kWantedHere, to, now);
}

void RowTrace::Said(NodeId to, const MoveOrder& order, const Pulled&, MonotonicTime now) {
  if (Concerns(order.table, order.keys.view())) Note(Event::kMoveOrdered, to, now);
}

void RowTrace::Said(NodeId to, const Handover& moved, const Pulled&, MonotonicTime now) {
  if (Concerns(moved.rows.table, moved.rows.keys.view())) Note(Event::kHandedOver, to, now);
}

}  // namespace attune::ps
