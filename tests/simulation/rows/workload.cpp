#include "tests/simulation/rows/simulation.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "tests/simulation/describe.h"

namespace attune::ps::simulation {

NodeId RowSimulation::AnyMember(const Node& node) {
  const auto& members = node.rows->map().members;
  return members[random().Below(members.size())].node;
}

SequenceNumber RowSimulation::AckedBelow(const Node& node) const {
  SequenceNumber below;
  for (const size_t index : node.pushes) {
    const SimPush& push = pushes_[index];
    const bool settled = RowMutant(RowMutation::kAckedBelowCountsFirstKey)
                             ? std::ranges::find(push.acked, true) != push.acked.end()
                             : push.All();
    if (!settled) break;
    below = push.sequence;
  }
  return below;
}

void RowSimulation::IssuePush() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  if (workers.empty() || pushes_.size() >= kColumnsMax) return;
  const NodeId worker = workers[random().Below(workers.size())];
  if (!Runs(worker) || !At(worker).rows->map().formed() || map_->Find(worker)->leaving) return;
  Node& node = At(worker);
  const TableId table(static_cast<uint32_t>(1 + random().Below(p_.tables)));
  std::vector<Key> keys;
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random().Chance(p_.key_share)) keys.push_back(key);
  }
  if (keys.empty()) keys.push_back(1 + random().Below(p_.keys));
  PushToCopies(node, table, keys);
  if (keys.empty() || pushes_.size() >= kColumnsMax) return;
  UsedElsewhere(node, table, keys);
  SimPush push{.origin = worker,
               .sequence = SequenceNumber(node.next_sequence++),
               .table = table,
               .column = static_cast<uint32_t>(pushes_.size()),
               .keys = std::move(keys)};
  push.acked.resize(push.keys.size());
  pushes_.push_back(push);
  node.pushes.push_back(pushes_.size() - 1);
  SendPush(node, pushes_.back(), random().Chance(0.4));
}

// Open keys, in pieces, each to its home or to anybody.
void RowSimulation::SendPush(Node& node, const SimPush& push, bool to_home) {
  std::map<NodeId, std::vector<uint32_t>> parts;
  const NodeId one = push_to_ != NodeId() && node.rows->map().Contains(push_to_) ? push_to_ : AnyMember(node);
  for (uint32_t i = 0; i < push.keys.size(); ++i) {
    if (push.acked[i]) continue;
    parts[to_home ? node.rows->map().HomeOf(push.keys[i]) : random().Chance(0.8) ? one : AnyMember(node)].push_back(i);
  }
  for (const auto& [to, places] : parts) {
    Push message{.origin = node.id,
                 .sequence = push.sequence,
                 .table = push.table,
                 .map_version = node.rows->map().version,
                 .acked_below = AckedBelow(node)};
    message.positions.list = places;
    std::vector<Key> keys;
    std::vector<float> gradients(places.size() * kColumnsMax);
    for (size_t i = 0; i < places.size(); ++i) {
      keys.push_back(push.keys[places[i]]);
      if (!push.folds.empty()) message.folds.push_back(push.folds[places[i]]);
      gradients[i * kColumnsMax + push.column] = 1;
    }
    message.keys = std::move(keys);
    message.gradients = std::move(gradients);
    ToNode(node, to, std::move(message));
  }
}

void RowSimulation::IssuePull() {
  const std::vector<NodeId> workers = Members(Role::kWorker);
  if (workers.empty()) return;
  const NodeId worker = workers[random().Below(workers.size())];
  if (!Runs(worker) || !At(worker).rows->map().formed()) return;
  Node& node = At(worker);
  SimPull pull{.request = RequestId(node.next_request++),
               .table = TableId(static_cast<uint32_t>(1 + random().Below(p_.tables)))};
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random().Chance(0.6)) pull.keys.push_back(key);
  }
  if (pull.keys.empty()) pull.keys.push_back(1 + random().Below(p_.keys));
  ReadCopies(node, pull.table, pull.keys);
  if (pull.keys.empty()) return;
  UsedElsewhere(node, pull.table, pull.keys);
  pull.must.resize(pull.keys.size());
  pull.answered.resize(pull.keys.size());
  for (uint32_t i = 0; i < pull.keys.size(); ++i) {
    pull.seen.push_back(node.seen[{pull.table, pull.keys[i]}]);
    std::vector<ps::After> after;
    for (const size_t index : node.pushes) {
      const SimPush& push = pushes_[index];
      const auto it = std::ranges::find(push.keys, pull.keys[i]);
      if (push.table != pull.table || it == push.keys.end()) continue;
      const auto position = static_cast<uint32_t>(it - push.keys.begin());
      pull.must[i].push_back(push.column);
      if (!push.acked[position]) after.push_back({.sequence = push.sequence, .position = position, .key_index = i});
    }
    if (RowMutant(RowMutation::kAfterHoldsLastOnly) && after.size() > 1) after = {after.back()};
    pull.after.insert(pull.after.end(), after.begin(), after.end());
  }
  SimPull& open = node.pulls[pull.request] = std::move(pull);
  SendPull(node, open, random().Chance(0.4));
}

void RowSimulation::SendPull(Node& node, SimPull& pull, bool to_home) {
  std::erase_if(pull.after, [&](const ps::After& after) {
    const SimPush& push = pushes_[node.pushes[after.sequence.value() - 1]];
    return static_cast<bool>(push.acked[after.position]);
  });
  std::map<NodeId, std::vector<uint32_t>> parts;
  const NodeId one = AnyMember(node);
  for (uint32_t i = 0; i < pull.keys.size(); ++i) {
    if (!pull.answered[i]) parts[to_home ? node.rows->map().HomeOf(pull.keys[i]) : one].push_back(i);
  }
  for (const auto& [to, places] : parts) {
    Pull message{.origin = node.id,
                 .request = pull.request,
                 .table = pull.table,
                 .map_version = node.rows->map().version,
                 .acked_below = AckedBelow(node),
                 .remaining = std::chrono::hours(1)};
    std::vector<Key> keys;
    for (uint32_t i = 0; i < places.size(); ++i) {
      keys.push_back(pull.keys[places[i]]);
      for (const ps::After& after : pull.after) {
        if (after.key_index == places[i]) {
          message.after.push_back({.sequence = after.sequence, .position = after.position, .key_index = i});
        }
      }
    }
    message.keys = std::move(keys);
    message.positions.list = places;
    ToNode(node, to, std::move(message));
  }
}

// A pull may name a push of its worker that was acknowledged and then lost with its row, and wait for it where the row
// is now. Its worker asks again, and does not name it any more.
void RowSimulation::PullAgainWhatWasLost() {
  for (const auto& [id, node] : nodes_) {
    if (!node->alive || !map_->Contains(node->id)) continue;
    for (auto& [request, pull] : node->pulls) {
      const bool lost = std::ranges::any_of(
          pull.keys, [&](Key key) { return exposed_.contains(ShardMap::ShardIndex(key, p_.shards)); });
      if (pull.open && lost) SendPull(*node, pull, true);
    }
  }
}

// Any time, by any route.
void RowSimulation::Reissue() {
  std::vector<size_t> open;
  for (size_t i = 0; i < pushes_.size(); ++i) {
    if (!pushes_[i].All() && !pushes_[i].is_open && Runs(pushes_[i].origin)) open.push_back(i);
  }
  if (open.empty()) return;
  const SimPush& push = pushes_[open[random().Below(open.size())]];
  SendPush(At(push.origin), push, random().Chance(0.3));
}

// What the node that is gone had in hand is lost, however it went.
void RowSimulation::Recover(Node& node, bool somebody_gone) {
  if (node.role != Role::kWorker || !somebody_gone) return;
  if (RowMutant(RowMutation::kNoReissueAtRecovery)) return;
  for (const size_t index : node.pushes) {
    if (!pushes_[index].All() && !pushes_[index].is_open) SendPush(node, pushes_[index], true);
  }
  for (auto& [request, pull] : node.pulls) {
    if (pull.open) SendPull(node, pull, true);
  }
}

void RowSimulation::IssueLocalize() {
  const auto& members = map_->members;
  const NodeId from = members[random().Below(members.size())].node;
  NodeId to = members[random().Below(members.size())].node;
  if (p_.slow_spare && random().Chance(0.8)) to = random().Chance(0.5) ? SpareServer() : Members(Role::kWorker).front();
  if (!Alive(from) || !At(from).rows->map().formed()) return;
  if (p_.trades && map_->Find(to)->role == Role::kServer) return;  // only workers ask for rows
  std::vector<Key> keys;
  for (Key key = 1; key <= p_.keys; ++key) {
    if (random().Chance(0.6)) keys.push_back(key);
  }
  if (keys.empty()) return;
  LocalizeAt(from, TableId(static_cast<uint32_t>(1 + random().Below(p_.tables))), std::move(keys), to);
}

void RowSimulation::LocalizeAt(NodeId from, TableId table, std::vector<Key> keys, NodeId to) {
  if (!Runs(from) || !map_->Contains(to)) return;
  Node& node = At(from);
  Trace(std::to_string(from.value()) + " wants rows at " + std::to_string(to.value()));
  RowOutputs out;
  node.rows->Receive(
      from, Localize{.map_version = node.rows->map().version, .table = table, .to = to, .keys = std::move(keys)}, now(),
      out);
  Stepped(node, out);
  Arm(node);
}

void RowSimulation::Answer(Node& node, NodeId from, const Message& message) {
  if (const auto* ack = std::get_if<PushAck>(&message)) {
    SimPush& push = pushes_[node.pushes.at(ack->sequence.value() - 1)];
    for (size_t i = 0; i < ack->positions.size(); ++i) push.acked.at(ack->positions.At(i)) = true;
    return;
  }
  if (const auto* round = std::get_if<RoundReply>(&message)) return TakeReply(node, from, *round);
  const auto* reply = std::get_if<PullReply>(&message);
  if (reply == nullptr) return Violation(std::string("a refusal: ") + Describe(message));
  const auto it = node.pulls.find(reply->request);
  if (it == node.pulls.end() || !it->second.open) return;
  SimPull& pull = it->second;
  if (reply->versions.size() != reply->positions.size()) return Violation("a small pull without all its versions");
  for (size_t i = 0; i < reply->positions.size(); ++i) {
    const uint32_t place = reply->positions.At(i);
    if (pull.answered[place]) continue;
    pull.answered[place] = true;
    const TableKey key{pull.table, pull.keys[place]};
    const RowVersion version = reply->versions[i];
    if (version < pull.seen[place]) {
      std::ostringstream text;
      text << "VersionsRise: worker " << node.id << " saw key " << key.key << " at " << pull.seen[place] << ", now "
           << version;
      Violation(text.str());
    }
    node.seen[key] = std::max(node.seen[key], version);
    UsedElsewhere(node, key.table, {&key.key, 1});
    SimHolder::Seen& seen = node.holder.seen[key];
    if (version.era() > seen.era) seen = {.era = version.era(), .columns = {}};
    for (uint32_t column = 0; column < kColumnsMax && version.era() == seen.era; ++column) {
      if (reply->rows[i * kColumnsMax + column] > 0.5F) seen.columns.insert(column);
    }
    if (exposed_.contains(ShardMap::ShardIndex(key.key, p_.shards))) continue;
    for (const uint32_t column : pull.must[place]) {
      if (reply->rows[i * kColumnsMax + column] < 0.5F) {
        Violation("OwnPushes: worker " + std::to_string(node.id.value()) + " misses its push " +
                  std::to_string(column) + " in key " + std::to_string(key.key));
      }
    }
  }
  pull.open = !std::ranges::all_of(pull.answered, [](bool one) { return one; });
}

}  // namespace attune::ps::simulation
