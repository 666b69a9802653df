#include "examples/package-graph/evaluation.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "examples/support/products.h"

namespace attune::package_graph {
namespace {

constexpr size_t kQueriesTogether = 64;  // whose scores of all entities are in memory at a time

size_t IndexOf(Side side) { return side == Side::kTail ? 0 : 1; }

void ScoreEntities(const Model& model, std::span<const float> queries, std::vector<float>& scores) {
  const size_t entities = model.entities.size() / model.dim, count = queries.size() / model.dim;
  scores.assign(count * entities, 0);
  AddProduct({queries.data(), count, model.dim},
             examples::Matrix{model.entities.data(), entities, model.dim}.Transposed(),
             {scores.data(), count, entities});
}

void AppendQuery(const Model& model, Side asked, const Link& link, std::vector<float>& queries) {
  const EntityId known = asked == Side::kTail ? link.head : link.tail;
  queries.resize(queries.size() + model.dim);
  MakeQuery(asked, &model.entities[known * model.dim], &model.relations[static_cast<size_t>(link.relation) * model.dim],
            model.dim, &queries[queries.size() - model.dim]);
}

}  // namespace

Judge::Judge(const Graph& graph) : graph_(graph) {
  for (const auto* links : {&graph.training, &graph.held_out}) {
    for (const Link& link : *links) {
      for (auto* index : {&all_, &training_}) {
        if (links == &graph.held_out && index == &training_) continue;
        (*index)[0].push_back({link.head, link.relation, link.tail});
        (*index)[1].push_back({link.tail, link.relation, link.head});
      }
    }
  }
  for (auto* index : {&all_[0], &all_[1], &training_[0], &training_[1]}) {
    std::sort(index->begin(), index->end(), [](const Known& a, const Known& b) {
      return std::tie(a.known, a.relation, a.answer) < std::tie(b.known, b.relation, b.answer);
    });
  }
}

std::span<const Judge::Known> Judge::AnswersIn(const Index& index, EntityId known, Relation relation) {
  const auto [begin, end] = std::equal_range(
      index.begin(), index.end(), Known{known, relation, 0},
      [](const Known& a, const Known& b) { return std::tie(a.known, a.relation) < std::tie(b.known, b.relation); });
  return {begin, end};
}

const Judge::Index& Judge::IndexOf(Side asked, bool with_held_out) const {
  return (with_held_out ? all_ : training_)[package_graph::IndexOf(asked)];
}

double Judge::RankOf(const std::vector<float>& scores, Side asked, const Link& link) const {
  const EntityId right = asked == Side::kTail ? link.tail : link.head;
  const EntityId known = asked == Side::kTail ? link.head : link.tail;
  uint64_t better = 0, equal = 0;
  const auto count = [&](EntityId entity, uint64_t by) {
    better += scores[entity] > scores[right] ? by : 0;
    equal += scores[entity] == scores[right] ? by : 0;
  };
  for (EntityId entity = 0; entity < graph_.size(); ++entity) count(entity, 1);
  for (const Known& other : AnswersIn(IndexOf(asked, true), known, link.relation)) count(other.answer, ~uint64_t{0});
  return 1 + static_cast<double>(better) + static_cast<double>(equal) / 2;
}

template <typename ScoreAll>
Judgment Judge::JudgeBy(size_t links_max, const ScoreAll& score_all) const {
  Judgment judgment;
  const size_t links = std::min(links_max, graph_.held_out.size());
  for (const Side asked : {Side::kTail, Side::kHead}) {
    for (size_t begin = 0; begin < links; begin += kQueriesTogether) {
      const std::span<const Link> part =
          std::span(graph_.held_out).subspan(begin, std::min(kQueriesTogether, links - begin));
      score_all(asked, part, [&](const Link& link, const std::vector<float>& scores) {
        const double rank = RankOf(scores, asked, link);
        judgment.all.Add(rank);
        judgment.by_relation[static_cast<size_t>(link.relation)].Add(rank);
      });
    }
  }
  return judgment;
}

Judgment Judge::JudgeModel(const Model& model, size_t links_max) const {
  std::vector<float> queries, scores, own;
  return JudgeBy(links_max, [&](Side asked, std::span<const Link> part, const auto& add) {
    queries.clear();
    for (const Link& link : part) AppendQuery(model, asked, link, queries);
    ScoreEntities(model, queries, scores);
    for (size_t i = 0; i < part.size(); ++i) {
      own.assign(scores.begin() + static_cast<ptrdiff_t>(i * graph_.size()),
                 scores.begin() + static_cast<ptrdiff_t>((i + 1) * graph_.size()));
      add(part[i], own);
    }
  });
}

Judgment Judge::JudgePopularity(size_t links_max) const {
  std::array<std::array<std::vector<float>, kRelations>, 2> counts;
  for (auto& side : counts) side.fill(std::vector<float>(graph_.size()));
  for (const Link& link : graph_.training) {
    ++counts[0][static_cast<size_t>(link.relation)][link.tail];
    ++counts[1][static_cast<size_t>(link.relation)][link.head];
  }
  return JudgeBy(links_max, [&](Side asked, std::span<const Link> part, const auto& add) {
    for (const Link& link : part) {
      add(link, counts[package_graph::IndexOf(asked)][static_cast<size_t>(link.relation)]);
    }
  });
}

std::vector<EntityId> Judge::Predict(const Model& model, Side asked, EntityId known, Relation relation,
                                     size_t count) const {
  std::vector<float> query, scores;
  AppendQuery(model, asked, {known, known, relation}, query);
  ScoreEntities(model, query, scores);
  std::vector<EntityId> order(graph_.size());
  std::iota(order.begin(), order.end(), EntityId{0});
  const std::span<const Known> answers = AnswersIn(IndexOf(asked, false), known, relation);
  std::erase_if(order, [&](EntityId id) {
    return id == known || std::any_of(answers.begin(), answers.end(), [&](const Known& a) { return a.answer == id; });
  });
  const size_t shown = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                    [&](EntityId a, EntityId b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  order.resize(shown);
  return order;
}

}  // namespace attune::package_graph
