#include "ps/checkpoint/store_rows.h"

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
  return {.value_bytes = value_bytes, .state_bytes = value_bytes * StatesPerValue(spec.options.optimizer)};
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

StoreInserter::StoreInserter(TableStore& store)
    : store_(store),
      values_(RowSizesOf(store.spec()).value_bytes / sizeof(float)),
      states_(RowSizesOf(store.spec()).state_bytes / sizeof(float)),
      floats_(kBatchRows * (values_ + states_)) {
  batch_.reserve(kBatchRows);
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
  return batch_.size() < kBatchRows ? OkStatus() : Finish();
}

Status StoreInserter::Finish() {
  rows_ += batch_.size();
  const Status status = store_.Insert(batch_);
  batch_.clear();
  return status;
}

}  // namespace attune::ps
