#include "tests/simulation/rows/simulation.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/counting_store.h"
#include "tests/simulation/describe.h"

namespace attune::ps::simulation {

void RowSimulation::AddNode(Role role) {
  auto node = std::make_unique<Node>();
  node->id = NodeId(next_node_++);
  node->role = role;
  const auto report = [this](const std::string& text) { Violation(text); };
  RowOptions options;
  options.create_store = [report](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
    return std::make_unique<CountingStore>(spec, true, 1.5F, report);
  };
  options.create_copies = [report](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
    return std::make_unique<CountingStore>(spec, false, 1.5F, report);
  };
  options.rows_per_message_max = p_.rows_per_message;
  options.rows_called_back_max = 2;
  options.installs_in_flight_max = 1;
  options.call_back_from_servers = p_.call_back;
  options.mutation = mutations_.row;
  node->rows = std::make_unique<RowNode>(std::move(options));
  node->rows->SetSelf(node->id);
  RowOutputs out;
  for (uint32_t table = 1; table <= p_.tables; ++table) {
    TableSpec spec{.name = "t" + std::to_string(table), .options = {.dim = kColumnsMax}};
    if (!node->rows->InstallTable(TableId(table), spec).ok()) Violation("a table could not be installed");
  }
  nodes_[node->id.value()] = std::move(node);
}

std::vector<NodeId> RowSimulation::Members(Role role) const {
  std::vector<NodeId> members;
  for (const Member& member : map_->members) {
    if (member.role == role) members.push_back(member.node);
  }
  return members;
}

void RowSimulation::Publish(ShardMap map, const char* why) {
  Count("maps");
  map_ = std::make_shared<const ShardMap>(std::move(map));
  if (const Status status = Validate(*map_); !status.ok()) Violation("bad map: " + attune::ToString(status));
  if (keeps_history()) Trace(std::string("map ") + Describe(*map_) + ": " + why);
  for (const auto& [id, node] : nodes_) {
    if (!node->alive) continue;
    const double factor = node->suspected ? 12 : node->id == slow_map_ ? std::max(2.0, p_.slow_map) : 2;
    After(network_.Delay(factor), [this, to = node->id, map = map_] { DeliverMap(to, map); });
  }
}

void RowSimulation::DeliverMap(NodeId to, const std::shared_ptr<const ShardMap>& map) {
  if (network_.Apart(kCoordinatorPlace, to.value())) {
    return After(network_.Delay(4), [this, to, map] { DeliverMap(to, map); });
  }
  network_.WhenAwake(to.value(), [this, to, map] {
    if (Alive(to)) Adopt(At(to), *map);
  });
}

void RowSimulation::Adopt(Node& node, const ShardMap& map) {
  if (map.version <= node.rows->map().version) return;
  if (!map.Contains(node.id)) {
    Trace(std::to_string(node.id.value()) + " hears that it is out");
    node.alive = false;
    return;
  }
  if (keeps_history()) Trace(std::to_string(node.id.value()) + " adopts map " + std::to_string(map.version.counter()));
  for (const Member& member : node.rows->map().members) {
    if (map.Contains(member.node)) continue;
    node.gone.insert(member.node);
    if (!RowMutant(RowMutation::kRemovedNodeAccepted) && !RowMutant(RowMutation::kRemovedNodesHandoverAccepted)) {
      node.links.erase(member.node);
    }
  }
  RowOutputs out;
  const ShardMap old = node.rows->map();
  node.rows->AdoptMap(map, now(), out);
  Stepped(node, out);
  if (p_.rounds > 0 && node.role == Role::kWorker && (RoutedSince(map) > old.version || map.Find(node.id)->leaving)) {
    GiveUpCopies(node);
  }
  Recover(node, std::ranges::any_of(old.members, [&](const Member& member) { return !map.Contains(member.node); }));
  Arm(node);
}

}  // namespace attune::ps::simulation
