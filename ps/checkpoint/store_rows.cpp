#include "ps/checkpoint/store_rows.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ps/store/formulas/optimizer.h"

namespace attune::ps {
namespace {

std::string_view AsBytes(std::span<const float> floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size_bytes()};
}

}  // namespace

RowSizes RowSizesOf(const TableSpec& spec) {
  return {.value_bytes = static_cast<uint32_t>(RowCodec(spec).value_bytes()),
          .state_bytes = static_cast<uint32_t>(StateFloats(spec.options.optimizer, spec.options.dim) * sizeof(float))};
}

void RowCodec::Append(std::span<const float> values, std::string& bytes) const {
  const size_t at = bytes.size();
  bytes.resize(at + values.size() * codec_.bytes_per_value);
  codec_.store(values.data(), reinterpret_cast<std::byte*>(bytes.data() + at), values.size());
}

void RowCodec::Read(std::string_view stored, float* values) const {
  codec_.load(reinterpret_cast<const std::byte*>(stored.data()), values, dim_);
}

Status StoreRowSource::ForEach(const std::function<Status(const StoredRow&)>& visit) {
  const RowCodec codec(store_.spec());
  std::string values;
  Status status;
  store_.ForEachRow([&](const RowView& row) {
    if (!status.ok()) return;
    values.clear();
    codec.Append(row.values, values);
    status = visit({.key = row.key, .row_version = row.version.value(), .values = values, .state = AsBytes(row.state)});
  });
  return status;
}

Status SnapshotRowSource::ForEach(const std::function<Status(const StoredRow&)>& visit) {
  struct Copied {
    Key key;
    uint64_t row_version;
  };
  const RowCodec codec(store_.spec());
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
      codec.Append(row.values, bytes);
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
      codec_(store.spec()),
      values_(store.spec().options.dim),
      states_(RowSizesOf(store.spec()).state_bytes / sizeof(float)),
      batch_rows_(std::clamp<size_t>(kBatchBytes / ((values_ + states_) * sizeof(float)), 1, kBatchRowsMax)),
      floats_(batch_rows_ * (values_ + states_)) {
  batch_.reserve(batch_rows_);
}

Status StoreInserter::Add(const StoredRow& row) {
  ATTUNE_CHECK(row.values.size() == codec_.value_bytes() && row.state.size() == states_ * sizeof(float))
      << "key " << row.key << " has " << row.values.size() << " and " << row.state.size() << " bytes";
  float* at = &floats_[batch_.size() * (values_ + states_)];
  codec_.Read(row.values, at);
  if (states_ > 0) std::memcpy(at + values_, row.state.data(), row.state.size());
  batch_.push_back({.key = row.key,
                    .version = RowVersion(0, RowVersion(row.row_version).counter()),
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
