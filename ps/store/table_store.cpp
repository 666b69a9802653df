#include "ps/store/table_store.h"

#include <vector>

#include "ps/store/fold.h"
#include "ps/store/formulas/optimizer.h"
#include "ps/store/slab_table_store.h"

namespace attune::ps {

StatusOr<std::unique_ptr<TableStore>> TableStore::Create(const TableSpec& spec, const StoreOptions& options) {
  RETURN_IF_ERROR(Validate(spec));
  if (options.concurrent) return std::make_unique<SlabTableStore<true>>(spec, options);
  return std::make_unique<SlabTableStore<false>>(spec, options);
}

size_t TableStore::row_floats() const {
  const TableOptions& options = spec().options;
  return options.dim + StateFloats(options.optimizer, options.dim);
}

size_t TableStore::fold_floats() const {
  const TableOptions& options = spec().options;
  return FoldFloats(options.optimizer, options.dim);
}

bool TableStore::PullIfPresent(std::span<const Key> keys, std::span<float> rows) const {
  std::vector<uint64_t> present((keys.size() + 63) / 64);
  if (Contains(keys, present) != keys.size()) return false;
  Pull(keys, rows);
  return true;
}

std::optional<StatusOr<PushResult>> TableStore::PushIfPresent(std::span<const Key> keys,
                                                              std::span<const float> gradients,
                                                              const PushOptions& options) {
  std::vector<uint64_t> present((keys.size() + 63) / 64);
  if (Contains(keys, present) != keys.size()) return std::nullopt;
  if (!options.expected.empty()) {
    bool fits = true;
    size_t i = 0;
    VisitRows(keys, [&](const RowView& row) {
      fits = options.VersionAfter(row.version, i) == options.expected[i] && fits;
      ++i;
    });
    if (!fits) return std::nullopt;
  }
  return Push(keys, gradients, options);
}

}  // namespace attune::ps
