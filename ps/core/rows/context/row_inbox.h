// Which messages of others a node of rows takes now: what was sent under a
// newer map than its own waits for that map, and with it everything that its
// sender says afterwards, because messages come in order; what its sender may
// not say is dropped. Externally synchronized.
#pragma once

#include <utility>

#include "ps/core/mutations.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_context.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/core/rows/state/stalled_messages.h"

namespace attune::ps {

class RowInbox {
 public:
  // Which outlives it.
  explicit RowInbox(RowContext& node)
      : node_(node), stalled_(node.options().stalled_max, node.options().stalled_bytes_max) {}

  // False: it would have to wait, and no more messages of this peer are kept.
  // It is not to be taken from its link, which brings it again.
  bool HasRoomFor(NodeId from, const Message& message) const {
    return !stalled_.Holds(from) || !MustWait(from, message) || stalled_.HasRoom(from);
  }
  // True: it waits for a newer map and has been taken.
  bool Keep(NodeId from, Message& message) {
    if (!MustWait(from, message)) return false;
    stalled_.Add(from, std::move(message));
    return true;
  }
  // A map has been adopted: `handle(NodeId from, Message message)` gets what it
  // permits, in order. Returns whether some still wait.
  template <typename Handle>
  bool Release(Handle&& handle) {
    return stalled_.Release(node_.map().version, std::forward<Handle>(handle));
  }
  // Whether a message that need not wait counts: by the map, and by the role
  // that it gives to the sender. What has waited for a map came before that
  // role was known.
  bool Admits(NodeId from, const Message& message, RowOutputs& out);
  // What a node sent that is no member any more.
  void Forget(NodeId node);

  const StalledMessages& stalled() const { return stalled_; }

 private:
  bool MustWait(NodeId from, const Message& message) const {
    if (from == node_.self()) return false;
    const bool newer =
        MapVersionOf(message) > node_.map().version && !node_.Mutant(RowMutation::kNewerMessageUnderOldMap);
    return newer || stalled_.Holds(from);  // behind one that waits, all do
  }

  RowContext& node_;
  StalledMessages stalled_;
};

}  // namespace attune::ps
