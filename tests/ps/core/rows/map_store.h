// The slow, obvious twin of TableStore: one std::map, SGD only, constant initial values.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
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
  uint64_t row_count() const override { return rows_.size(); }
  uint64_t memory_bytes() const override { return rows_.size() * spec_.options.dim * sizeof(float); }

  using TableStore::Pull, TableStore::Push, TableStore::Insert, TableStore::Contains;
  void Pull(std::span<const Key> keys, std::span<float> rows) const override {
    const size_t dim = spec_.options.dim;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto it = rows_.find(keys[i]);
      for (size_t j = 0; j < dim; ++j) rows[i * dim + j] = it == rows_.end() ? Initial() : it->second.values[j];
    }
  }
  StatusOr<PushResult> Push(std::span<const Key> keys, std::span<const float> gradients,
                            const PushOptions& options) override {
    RETURN_IF_ERROR(Create(keys, RowVersion()));
    const size_t dim = spec_.options.dim;
    const float rate = std::get<Sgd>(spec_.options.optimizer).rate;
    for (size_t i = 0; i < keys.size(); ++i) {
      Row& row = rows_.at(keys[i]);
      row.version = options.VersionAfter(row.version, i);
      if (!options.versions.empty()) options.versions[i] = row.version;
      for (size_t j = 0; j < dim; ++j) row.values[j] += (options.folds.empty() ? -rate : 1) * gradients[i * dim + j];
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
    std::vector<Key> keys;
    for (const RowView& row : rows) keys.push_back(row.key);
    RETURN_IF_ERROR(Create(keys, RowVersion()));
    for (const RowView& row : rows) {
      rows_.at(row.key) = {
          .version = row.version, .move_number = row.move_number, .values = {row.values.begin(), row.values.end()}};
    }
    return OkStatus();
  }
  Status CreateRows(std::span<const Key> keys, RowVersion version) override { return Create(keys, version); }
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
  Status BeginSnapshot() override {
    if (marked_) return Error(StatusCode::kFailedPrecondition, "a snapshot is in progress");
    marked_ = rows_;
    left_ = rows_;
    return OkStatus();
  }
  bool NextRows(uint64_t rows, const std::function<void(const RowView&, bool changed)>& visit) override {
    for (; rows > 0 && !left_.empty(); --rows, left_.erase(left_.begin())) {
      visit(ViewOf(*left_.begin()), IsChanged(*left_.begin(), kept_));
    }
    return !left_.empty();
  }
  void AddToSnapshot(std::span<const RowView> rows) override {
    for (const RowView& row : rows) left_[row.key] = RowOf(row);
  }
  void EndSnapshot(bool kept) override {
    kept_ = kept ? std::move(marked_) : std::nullopt;
    marked_.reset();
    left_.clear();
  }
  uint64_t rows_changed() const override {
    const auto& since = marked_ ? marked_ : kept_;
    return static_cast<uint64_t>(std::ranges::count_if(rows_, [&](const auto& row) { return IsChanged(row, since); }));
  }

 private:
  struct Row {
    RowVersion version;
    uint16_t move_number = 0;
    std::vector<float> values;
    bool operator==(const Row&) const = default;
  };
  using Rows = std::map<Key, Row>;
  static Row RowOf(const RowView& row) {
    return {.version = row.version, .move_number = row.move_number, .values = {row.values.begin(), row.values.end()}};
  }
  static bool IsChanged(const std::pair<const Key, Row>& entry, const std::optional<Rows>& since) {
    if (!since) return true;
    const auto it = since->find(entry.first);
    return it == since->end() || it->second != entry.second;
  }
  static RowView ViewOf(const std::pair<const Key, Row>& entry) {
    return {.key = entry.first,
            .version = entry.second.version,
            .move_number = entry.second.move_number,
            .values = entry.second.values};
  }
  Status Create(std::span<const Key> keys, RowVersion version) {
    size_t more = 0;
    for (const Key key : keys) more += rows_.contains(key) ? 0 : 1;
    if (spec_.options.rows_max > 0 && rows_.size() + more > spec_.options.rows_max) {
      return Error(StatusCode::kResourceExhausted, "table \"" + spec_.name + "\" is full");
    }
    for (const Key key : keys) {
      rows_.try_emplace(key, Row{.version = version, .values = std::vector<float>(spec_.options.dim, Initial())});
    }
    return OkStatus();
  }
  float Initial() const { return std::get<ConstantInitializer>(spec_.options.initializer).value; }

  TableSpec spec_;
  Rows rows_;
  std::optional<Rows> marked_;  // by the snapshot in progress
  std::optional<Rows> kept_;    // the last snapshot
  Rows left_;
};

}  // namespace attune::ps
