#include "tests/simulation/rows/simulation.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ps/core/check/message_check.h"
#include "tests/simulation/describe.h"

namespace attune::ps::simulation {

Link& RowSimulation::LinkTo(Node& node, NodeId peer) {
  const auto [it, is_new] =
      node.links.try_emplace(peer, LinkOptions{.window = 8,
                                               .ahead_max = 4,
                                               .acknowledge_every = 4,
                                               .acknowledge_after = FromMilliseconds(p_.delay_max),
                                               .resend_after = FromMilliseconds(p_.delay_max * 4 + 1),
                                               .mutations = mutations_.link});
  if (is_new) {
    std::vector<LinkFrame> frames;
    it->second.Connected(now(), frames);
  }
  return it->second;
}

void RowSimulation::SendFrames(Node& node, NodeId to, std::vector<LinkFrame> frames) {
  for (LinkFrame& frame : frames) Carry(node.id, to, std::move(frame));
}

void RowSimulation::Carry(NodeId from, NodeId to, LinkFrame frame) {
  Status status = CheckMessage(frame.message);
  if (status.ok()) status = CheckOrder(frame.message, frame.link);
  if (!status.ok()) {
    return Violation("Checked: node " + std::to_string(from.value()) + " sends what " + std::to_string(to.value()) +
                     " refuses: " + std::string(status.message()));
  }
  network_.Send(from.value(), to.value(), [this, from, to, frame = std::move(frame)] { Deliver(from, to, frame); });
}

void RowSimulation::Break(NodeId a, NodeId b) {
  if (!Alive(a) || !Alive(b)) return;
  network_.Cut(a.value(), b.value());
  Trace("link " + std::to_string(a.value()) + "-" + std::to_string(b.value()) + " breaks");
  const Duration away = network_.Delay(6);
  for (const auto& [self, peer] : {std::pair(a, b), std::pair(b, a)}) {
    Node& node = At(self);
    const auto it = node.links.find(peer);
    if (it == node.links.end()) continue;
    it->second.Disconnected();
    After(away, [this, self = self, peer = peer] {
      network_.WhenAwake(self.value(), [this, self, peer] { Reconnect(self, peer); });
    });
  }
}

void RowSimulation::Reconnect(NodeId from, NodeId to) {
  if (!Alive(from)) return;
  Node& node = At(from);
  const auto link = node.links.find(to);
  if (link == node.links.end() || link->second.connected()) return;
  std::vector<LinkFrame> frames;
  link->second.Connected(now(), frames);
  SendFrames(node, to, std::move(frames));
  Arm(node);
}

void RowSimulation::Deliver(NodeId from, NodeId to, const LinkFrame& frame) {
  if (!Alive(to)) return;
  Node& node = At(to);
  const bool accept_gone =
      RowMutant(RowMutation::kRemovedNodeAccepted) || RowMutant(RowMutation::kRemovedNodesHandoverAccepted);
  if (node.gone.contains(from) && !accept_gone) return;
  ++outcome().messages;
  std::vector<Message> delivered;
  std::vector<LinkFrame> frames;
  LinkTo(node, from).Receive(frame, now(), delivered, frames);
  SendFrames(node, from, std::move(frames));
  delivering_ = true;  // what a link gives at once is neither in flight nor in a row until all of it is handled
  for (Message& message : delivered) {
    Digest((message.index() * 1000003 + from.value() * 8191 + to.value()) ^
           static_cast<uint64_t>((now() - MonotonicTime{}).count()));
    if (keeps_history()) {
      Trace(std::to_string(from.value()) + " -> " + std::to_string(to.value()) + "  " + Describe(message));
    }
    const bool answer = std::holds_alternative<PushAck>(message) || std::holds_alternative<PullReply>(message) ||
                        std::holds_alternative<RoundReply>(message);
    if (answer) {
      // The view rule holds for answers too: a worker that takes one has the map it was sent under.
      if (MapVersionOf(message) > node.rows->map().version && map_->Contains(to)) Adopt(node, *map_);
      if (node.rows->map().Contains(from) || accept_gone) Answer(node, from, message);
      continue;
    }
    RowOutputs out;
    node.rows->Receive(from, std::move(message), now(), out);
    Stepped(node, out);
  }
  delivering_ = false;
  if (!delivered.empty()) CheckRows();
  Arm(node);
}

void RowSimulation::SendAll(Node& node, RowOutputs& out) {
  for (Outgoing& outgoing : out.send) {
    if (outgoing.to == node.id) {
      if (keeps_history()) Trace(std::to_string(node.id.value()) + " itself  " + Describe(outgoing.message));
      Answer(node, node.id, outgoing.message);
    } else {
      if (keeps_history() && std::getenv("ATTUNE_TRACE_SENDS") != nullptr) {
        Trace("    " + std::to_string(node.id.value()) + " sends to " + std::to_string(outgoing.to.value()) + "  " +
              Describe(outgoing.message));
      }
      ToNode(node, outgoing.to, std::move(outgoing.message));
    }
  }
}

void RowSimulation::ToNode(Node& node, NodeId to, Message message) {
  std::vector<LinkFrame> frames;
  LinkTo(node, to).Send(std::move(message), now(), frames);
  SendFrames(node, to, std::move(frames));
  Arm(node);
}

void RowSimulation::Arm(Node& node) {
  MonotonicTime wake = node.rows->WakeAt();
  for (const auto& [peer, link] : node.links) wake = std::min(wake, link.WakeAt());
  WakeAt(node.wake, wake, [this, id = node.id] {
    if (network_.IsPaused(id.value())) {  // it wakes with its timers overdue
      return network_.WhenAwake(id.value(), [this, id] {
        if (Alive(id)) Arm(At(id));
      });
    }
    if (!Alive(id)) return;
    Node& again = At(id);
    again.rows->OnTimer(now());
    for (auto& [peer, link] : again.links) {
      std::vector<LinkFrame> frames;
      if (now() >= link.WakeAt()) link.OnTimer(now(), frames);
      SendFrames(again, peer, std::move(frames));
    }
    Arm(again);
  });
}

// The coordinator is informed; a node that cannot reach it says so again.
void RowSimulation::Hear(NodeId from, const RowsReport& report) {
  if (report.number < reports_[from].number) return;
  if (network_.Apart(kCoordinatorPlace, from.value())) {
    return After(network_.Delay(4), [this, from, report] { Hear(from, report); });
  }
  reports_[from] = report;
  Advance();
}

// After every step of a RowNode.
void RowSimulation::Stepped(Node& node, RowOutputs& out) {
  SendAll(node, out);
  for (const RejectedMessage& rejected : out.rejected) {
    Violation("Checked: node " + std::to_string(node.id.value()) + " rejects a message of " +
              std::to_string(rejected.from.value()) + ": " + rejected.why);
  }
  if (out.lost) Violation("node " + std::to_string(node.id.value()) + " gave up: " + attune::ToString(*out.lost));
  if (out.need_map && !node.asked_map) {
    node.asked_map = true;
    After(network_.Delay(2), [this, id = node.id] {
      if (!Alive(id)) return;
      At(id).asked_map = false;
      DeliverMap(id, map_);
    });
  }
  if (out.report || draining_) {
    RowsReport report = node.rows->Report();
    report.number = ++next_report_;
    After(network_.Delay(2), [this, id = node.id, report] { Hear(id, report); });
  }
  CheckNode(node);
  if (!delivering_) CheckRows();
}

}  // namespace attune::ps::simulation
