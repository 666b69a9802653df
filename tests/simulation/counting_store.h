// A table for simulations: pushes add ones to columns, so that a row shows which pushes it contains and how often. One
// std::map; optimizer state is a second count that must never differ from the first.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/store/table_store.h"

namespace attune::ps::simulation {

class CountingStore final : public TableStore {
 public:
  using Report = std::function<void(const std::string&)>;
  // `exclusive`: inserting a row that is there already is reported (two owners). `value_max`: more in any place of a
  // row is reported, too (a push is in it twice).
  CountingStore(TableSpec spec, bool exclusive, float value_max, Report report)
      : spec_(std::move(spec)), exclusive_(exclusive), value_max_(value_max), report_(std::move(report)) {}

  struct Row {
    RowVersion version;
    uint16_t move_number = 0;
    std::vector<float> values, state;
  };
  const std::map<Key, Row>& rows() const { return rows_; }

  const TableSpec& spec() const override { return spec_; }
  uint64_t row_count() const override { return rows_.size(); }
  uint64_t memory_bytes() const override { return rows_.size() * spec_.options.dim * 2 * sizeof(float); }
  size_t row_floats() const override { return size_t{spec_.options.dim} * 2; }

  using TableStore::Contains, TableStore::Insert, TableStore::Pull, TableStore::Push;
  void Pull(std::span<const Key> keys, std::span<float> rows) const override {
    const size_t dim = spec_.options.dim;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto it = rows_.find(keys[i]);
      for (size_t j = 0; j < dim; ++j) rows[i * dim + j] = it == rows_.end() ? 0.0F : it->second.values[j];
    }
  }
  StatusOr<PushResult> Push(std::span<const Key> keys, std::span<const float> gradients,
                            const PushOptions& options) override {
    const size_t dim = spec_.options.dim;
    for (size_t i = 0; i < keys.size(); ++i) {
      Row& row = rows_.try_emplace(keys[i], New()).first->second;
      row.version = options.VersionAfter(row.version, i);
      if (!options.versions.empty()) options.versions[i] = row.version;
      for (size_t j = 0; j < dim; ++j) {
        row.values[j] += gradients[i * dim + j];
        row.state[j] += gradients[i * dim + j];
        if (row.values[j] > value_max_) {
          report_("AtMostOnce: push " + std::to_string(j) + " is in key " + std::to_string(keys[i]) +
                  (exclusive_ ? " twice" : "'s copy twice"));
        }
      }
    }
    return PushResult{};
  }
  uint64_t Contains(std::span<const Key> keys, std::span<uint64_t> present) const override {
    std::ranges::fill(present, 0);
    uint64_t count = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!rows_.contains(keys[i])) continue;
      present[i / 64] |= uint64_t{1} << (i % 64);
      ++count;
    }
    return count;
  }
  uint64_t VisitRows(std::span<const Key> keys, const std::function<void(const RowView&)>& visit) const override {
    uint64_t visited = 0;
    for (const Key key : keys) {
      const auto it = rows_.find(key);
      if (it == rows_.end()) continue;
      visit(ViewOf(*it));
      ++visited;
    }
    return visited;
  }
  Status Insert(std::span<const RowView> rows) override {
    for (const RowView& row : rows) {
      if (exclusive_ && rows_.contains(row.key)) {
        report_("OneOwner: row " + std::to_string(row.key) + " arrives where one is already");
      }
      rows_[row.key] = RowOf(row);
    }
    return OkStatus();
  }
  Status CreateRows(std::span<const Key> keys, RowVersion version) override {
    for (const Key key : keys) {
      if (rows_.try_emplace(key, New()).second) rows_[key].version = version;
    }
    return OkStatus();
  }
  uint64_t Erase(std::span<const Key> keys) override {
    uint64_t erased = 0;
    for (const Key key : keys) erased += rows_.erase(key);
    return erased;
  }
  uint64_t RaiseEra(std::span<const Key> keys, uint16_t era) override {
    uint64_t present = 0;
    for (const Key key : keys) {
      const auto it = rows_.find(key);
      if (it == rows_.end()) continue;
      RowVersion& version = it->second.version;
      if (version.era() < era) version = RowVersion(era, version.counter());
      it->second.move_number = 0;
      ++present;
    }
    return present;
  }
  void ForEachRow(const std::function<void(const RowView&)>& visit) const override {
    for (const auto& entry : rows_) visit(ViewOf(entry));
  }
  void ForEachKey(HashRange range, const std::function<void(Key)>& visit) const override {
    for (const auto& [key, row] : rows_) {
      const auto hash = static_cast<uint32_t>(SplitMix64(key) >> 32);
      if (range.first <= hash && hash <= range.last) visit(key);
    }
  }
  // A snapshot is a copy of everything.
  Status BeginSnapshot() override {
    snapshot_ = rows_;
    return OkStatus();
  }
  bool NextRows(uint64_t, const std::function<void(const RowView&, bool)>& visit) override {
    for (const auto& entry : std::exchange(snapshot_, {})) visit(ViewOf(entry), true);
    return false;
  }
  void AddToSnapshot(std::span<const RowView> rows) override {
    for (const RowView& row : rows) {
      Row& there = snapshot_[row.key];
      if (there.values.empty() || there.version < row.version) there = RowOf(row);
    }
  }
  void EndSnapshot(bool) override { snapshot_.clear(); }
  uint64_t rows_changed() const override { return rows_.size(); }

 private:
  Row New() const {
    return {.values = std::vector<float>(spec_.options.dim), .state = std::vector<float>(spec_.options.dim)};
  }
  Row RowOf(const RowView& view) const {
    Row row{.version = view.version,
            .move_number = view.move_number,
            .values = {view.values.begin(), view.values.end()},
            .state = {view.state.begin(), view.state.end()}};
    row.values.resize(spec_.options.dim);
    row.state.resize(spec_.options.dim);
    return row;
  }
  static RowView ViewOf(const std::pair<const Key, Row>& entry) {
    return {.key = entry.first,
            .version = entry.second.version,
            .move_number = entry.second.move_number,
            .values = entry.second.values,
            .state = entry.second.state};
  }

  TableSpec spec_;
  bool exclusive_;
  float value_max_;
  Report report_;
  std::map<Key, Row> rows_, snapshot_;
};

}  // namespace attune::ps::simulation
