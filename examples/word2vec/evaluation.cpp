#include "examples/word2vec/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/os/file.h"
#include "examples/word2vec/gradient.h"

namespace attune::word2vec {
namespace {

constexpr uint64_t kHeldOutSeed = 0x5EED;

void Gather(const std::vector<float>& all, std::span<const ps::Key> keys, size_t dim, std::vector<float>& rows) {
  for (size_t i = 0; i < keys.size(); ++i) std::copy_n(&all[keys[i] * dim], dim, &rows[i * dim]);
}

float Cosine(const float* a, const float* b, size_t dim) {
  float ab = 0, aa = 0, bb = 0;
  for (size_t d = 0; d < dim; ++d) {
    ab += a[d] * b[d];
    aa += a[d] * a[d];
    bb += b[d] * b[d];
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

}  // namespace

double HeldOutLoss(const Model& model, const Chunks& chunks, BatchBuilder& builder) {
  Batch batch;
  BatchRows rows, gradients;
  double loss = 0, pairs = 0;
  for (uint64_t i = 0; i < chunks.held_out_count(); ++i) {
    builder.Build(chunks.HeldOut(i), SplitMix64(kHeldOutSeed + i), batch);
    rows.Resize(batch, model.dim);
    Gather(model.inputs, batch.input_keys, model.dim, rows.inputs);
    Gather(model.outputs, batch.output_keys, model.dim, rows.outputs);
    loss += LossAndGradients(batch, builder.options(), model.dim, rows, gradients);
    pairs += static_cast<double>(batch.pairs.size());
  }
  return pairs > 0 ? loss / pairs : std::nan("");
}

Status WriteVectors(const std::filesystem::path& path, const Model& model, const Vocabulary& vocabulary) {
  std::string text = std::to_string(vocabulary.size()) + ' ' + std::to_string(model.dim) + '\n';
  char number[32];
  for (WordId id = 0; id < vocabulary.size(); ++id) {
    text += vocabulary.words[id];
    for (size_t d = 0; d < model.dim; ++d) {
      text.append(number,
                  static_cast<size_t>(std::snprintf(number, sizeof number, " %.6g", model.inputs[id * model.dim + d])));
    }
    text += '\n';
  }
  return WriteFileAtomically(path, text);
}

Status WriteVocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary) {
  std::string text;
  for (const auto& word : vocabulary.words) {
    text += word;
    text += '\n';
  }
  return WriteFileAtomically(path, text);
}

std::string Neighbors(const Model& model, const Vocabulary& vocabulary, std::string_view word, size_t count) {
  constexpr uint64_t kCountMin = 100;  // vectors of rarer words are mostly noise
  const std::optional<WordId> id = vocabulary.Find(word);
  if (!id) return std::string(word) + ": not in the vocabulary";
  std::vector<std::pair<float, WordId>> near;
  for (WordId other = 0; other < vocabulary.size(); ++other) {
    if (other == *id || vocabulary.counts[other] < kCountMin) continue;
    near.emplace_back(Cosine(&model.inputs[*id * model.dim], &model.inputs[other * model.dim], model.dim), other);
  }
  const size_t shown = std::min(count, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<ptrdiff_t>(shown), near.end(), std::greater<>());
  std::string line = std::string(word) + ':';
  for (size_t i = 0; i < shown; ++i) {
    char cosine[16];
    std::snprintf(cosine, sizeof cosine, " %.2f", near[i].first);
    line += (i > 0 ? ", " : " ") + vocabulary.words[near[i].second] + cosine;
  }
  return line;
}

}  // namespace attune::word2vec
