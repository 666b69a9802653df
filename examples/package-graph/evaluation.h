// What a trained model is worth: ranks of links it has never seen, beside those that mere popularity gives; and the
// links it believes in, for people.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "examples/package-graph/complex_model.h"

namespace attune::package_graph {

struct Model {
  size_t dim = 0;
  std::vector<float> entities, relations;  // row by key
};

// Of a right answer among all entities, others that are right as well left out ("filtered", Bordes et al. 2013); equal
// scores share their places.
struct Ranks {
  uint64_t count = 0;
  double reciprocal_sum = 0;
  uint64_t among_ten = 0;

  void Add(double rank) {
    ++count;
    reciprocal_sum += 1 / rank;
    among_ten += rank <= 10;
  }
  double Mrr() const { return count == 0 ? 0 : reciprocal_sum / static_cast<double>(count); }
  double Hits10() const { return count == 0 ? 0 : static_cast<double>(among_ten) / static_cast<double>(count); }
};
struct Judgment {
  Ranks all;
  std::array<Ranks, kRelations> by_relation;
};

// Known links, for filtering and for what popularity knows. The graph must outlive it.
class Judge {
 public:
  explicit Judge(const Graph& graph);

  // Of the first `links_max` held-out links, each asked for its tail and for its head.
  Judgment JudgeModel(const Model& model, size_t links_max) const;
  // The same for an answer that ranks entities by how often training links of that relation have them at that end.
  Judgment JudgePopularity(size_t links_max) const;

  // The likeliest entities in an order that begins with the best, known answers of the training links left out.
  std::vector<EntityId> Predict(const Model& model, Side asked, EntityId known, Relation relation, size_t count) const;

 private:
  struct Known {
    EntityId known;
    Relation relation;
    EntityId answer;
  };
  using Index = std::vector<Known>;  // sorted

  template <typename ScoreAll>
  Judgment JudgeBy(size_t links_max, const ScoreAll& score_all) const;
  double RankOf(const std::vector<float>& scores, Side asked, const Link& link) const;
  static std::span<const Known> AnswersIn(const Index& index, EntityId known, Relation relation);
  const Index& IndexOf(Side asked, bool with_held_out) const;

  const Graph& graph_;
  std::array<Index, 2> all_, training_;  // by side asked for
};

// For people: ranks by relation; held-out links with the model's first guesses, chosen without looking at them; links
// that the lists do not have but the model believes in, of the packages named (unknown ones are passed over).
std::string Report(const Model& model, const Graph& graph, const Judge& judge, const Judgment& judgment,
                   const Judgment& popularity, const std::vector<std::string>& packages);

}  // namespace attune::package_graph
