#include "ps/core/keys/unique_keys.h"

#include <cstddef>
#include <utility>

namespace attune::ps {

bool UniqueKeys::AreUnique(std::span<const Key> keys) {
  seen_.Start(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (seen_.FindOrInsert(keys[i], i) != i) return false;
  }
  return true;
}

std::vector<Key> UniqueKeys::Of(std::span<const Key> keys) {
  std::vector<Key> unique;
  unique.reserve(keys.size());
  seen_.Start(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    if (seen_.FindOrInsert(keys[i], i) == i) unique.push_back(keys[i]);
  }
  return unique;
}

UniqueKeys::Gradients UniqueKeys::Sum(Gradients gradients, uint32_t dim) {
  const auto count = static_cast<uint32_t>(gradients.keys.size());
  seen_.Start(count);
  uint32_t unique = 0;
  places_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t place = seen_.FindOrInsert(gradients.keys[i], unique);
    places_[i] = place;
    unique += place == unique ? 1 : 0;
  }
  if (unique == count) return gradients;

  std::vector<Key> keys(unique);
  std::vector<float> sums(size_t{unique} * dim, 0.0F);
  for (uint32_t i = 0; i < count; ++i) {
    keys[places_[i]] = gradients.keys[i];
    float* const sum = &sums[size_t{places_[i]} * dim];
    const float* const values = gradients.values.data() + size_t{i} * dim;
    for (uint32_t j = 0; j < dim; ++j) sum[j] += values[j];
  }
  return {.keys = std::move(keys), .values = std::move(sums)};
}

}  // namespace attune::ps
