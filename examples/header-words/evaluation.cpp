#include "examples/header-words/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <span>

#include "base/random.h"

namespace attune::header_words {
namespace {

constexpr float kSeenMore = 5;
constexpr int kTurns = 8;
constexpr uint64_t kDraws = 4;  // of zeros for the biases
constexpr size_t kShown = 6;    // of a list, for people
constexpr int kHeldOutTriesMax = 1000;

double Root(double squares, size_t count) { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }

// The best `count` of [0, candidates) by score, best first; what has no score (NaN) is left out.
template <typename Score>
std::vector<uint32_t> Best(size_t candidates, size_t count, const Score& score) {
  std::vector<std::pair<float, uint32_t>> scored;
  for (uint32_t id = 0; id < candidates; ++id) {
    if (const float value = score(id); !std::isnan(value)) scored.emplace_back(-value, id);
  }
  count = std::min(count, scored.size());
  std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(count), scored.end());
  std::vector<uint32_t> best;
  for (size_t i = 0; i < count; ++i) best.push_back(scored[i].second);
  return best;
}

// The last two parts of a path distinguish headers for people.
std::string ShortName(const std::string& path) {
  const std::filesystem::path whole(path);
  return (whole.parent_path().filename() / whole.filename()).string();
}

std::string List(const std::vector<uint32_t>& ids, const std::vector<std::string>& names, bool are_paths) {
  std::string text;
  for (const uint32_t id : ids) text += (text.empty() ? "" : ", ") + (are_paths ? ShortName(names[id]) : names[id]);
  return text;
}

}  // namespace

std::vector<HeldOutCell> HeldOutCells(const Corpus& corpus, uint64_t seed) {
  std::vector<HeldOutCell> held_out;
  Random random(SplitMix64(seed));
  for (HeaderId header = 0; header < corpus.headers.size(); ++header) {
    size_t count = 0;
    for (const Cell& cell : corpus.CellsOf(header)) {
      if (!IsHeldOut(header, cell.identifier)) continue;
      held_out.push_back({header, cell.identifier, cell.value});
      ++count;
    }
    for (int tries = 0; count > 0 && tries < kHeldOutTriesMax; ++tries) {
      const IdentifierId identifier = DrawIdentifier(corpus, random);
      if (!IsHeldOut(header, identifier) || corpus.ValueAt(header, identifier) != 0) continue;
      held_out.push_back({header, identifier, 0});
      --count;
    }
  }
  return held_out;
}

float MeanOf(const Corpus& corpus) {
  double sum = 0;
  for (const Cell& cell : corpus.cells) sum += cell.value;
  return static_cast<float>(sum / static_cast<double>(2 * corpus.cells.size()));
}

Additive::Additive(const Corpus& corpus, float mean, uint64_t seed)
    : mean_(mean), headers_(corpus.headers.size()), identifiers_(corpus.identifiers.size()) {
  BatchBuilder builder(corpus, static_cast<uint32_t>(corpus.headers.size()), seed);
  std::vector<Batch> draws(kDraws);
  for (uint64_t draw = 0; draw < kDraws; ++draw) builder.Build(draw, 0, draws[draw]);
  const auto fit = [&](std::vector<float>& own, const std::vector<float>& other, bool by_header) {
    std::vector<double> sums(own.size()), weights(own.size(), kSeenMore);
    for (const Batch& batch : draws) {
      for (size_t cell = 0; cell < batch.cells(); ++cell) {
        const ps::Key header = batch.headers[batch.header_rows[cell]];
        const ps::Key identifier = batch.identifiers[batch.identifier_rows[cell]];
        const ps::Key at = by_header ? header : identifier;
        sums[at] += static_cast<double>(batch.values[cell] - mean_ - other[by_header ? identifier : header]) / kDraws;
        weights[at] += 1.0 / kDraws;
      }
    }
    for (size_t at = 0; at < own.size(); ++at) own[at] = static_cast<float>(sums[at] / weights[at]);
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    fit(identifiers_, headers_, false);
    fit(headers_, identifiers_, true);
  }
}

Errors Judge(const Model& model, const Additive& additive, const std::vector<HeldOutCell>& cells) {
  double by_model = 0, by_additive = 0, by_mean = 0;
  for (const HeldOutCell& cell : cells) {
    by_model += std::pow(model.At(cell.header, cell.identifier) - cell.value, 2);
    by_additive += std::pow(additive.At(cell.header, cell.identifier) - cell.value, 2);
    by_mean += std::pow(model.options.mean - cell.value, 2);
  }
  return {.cells = cells.size(),
          .model = Root(by_model, cells.size()),
          .additive = Root(by_additive, cells.size()),
          .mean = Root(by_mean, cells.size())};
}

std::vector<HeaderId> Kindred(const Model& model, HeaderId header, size_t count) {
  const size_t dim = model.options.dim;
  const size_t headers = model.headers.size() / (dim + 1);
  const auto product = [&](HeaderId a, HeaderId b) {
    return std::inner_product(model.HeaderRow(a), model.HeaderRow(a) + dim, model.HeaderRow(b), 0.0F);
  };
  return Best(headers, count, [&](HeaderId other) {
    return other == header ? std::nanf("") : product(header, other) / std::sqrt(product(other, other));
  });
}

std::vector<IdentifierId> Lacking(const Model& model, const Corpus& corpus, HeaderId header, size_t count) {
  const FactorOptions& options = model.options;
  return Best(corpus.identifiers.size(), count, [&](IdentifierId id) {
    if (corpus.ValueAt(header, id) != 0) return std::nanf("");
    const float biases = options.mean + model.HeaderRow(header)[options.dim] + model.IdentifierRow(id)[options.dim];
    return model.At(header, id) - biases;
  });
}

std::string Report(const Model& model, const Corpus& corpus, const Errors& errors,
                   const std::vector<std::string>& headers) {
  char line[160];
  std::snprintf(line, sizeof line, "error in %zu held-out cells: %.3f; by biases alone %.3f, by the mean of all %.3f\n",
                errors.cells, errors.model, errors.additive, errors.mean);
  std::string text = line;
  for (const std::string& name : headers) {
    const HeaderId header = corpus.Find(name);
    if (header == corpus.headers.size()) continue;
    text += ShortName(corpus.headers[header]) +
            "\n  of its kind: " + List(Kindred(model, header, kShown), corpus.headers, true) +
            "\n  lacks: " + List(Lacking(model, corpus, header, kShown), corpus.identifiers, false) + '\n';
  }
  return text;
}

}  // namespace attune::header_words
