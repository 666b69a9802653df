#include <algorithm>
#include <cstdio>

#include "examples/package-graph/evaluation.h"

namespace attune::package_graph {
namespace {

constexpr size_t kGuesses = 4, kGuessesAsked = 100;

std::string Row(std::string_view name, const Ranks& model, const Ranks& popularity) {
  char text[128];
  std::snprintf(text, sizeof text, "%-12.*s %6llu  %5.3f  %5.3f        %5.3f  %5.3f\n", static_cast<int>(name.size()),
                name.data(), static_cast<unsigned long long>(model.count), model.Mrr(), popularity.Mrr(),
                model.Hits10(), popularity.Hits10());
  return text;
}

// "section:net" -> "net"
std::string_view Short(const Graph& graph, EntityId id, Relation relation) {
  std::string_view name = graph.names[id];
  if (relation > Relation::kConflicts) name.remove_prefix(std::min(name.size(), name.find(':') + 1));
  return name;
}

// What a relation's end can be at all: a package, or a thing of the relation's own kind. (Ranks do not know that.)
bool IsOfKind(const Graph& graph, EntityId id, Relation relation) {
  const std::string& name = graph.names[id];
  if (relation <= Relation::kConflicts) return name.find(':') == std::string::npos;
  return name.starts_with(std::string(kRelationNames[static_cast<size_t>(relation)]) + ':');
}

bool IsHeldOut(const Graph& graph, const Link& link) {
  return std::find(graph.held_out.begin(), graph.held_out.end(), link) != graph.held_out.end();
}

// "gimp suggests: [darktable], krita, inkscape, blender". Returns whether a guess was right.
bool AppendGuesses(const Model& model, const Graph& graph, const Judge& judge, EntityId head, Relation relation,
                   std::string& text) {
  bool right = false;
  text += "  " + graph.names[head] + ' ' + std::string(kRelationNames[static_cast<size_t>(relation)]) + ':';
  size_t shown = 0;
  for (const EntityId guess : judge.Predict(model, Side::kTail, head, relation, kGuessesAsked)) {
    if (!IsOfKind(graph, guess, relation)) continue;
    if (++shown > kGuesses) break;
    const bool is_right = IsHeldOut(graph, {head, guess, relation});
    const std::string name(Short(graph, guess, relation));
    text += text.back() == ':' ? " " : ", ";
    text += is_right ? '[' + name + ']' : name;
    right = right || is_right;
  }
  return right;
}

}  // namespace

std::string Report(const Model& model, const Graph& graph, const Judge& judge, const Judgment& judgment,
                   const Judgment& popularity, const std::vector<std::string>& packages) {
  std::string text = "held out      ranks    MRR  popularity  Hits@10  popularity\n";
  for (size_t i = 0; i < kRelations; ++i) {
    if (judgment.by_relation[i].count == 0) continue;
    text += Row(kRelationNames[i], judgment.by_relation[i], popularity.by_relation[i]);
  }
  text += Row("all", judgment.all, popularity.all);
  text += "first guesses for held-out links, right ones in brackets:\n";
  for (size_t i = 0; i < kRelations; ++i) {
    const auto relation = static_cast<Relation>(i);
    const auto found = std::find_if(graph.held_out.begin(), graph.held_out.end(),
                                    [&](const Link& link) { return link.relation == relation; });
    if (found == graph.held_out.end()) continue;
    const bool right = AppendGuesses(model, graph, judge, found->head, relation, text);
    text += right ? "\n" : "; not " + std::string(Short(graph, found->tail, relation)) + '\n';
  }
  std::string news;
  for (const std::string& package : packages) {
    const std::optional<EntityId> id = graph.Find(package);
    for (const Relation relation : {Relation::kRecommends, Relation::kSuggests}) {
      if (!id) continue;
      AppendGuesses(model, graph, judge, *id, relation, news);
      news += '\n';
    }
  }
  if (!news.empty()) text += "what the lists do not say, most likely first:\n" + news;
  return text;
}

}  // namespace attune::package_graph
