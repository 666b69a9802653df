// What the parts of a worker's rows stand on, for tests of one of them: a map of two servers and two workers, the rows
// that the first worker owns, and the routes to the others.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ps/core/worker/rows/own_rows.h"
#include "ps/core/worker/rows/row_routes.h"
#include "tests/ps/core/worker/operations/small_cluster.h"

namespace attune::ps {

// Messages of this kind that have been sent since the last call; those of other kinds are dropped.
template <typename Kind>
std::vector<std::pair<NodeId, Kind>> TakeSent(WorkerOutputs& out) {
  std::vector<std::pair<NodeId, Kind>> sent;
  for (Outgoing& outgoing : out.send) {
    if (auto* body = std::get_if<Kind>(&outgoing.message)) sent.emplace_back(outgoing.to, std::move(*body));
  }
  out.send.clear();
  return sent;
}

class RowPartsTest : public testing::Test {
 protected:
  static constexpr TableId kTable{1};

  RowPartsTest() {
    own_.SetSelf(kWorker);
    routes_.OpenTable(kTable, {"rows", {.dim = 1}});
  }

  // The row is in this process.
  void Own(Key key) {
    if (store_ == nullptr) {
      (void)own_.Localize({.call = {}, .deadline = kNever, .table = kTable, .keys = {}}, *routes_.Find(kTable), {},
                          now_, out_);
    }
    ASSERT_NE(store_, nullptr);
    ASSERT_TRUE(store_->CreateRows(std::vector<Key>{key}, RowVersion()).ok());
  }
  PushCall PushOf(std::vector<Key> keys) {
    std::vector<float> gradients(keys.size(), 1);
    return {.call = CallId(++calls_),
            .deadline = now_ + std::chrono::seconds(10),
            .table = kTable,
            .keys = std::move(keys),
            .gradients = std::move(gradients)};
  }
  PullCall PullOf(std::vector<Key> keys) {
    pulled_.assign(keys.size(), -1);
    return {.call = CallId(++calls_),
            .deadline = now_ + std::chrono::seconds(10),
            .table = kTable,
            .keys = std::move(keys),
            .rows = pulled_};
  }
  // What has been sent since the last call.
  template <typename Kind>
  std::vector<std::pair<NodeId, Kind>> SentOf() {
    return TakeSent<Kind>(out_);
  }
  std::vector<Completion> Ended() { return std::exchange(out_.completions, {}); }
  static PullReply AnswerTo(const Pull& asked, float value) {
    const auto count = static_cast<uint32_t>(asked.keys.size());
    return {.request = asked.request,
            .map_version = {},
            .rows = std::vector<float>(count, value),
            .positions = {.first = 0, .count = count, .list = {}},
            .versions = std::vector<RowVersion>(count, RowVersion(1))};
  }

  WorkerOptions Options() {
    WorkerOptions options;
    options.create_store = [this](const TableSpec& spec) -> StatusOr<std::unique_ptr<TableStore>> {
      auto store = TableStore::Create(spec);
      if (store.ok() && store_ == nullptr) store_ = store->get();  // the next one is for copies
      return store;
    };
    options.row_bytes_max = 1 << 20;
    options.pushes_in_flight_max = 2;
    return options;
  }

  TableStore* store_ = nullptr;  // of the rows that are here
  const WorkerOptions options_ = Options();
  ClusterView cluster_ = SmallCluster();
  LivenessLease lease_;
  OwnRows own_{options_, cluster_, lease_};
  RowRoutes routes_{options_, cluster_, own_};
  WorkerOutputs out_;
  std::vector<float> pulled_;
  uint64_t calls_ = 0;
  MonotonicTime now_{std::chrono::seconds(100)};
};

}  // namespace attune::ps
