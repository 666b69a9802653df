#include "ps/core/worker/operations/grouped_gradients.h"

namespace attune::ps {

GroupedGradients::GroupedGradients(UniqueKeys::Gradients gradients, uint32_t dim, const RouteGroups& groups,
                                   MapVersion homes_version)
    : dim_(dim), homes_version_(homes_version) {
  if (groups.routes().size() == 1) {
    only_route_ = groups.routes().front();
    keys_ = gradients.keys.Kept();
    gradients_ = gradients.values.Kept();
    return;
  }
  const std::span<const uint32_t> order = groups.order();
  keys_ = Slice<Key>::Filled(order.size(), [&](std::span<Key> keys) {
    for (size_t i = 0; i < order.size(); ++i) keys[i] = gradients.keys[order[i]];
  });
  gradients_ = Slice<float>::Filled(order.size() * dim, [&](std::span<float> values) {
    for (size_t i = 0; i < order.size(); ++i) {
      std::copy_n(gradients.values.data() + size_t{order[i]} * dim, dim, &values[i * dim]);
    }
  });
  routes_ = groups.routes();
  begins_ = groups.begins();
}

PushPart GroupedGradients::Consecutive(NodeId to, size_t first, size_t count) const {
  return {.to = to,
          .positions = {.first = static_cast<uint32_t>(first), .count = static_cast<uint32_t>(count), .list = {}},
          .keys = keys_.Part(first, count),
          .gradients = gradients_.Part(first * dim_, count * dim_)};
}

PushPart GroupedGradients::At(NodeId to, std::span<const uint32_t> positions) const {
  const size_t count = positions.size();
  if (positions.back() - positions.front() + 1 == count) return Consecutive(to, positions.front(), count);
  PushPart part{.to = to, .positions = {.list = {positions.begin(), positions.end()}}, .keys = {}, .gradients = {}};
  part.keys = Slice<Key>::Filled(count, [&](std::span<Key> keys) {
    for (size_t i = 0; i < count; ++i) keys[i] = keys_[positions[i]];
  });
  part.gradients = Slice<float>::Filled(count * dim_, [&](std::span<float> values) {
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(gradients_.data() + size_t{positions[i]} * dim_, dim_, &values[i * dim_]);
    }
  });
  return part;
}

}  // namespace attune::ps
