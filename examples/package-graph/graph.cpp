#include "examples/package-graph/graph.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "examples/package-graph/package_files.h"

namespace attune::package_graph {
namespace {

bool Before(const Link& a, const Link& b) {
  return std::tie(a.head, a.relation, a.tail) < std::tie(b.head, b.relation, b.tail);
}

// Links under ids in order of appearance.
class Collector {
 public:
  void Read(std::string_view text) {
    packages_ += ParsePackageList(text, [this](std::string_view subject, Relation relation, std::string_view object) {
      if (links_.size() == kLinksMax) {
        truncated_ = true;
        return;
      }
      const EntityId head = IdOf(subject);
      links_.push_back({head, IdOf(Spelled(relation, object)), relation});
    });
  }
  std::vector<Link> TakeLinks() {
    std::sort(links_.begin(), links_.end(), Before);
    links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
    return std::move(links_);
  }
  std::vector<std::string> TakeNames() { return std::move(names_); }
  uint64_t packages() const { return packages_; }
  bool truncated() const { return truncated_; }

 private:
  // Of what is not a package, the kind precedes the name.
  std::string_view Spelled(Relation relation, std::string_view object) {
    if (relation <= Relation::kConflicts) return object;
    spelled_ = kRelationNames[static_cast<size_t>(relation)];
    spelled_ += ':';
    spelled_ += object;
    return spelled_;
  }
  EntityId IdOf(std::string_view name) {
    const auto [entry, is_new] = ids_.try_emplace(absl::string_view(name.data(), name.size()), names_.size());
    if (is_new) names_.emplace_back(name);
    return entry->second;
  }

  absl::flat_hash_map<std::string, EntityId> ids_;
  std::vector<std::string> names_;
  std::vector<Link> links_;
  std::string spelled_;
  uint64_t packages_ = 0;
  bool truncated_ = false;
};

std::vector<uint32_t> CountLinks(const std::vector<Link>& links, size_t entities) {
  std::vector<uint32_t> counts(entities);
  for (const Link& link : links) {
    ++counts[link.head];
    ++counts[link.tail];
  }
  return counts;
}

// Leaves the links whose ends have enough links that are left.
std::vector<uint32_t> Thin(std::vector<Link>& links, size_t entities, uint32_t links_min) {
  for (;;) {
    std::vector<uint32_t> counts = CountLinks(links, entities);
    const size_t removed = std::erase_if(
        links, [&](const Link& link) { return counts[link.head] < links_min || counts[link.tail] < links_min; });
    if (removed == 0) return counts;
  }
}

// Renumbers entities by their number of links; those without any go.
std::vector<std::string> Renumber(std::vector<Link>& links, const std::vector<uint32_t>& counts,
                                  std::vector<std::string> names) {
  std::vector<EntityId> order(names.size());
  std::iota(order.begin(), order.end(), EntityId{0});
  std::erase_if(order, [&](EntityId id) { return counts[id] == 0; });
  std::sort(order.begin(), order.end(), [&](EntityId a, EntityId b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : names[a] < names[b];
  });
  std::vector<EntityId> number(names.size());
  std::vector<std::string> ordered;
  for (const EntityId id : order) {
    number[id] = static_cast<EntityId>(ordered.size());
    ordered.push_back(std::move(names[id]));
  }
  for (Link& link : links) link = {number[link.head], number[link.tail], link.relation};
  std::sort(links.begin(), links.end(), Before);
  return ordered;
}

uint32_t DefaultLinksMin(size_t links) { return links < 100'000 ? 4 : 10; }

// By pair of entities, so that no other link between the two gives the answer away.
bool IsHeldOut(const Link& link, const GraphOptions& options) {
  const auto [low, high] = std::minmax(link.head, link.tail);
  return SplitMix64(SplitMix64(SplitMix64(options.seed) + low) + high) % 100 < options.held_out_percent;
}

void Split(const std::vector<Link>& links, const GraphOptions& options, Graph& graph) {
  for (const Link& link : links) (IsHeldOut(link, options) ? graph.held_out : graph.training).push_back(link);
  const std::vector<uint32_t> counts = CountLinks(graph.training, graph.size());
  std::erase_if(graph.held_out, [&](const Link& link) { return counts[link.head] == 0 || counts[link.tail] == 0; });
  Random random(options.seed);
  for (auto* part : {&graph.training, &graph.held_out}) {
    for (size_t i = part->size(); i > 1; --i) std::swap((*part)[i - 1], (*part)[random.Below(i)]);
  }
}

}  // namespace

std::optional<EntityId> Graph::Find(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<EntityId>(found - names.begin());
}

std::string Graph::Description() const {
  return "graph: " + std::to_string(packages) + " packages in " + std::to_string(lists) + " lists, " +
         std::to_string(size()) + " things with " + std::to_string(training.size()) + " links to train, " +
         std::to_string(held_out.size()) + " held out";
}

StatusOr<Graph> BuildGraph(const std::vector<std::string>& texts, const GraphOptions& options) {
  Collector collector;
  for (const std::string& text : texts) collector.Read(text);
  if (collector.truncated()) {
    return Error(StatusCode::kResourceExhausted, "the package lists hold more than " + std::to_string(kLinksMax) +
                                                     " links; name fewer lists with --lists");
  }
  Graph graph{.names = collector.TakeNames(), .lists = texts.size(), .packages = collector.packages()};
  std::vector<Link> links = collector.TakeLinks();
  const uint32_t links_min = options.links_min > 0 ? options.links_min : DefaultLinksMin(links.size());
  const std::vector<uint32_t> counts = Thin(links, graph.names.size(), links_min);
  graph.names = Renumber(links, counts, std::move(graph.names));
  Split(links, options, graph);
  constexpr size_t kEntitiesMin = 3, kTrainingMin = 10;
  if (graph.size() >= kEntitiesMin && graph.training.size() >= kTrainingMin) return graph;
  return Error(StatusCode::kInvalidArgument, "too little to train on: " + graph.Description() +
                                                 "; name more lists with --lists or lower --min-links");
}

StatusOr<Graph> LoadGraph(const GraphOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, FindPackageLists(options.lists));
  std::vector<std::string> texts;
  for (const std::filesystem::path& file : files) {
    ASSIGN_OR_RETURN(std::string text, ReadPackageList(file));
    texts.push_back(std::move(text));
  }
  return BuildGraph(texts, options);
}

}  // namespace attune::package_graph
