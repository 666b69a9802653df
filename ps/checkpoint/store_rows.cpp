#include "ps/checkpoint/store_rows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ps/store/optimizer.h"

namespace attune::ps {
namespace {

std::string_view AsBytes(std::span<const float> floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size_bytes()};
}

}  // namespace

RowSizes RowSizesOf(const TableSpec& spec) {
  const auto value_bytes = static_cast<uint32_t>(spec.options.dim * sizeof(float));
  return {.value_bytes = value_bytes,
          .state_bytes = static_cast<uint32_t>(StateFloats(spec.options.optimizer, spec.options.dim) * sizeof(float))};
}

Status StoreRowSource::ForEach(const std::function<Status(const StoredRow&)>& visit) {
  Status status;
  store_.ForEachRow([&](const RowView& row) {
    if (!status.ok()) return;
    status = visit({.key = row.key,
                    .row_version = row.version.value(),
                    .values = AsBytes(row.values),
                    .state = AsBytes(row.state)});
  });
  return status;
}

Status SnapshotRowSource::ForEach(const std::function<Status(const StoredRow&)>& visit) {
  struct Copied {
    Key key;
    uint64_t row_version;
  };
  const RowSizes sizes = RowSizesOf(store_.spec());
  const size_t row_bytes = size_t{sizes.value_bytes} + sizes.state_bytes;
  std::vector<Copied> rows;
  std::string bytes;
  for (bool is_more = true; is_more;) {
    rows.clear();
    bytes.clear();
    // The rows left out cost time as well.
    size_t visited = 0;
    const auto copy = [&](const RowView& row, bool changed) {
      ++visited;
      ++rows_;
      if (changed_only_ && !changed) return;
      rows.push_back({.key = row.key, .row_version = row.version.value()});
      bytes.append(AsBytes(row.values));
      bytes.append(AsBytes(row.state));
    };
    RETURN_IF_ERROR(run_([&] {
      while (is_more && visited * row_bytes < kPieceBytes) is_more = store_.NextRows(kVisitRows, copy);
    }));
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string_view row = std::string_view(bytes).substr(i * row_bytes, row_bytes);
      RETURN_IF_ERROR(visit({.key = rows[i].key,
                             .row_version = rows[i].row_version,
                             .values = row.substr(0, sizes.value_bytes),
                             .state = row.substr(sizes.value_bytes)}));
    }
  }
  return OkStatus();
}

StoreInserter::StoreInserter(TableStore& store)
    : store_(store),
      values_(RowSizesOf(store.spec()).value_bytes / sizeof(float)),
      states_(RowSizesOf(store.spec()).state_bytes / sizeof(float)),
      batch_rows_(std::clamp<size_t>(kBatchBytes / ((values_ + states_) * sizeof(float)), 1, kBatchRowsMax)),
      floats_(batch_rows_ * (values_ + states_)) {
  batch_.reserve(batch_rows_);
}

Status StoreInserter::Add(const StoredRow& row) {
  ATTUNE_CHECK(row.values.size() == values_ * sizeof(float) && row.state.size() == states_ * sizeof(float))
      << "key " << row.key << " has " << row.values.size() << " and " << row.state.size() << " bytes";
  float* at = &floats_[batch_.size() * (values_ + states_)];
  std::memcpy(at, row.values.data(), row.values.size());
  if (states_ > 0) std::memcpy(at + values_, row.state.data(), row.state.size());
  batch_.push_back({.key = row.key,
                    .version = RowVersion(row.row_version),
                    .values = {at, values_},
                    .state = {at + values_, states_}});
  return batch_.size() < batch_rows_ ? OkStatus() : Finish();
}

Status StoreInserter::Finish() {
  rows_ += batch_.size();
  // Rows come in the order of their hashes, and the index orders keys by hash: one after the other they would pile up
  // at one place of a part of it that is as large as what it holds so far. Dealt out they lie as they will in the end.
  constexpr size_t kPieces = 64;
  std::vector<RowView> dealt;
  dealt.reserve(batch_.size());
  for (size_t piece = 0; piece < kPieces; ++piece) {
    for (size_t i = piece; i < batch_.size(); i += kPieces) dealt.push_back(batch_[i]);
  }
  batch_.clear();
  return store_.Insert(dealt);
}

}  // namespace attune::ps
