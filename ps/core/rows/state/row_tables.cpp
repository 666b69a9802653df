#include "ps/core/rows/state/row_tables.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"
#include "ps/core/protocol/row_memory.h"

namespace attune::ps {

Status RowTables::Install(TableId table, const TableSpec& spec, LoadedTable loaded, bool in_snapshot) {
  if (table == TableId() || table.value() > kTablesMax) {
    return Error(StatusCode::kResourceExhausted,
                 "table id " + std::to_string(table.value()) + " is outside 1 .. " + std::to_string(kTablesMax));
  }
  if (Rows(table) != nullptr) return OkStatus();
  if (loaded.rows == nullptr) {
    ASSIGN_OR_RETURN(loaded.rows, options_.create_store(spec));
  }
  if (loaded.copies == nullptr) {
    TableSpec unlimited = spec;
    unlimited.options.rows_max = 0;
    ASSIGN_OR_RETURN(loaded.copies,
                     (options_.create_copies ? options_.create_copies : options_.create_store)(unlimited));
  }
  const size_t size = std::max<size_t>(rows_.size(), table.value());
  rows_.resize(size);
  copies_.resize(size);
  if (in_snapshot) {
    RETURN_IF_ERROR(loaded.rows->BeginSnapshot());
  }
  rows_[table.value() - 1] = std::move(loaded.rows);
  copies_[table.value() - 1] = std::move(loaded.copies);
  return OkStatus();
}

uint64_t RowTables::Count(const Stores& stores) {
  uint64_t rows = 0;
  for (const auto& table : stores) rows += table != nullptr ? table->row_count() : 0;
  return rows;
}

std::vector<TableKey> RowTables::KeysOf(const Stores& stores, std::span<const uint32_t> shards, uint32_t shard_count) {
  std::vector<TableKey> keys;
  ForEach(stores, [&](TableId table, const TableStore& store) {
    if (store.row_count() == 0) return;
    for (const uint32_t shard : shards) {
      store.ForEachKey(HashRange::OfShard(shard, shard_count), [&](Key key) { keys.push_back({table, key}); });
    }
  });
  return keys;
}

// With their state, which may be as long as two rows.
size_t RowTables::RowsPerMessage(const TableStore& store) const {
  const size_t floats = size_t{store.spec().options.dim} * 3;
  return std::max<size_t>(1, std::min(options_.rows_per_message_max, options_.floats_per_message_max / floats));
}

Status RowTables::CheckRoom(TableId table, std::span<const Key> keys, uint64_t elsewhere) {
  const TableStore& store = *Rows(table);
  const uint64_t rows_max = store.spec().options.rows_max;
  const uint64_t taken = store.row_count() + elsewhere;
  if (rows_max == 0 || elsewhere == 0 || taken + keys.size() <= rows_max) return OkStatus();
  present_.resize((keys.size() + 63) / 64);
  const uint64_t absent = keys.size() - store.Contains(keys, present_);
  if (absent == 0 || taken + absent <= rows_max) return OkStatus();
  return Error(StatusCode::kResourceExhausted,
               "table '" + store.spec().name + "' has " + std::to_string(store.row_count()) + " rows here and " +
                   std::to_string(elsewhere) + " that workers have fetched, and may have " + std::to_string(rows_max) +
                   "; " + std::to_string(absent) + " more are refused. Raise rows_max or start more servers");
}

Status RowTables::NotInstalled(TableId table) {
  return Error(StatusCode::kNotFound,
               "table " + std::to_string(table.value()) + " is not installed on this server; open it first");
}

std::optional<std::string> RowTables::WhyUnfit(const RowBatch& rows) const {
  if (rows.keys.empty()) return std::nullopt;
  const TableStore* store = Rows(rows.table);
  if (store == nullptr) {
    return "rows of table " + std::to_string(rows.table.value()) + ", which is not installed here";
  }
  if (rows.values.size() == rows.keys.size() * store->row_floats()) return std::nullopt;
  return std::to_string(rows.values.size()) + " values for " + std::to_string(rows.keys.size()) + " rows of table \"" +
         store->spec().name + "\", which have " + std::to_string(store->row_floats()) + " each";
}

RowBatch RowTables::Gather(const TableStore& store, TableId table, std::span<const Key> keys) const {
  std::vector<Key> found;
  std::vector<RowVersion> versions;
  std::vector<uint16_t> numbers;
  found.reserve(keys.size());
  versions.reserve(keys.size());
  numbers.reserve(keys.size());
  std::shared_ptr<void> memory;  // that is used again: fresh pages would cost as much as the copy
  float* next = nullptr;
  store.VisitRows(keys, [&](const RowView& row) {
    if (memory == nullptr) {  // all rows of a table are as large
      memory = NewRowMemory(keys.size() * (row.values.size() + row.state.size()) * sizeof(float));
      next = static_cast<float*>(memory.get());
    }
    found.push_back(row.key);
    versions.push_back(row.version);
    numbers.push_back(row.move_number);
    next = std::ranges::copy(row.values, next).out;
    if (options_.mutation == RowMutation::kStateStaysAtSource) {
      next = std::fill_n(next, row.state.size(), 0.0F);
    } else {
      next = std::ranges::copy(row.state, next).out;
    }
  });
  const auto* const first = static_cast<const float*>(memory.get());
  return {.table = table,
          .keys = std::move(found),
          .versions = std::move(versions),
          .move_numbers = std::move(numbers),
          .values = Slice<float>(memory, {first, static_cast<size_t>(next - first)})};
}

std::vector<RowView> RowTables::ViewsOf(const TableStore& store, const RowBatch& rows, std::span<const uint32_t> only) {
  const size_t width = rows.values.size() / rows.keys.size();
  const size_t dim = std::min<size_t>(store.spec().options.dim, width);
  std::vector<RowView> views(only.empty() ? rows.keys.size() : only.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const size_t place = only.empty() ? i : only[i];
    const std::span<const float> row = rows.values.view().subspan(place * width, width);
    views[i] = {.key = rows.keys[place],
                .version = rows.versions[place],
                .move_number = rows.move_numbers[place],
                .values = row.first(dim),
                .state = row.subspan(dim)};
  }
  return views;
}

Status RowTables::Insert(TableStore& store, const RowBatch& rows, std::span<const uint32_t> only) {
  const size_t count = only.empty() ? rows.keys.size() : only.size();
  if (count == 0) return OkStatus();
  Status status = store.Insert(ViewsOf(store, rows, only));
  if (status.ok()) return status;
  return Annotate(status, "taking over " + std::to_string(count) + " rows of table \"" + store.spec().name + "\"");
}

void RowTables::ReadVersions(const TableStore& store, std::span<const Key> keys, std::span<RowVersion> versions) {
  std::ranges::fill(versions, RowVersion());
  size_t at = 0;
  store.VisitRows(keys, [&](const RowView& row) {
    while (keys[at] != row.key) ++at;
    versions[at++] = row.version;
  });
}

}  // namespace attune::ps
