// The stores of a node, two for each table: the rows that it owns, and the copies that it keeps for other owners. Rows
// leave and enter them in batches. Externally synchronized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ps/core/keys/key_map.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/rows/context/row_io.h"
#include "ps/store/table_store.h"

namespace attune::ps {

class RowTables {
 public:
  using Stores = std::vector<std::unique_ptr<TableStore>>;  // by TableId - 1; null where a table is not installed

  // `options` outlives it.
  explicit RowTables(const RowOptions& options) : options_(options) {}

  // Makes the stores that `loaded` does not have. Again with the same table changes nothing. `in_snapshot`: one of all
  // tables has begun, and rows may arrive in it.
  Status Install(TableId table, const TableSpec& spec, LoadedTable loaded, bool in_snapshot);
  // nullptr when the table is not installed.
  TableStore* Rows(TableId table) const { return In(rows_, table); }
  TableStore* Copies(TableId table) const { return In(copies_, table); }
  const Stores& rows() const { return rows_; }
  const Stores& copies() const { return copies_; }
  static uint64_t Count(const Stores& stores);
  // `visit(TableId, TableStore&)` for each installed table.
  template <typename Visitor>
  static void ForEach(const Stores& stores, Visitor&& visit) {
    for (size_t i = 0; i < stores.size(); ++i) {
      if (stores[i] != nullptr) visit(TableId(static_cast<uint32_t>(i + 1)), *stores[i]);
    }
  }
  // The keys of all tables in these of `shard_count` shards.
  static std::vector<TableKey> KeysOf(const Stores& stores, std::span<const uint32_t> shards, uint32_t shard_count);

  // How many rows of a store one message takes.
  size_t RowsPerMessage(const TableStore& store) const;
  // Whether rows of these keys may begin below the table's rows_max, of which `elsewhere` keep their room: they come
  // back one day.
  Status CheckRoom(TableId table, std::span<const Key> keys, uint64_t elsewhere);
  // What a decoder cannot know of rows from another node: why they fit no table here.
  std::optional<std::string> WhyUnfit(const RowBatch& rows) const;

  // The answer to operations on a table that no one has opened here.
  static Status NotInstalled(TableId table);

  // Those of absent rows are 0.
  static void ReadVersions(const TableStore& store, std::span<const Key> keys, std::span<RowVersion> versions);
  // A batch of those of the keys that the store has.
  RowBatch Gather(const TableStore& store, TableId table, std::span<const Key> keys) const;
  // `only`: these rows of the batch; empty: all. Spans point into the batch.
  static std::vector<RowView> ViewsOf(const TableStore& store, const RowBatch& rows, std::span<const uint32_t> only);
  static Status Insert(TableStore& store, const RowBatch& rows, std::span<const uint32_t> only);

 private:
  static TableStore* In(const Stores& stores, TableId table) {
    const size_t index = size_t{table.value()} - 1;
    return index < stores.size() ? stores[index].get() : nullptr;
  }

  const RowOptions& options_;
  Stores rows_, copies_;
  std::vector<uint64_t> present_;  // scratch
};

}  // namespace attune::ps
