// The slow, obvious twin of TableStore: one std::map, SGD only, constant initial values.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "ps/store/table_store.h"

namespace attune::ps {

class MapStore final : public TableStore {
 public:
  explicit MapStore(TableSpec spec) : spec_(std::move(spec)) {}
  static StatusOr<std::unique_ptr<TableStore>> Make(const TableSpec& spec) {
    if (!std::holds_alternative<Sgd>(spec.options.optimizer)) {
      return Error(StatusCode::kInvalidArgument, "table \"" + spec.name + "\": this store knows Sgd only");
    }
    return std::make_unique<MapStore>(spec);
  }

  const TableSpec& spec() const override { return spec_; }
  void Pull(std::span<const Key> keys, std::span<float> rows) const override {
    const size_t dim = spec_.options.dim;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto it = rows_.find(keys[i]);
      for (size_t j = 0; j < dim; ++j) rows[i * dim + j] = it == rows_.end() ? Initial() : it->second.values[j];
    }
  }
  Status Push(std::span<const Key> keys, std::span<const float> gradients) override {
    size_t more = 0;
    for (const Key key : keys) more += rows_.contains(key) ? 0 : 1;
    if (spec_.options.rows_max > 0 && rows_.size() + more > spec_.options.rows_max) {
      return Error(StatusCode::kResourceExhausted, "table \"" + spec_.name + "\" is full");
    }
    const size_t dim = spec_.options.dim;
    const float rate = std::get<Sgd>(spec_.options.optimizer).rate;
    for (size_t i = 0; i < keys.size(); ++i) {
      Row& row = rows_.try_emplace(keys[i], Row{.values = std::vector<float>(dim, Initial())}).first->second;
      ++row.counter;
      for (size_t j = 0; j < dim; ++j) row.values[j] -= rate * gradients[i * dim + j];
    }
    return OkStatus();
  }
  uint64_t row_count() const override { return rows_.size(); }
  uint64_t memory_bytes() const override { return rows_.size() * spec_.options.dim * sizeof(float); }
  void ForEachRow(const std::function<void(const RowView&)>& visit) const override {
    for (const auto& [key, row] : rows_)
      visit({.key = key, .row_counter = row.counter, .values = row.values, .state = {}});
  }
  Status Insert(const RowView& row) override {
    rows_[row.key] = {.counter = row.row_counter, .values = {row.values.begin(), row.values.end()}};
    return OkStatus();
  }

 private:
  struct Row {
    uint64_t counter = 0;
    std::vector<float> values;
  };
  float Initial() const { return std::get<ConstantInitializer>(spec_.options.initializer).value; }

  TableSpec spec_;
  std::map<Key, Row> rows_;
};

}  // namespace attune::ps
