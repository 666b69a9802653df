#include "examples/word2vec/vocabulary.h"

#include <algorithm>
#include <cmath>

namespace attune::word2vec {

Vocabulary::Vocabulary(std::vector<std::pair<std::string, uint64_t>> counted, uint64_t count_min, size_t size_max) {
  std::erase_if(counted, [&](const auto& entry) { return entry.second < count_min; });
  std::sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (counted.size() > size_max) counted.resize(size_max);
  for (auto& [word, count] : counted) {
    words_.push_back(std::move(word));
    counts_.push_back(count);
    total_count_ += count;
  }
}

std::optional<WordId> Vocabulary::Find(std::string_view word) const {
  const auto found = std::find(words_.begin(), words_.end(), word);
  if (found == words_.end()) return std::nullopt;
  return static_cast<WordId>(found - words_.begin());
}

std::vector<float> Vocabulary::KeepProbabilities(double threshold) const {
  std::vector<float> keep(size());
  for (size_t id = 0; id < size(); ++id) {
    const double ratio = threshold * static_cast<double>(total_count_) / static_cast<double>(counts_[id]);
    keep[id] = static_cast<float>(std::min(1.0, std::sqrt(ratio) + ratio));
  }
  return keep;
}

NegativeSampler::NegativeSampler(const Vocabulary& vocabulary) : columns_(vocabulary.size()) {
  const size_t n = columns_.size();
  std::vector<double> weight(n);
  double sum = 0;
  for (size_t id = 0; id < n; ++id) sum += weight[id] = std::pow(static_cast<double>(vocabulary.count(id)), 0.75);
  std::vector<WordId> small, large;
  for (size_t id = 0; id < n; ++id) {
    weight[id] *= static_cast<double>(n) / sum;  // mean 1
    (weight[id] < 1 ? small : large).push_back(static_cast<WordId>(id));
  }
  while (!small.empty() && !large.empty()) {
    const WordId low = small.back(), high = large.back();
    small.pop_back();
    columns_[low] = {static_cast<float>(weight[low]), high};
    weight[high] -= 1 - weight[low];
    if (weight[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  for (const auto& rest : {small, large}) {
    for (const WordId id : rest) columns_[id] = {1.0F, id};
  }
}

}  // namespace attune::word2vec
