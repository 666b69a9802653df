#include "ps/core/rows/context/row_inbox.h"

#include <variant>

#include "ps/core/protocol/message_rights.h"

namespace attune::ps {

bool RowInbox::Admits(NodeId from, const Message& message, RowOutputs& out) {
  if (from == node_.self()) return true;
  const Party sender = PartyOf(from, node_.map()), self = PartyOf(node_.self(), node_.map());
  if (sender == Party::kUnknown && !node_.Mutant(RowMutation::kRemovedNodeAccepted) &&
      !(node_.Mutant(RowMutation::kRemovedNodesHandoverAccepted) && std::holds_alternative<Handover>(message))) {
    return false;
  }
  if (MayCome(message.index(), sender, self)) return true;
  node_.Reject(from, NameOf(message), WithoutRight(sender, self), out);
  return false;
}

void RowInbox::Forget(NodeId node) {
  if (node_.Mutant(RowMutation::kRemovedNodeAccepted) || node_.Mutant(RowMutation::kRemovedNodesHandoverAccepted))
    return;
  stalled_.Forget(node);
}

}  // namespace attune::ps
