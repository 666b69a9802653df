#include "ps/store/table_store.h"

#include "ps/store/slab_table_store.h"

namespace attune::ps {

StatusOr<std::unique_ptr<TableStore>> TableStore::Create(const TableSpec& spec, const StoreOptions& options) {
  RETURN_IF_ERROR(Validate(spec));
  if (options.concurrent) return std::make_unique<SlabTableStore<true>>(spec, options);
  return std::make_unique<SlabTableStore<false>>(spec, options);
}

}  // namespace attune::ps
