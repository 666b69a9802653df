#include "ps/store/table_store.h"

#include "ps/store/slab_table_store.h"

namespace attune::ps {

HashRange HashRange::OfShard(uint32_t shard, uint32_t shard_count) {
  // The hashes h with h * shard_count / 2^32 == shard.
  const auto begin = [&](uint64_t n) { return ((n << 32) + shard_count - 1) / shard_count; };
  return {.first = static_cast<uint32_t>(begin(shard)), .last = static_cast<uint32_t>(begin(uint64_t{shard} + 1) - 1)};
}

StatusOr<std::unique_ptr<TableStore>> TableStore::Create(const TableSpec& spec, const StoreOptions& options) {
  RETURN_IF_ERROR(Validate(spec));
  if (options.concurrent) return std::make_unique<SlabTableStore<true>>(spec, options);
  return std::make_unique<SlabTableStore<false>>(spec, options);
}

}  // namespace attune::ps
