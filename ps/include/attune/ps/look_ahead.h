// Items of a data set in the order in which this worker gets them, prepared some steps ahead of their use. The rows
// that they touch are announced (Table::Intend), so that they are here when the step begins.
//
//   LookAhead<Batch> ahead(*session, "train", {.items = item_count},
//                          [&](const PlannedItem& item) { return ReadBatch(item.item); },
//                          [&](const Batch& batch, Touch& touch) { touch(words, batch.keys); });
//   for (auto& [lease, item, batch] : ahead) {
//     RETURN_IF_ERROR(words.Pull(batch.keys, rows));
//     Compute(batch, rows, gradients);
//     words.PushAsync(batch.keys, gradients);
//     lease.Advance(item + 1);
//     RETURN_IF_ERROR(session->Step({.loss = loss, .samples = batch.samples}));
//   }
//
// A program that pulls the rows of an item while it computes the one before begins that pull with Following().
//
// One step per item. Ends like a DataLeaseRange, and after the item in hand when the worker is asked to leave; what was
// prepared and not handed out goes back untouched. One thread uses it; `prepare` and `touches` run in that thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "attune/ps/session.h"

namespace attune::ps {

struct PlannedItem {
  uint64_t epoch = 0;
  uint64_t item = 0;
  uint64_t step = 0;  // of this worker, in which it will be in hand
};

// Announces rows of one prepared item for its step.
class Touch {
 public:
  explicit Touch(uint64_t step) : step_(step) {}
  // A row that cannot be announced is asked for when it is needed: nothing to be done about it.
  void operator()(const Table& table, std::span<const Key> keys, Access access = Access::kReadWrite) {
    (void)table.Intend(keys, step_, step_ + 1, access);
  }

 private:
  uint64_t step_;
};

template <typename Batch>
class LookAhead {
 public:
  using Prepare = std::function<Batch(const PlannedItem&)>;
  using Touches = std::function<void(const Batch&, Touch&)>;
  struct Item {
    const DataLease& lease;
    uint64_t item;
    Batch& batch;
  };

  LookAhead(Session& session, std::string_view data_set, const DataSetOptions& options, Prepare prepare,
            Touches touches)
      : session_(session),
        leases_(session.DataLeases(data_set, options)),
        prepare_(std::move(prepare)),
        touches_(std::move(touches)) {}
  LookAhead(const LookAhead&) = delete;
  LookAhead& operator=(const LookAhead&) = delete;

  class Iterator {
   public:
    explicit Iterator(LookAhead* items) : items_(items) {}
    Item& operator*() const { return items_->Current(); }
    Iterator& operator++() {
      items_->Next();
      return *this;
    }
    bool operator!=(const Iterator&) const { return !items_->ended_; }

   private:
    LookAhead* items_;
  };
  // Once.
  Iterator begin() {
    lease_.emplace(leases_.begin());
    BeginLease();
    return Iterator(this);
  }
  Iterator end() { return Iterator(this); }
  // What comes after the item in hand, if that is prepared already; it goes unused when the worker leaves before.
  Batch* Following() { return prepared_.size() > 1 ? &prepared_[1].batch : nullptr; }

 private:
  struct Prepared {
    PlannedItem of;
    Batch batch;
  };
  static constexpr size_t kItemsMax = 256;

  Item& Current() { return current_.emplace(Item{**lease_, prepared_.front().of.item, prepared_.front().batch}); }

  void Next() {
    prepared_.pop_front();
    if (session_.draining()) {
      ended_ = true;  // the rest of the lease goes back with the range
      return;
    }
    if (++position_ < (**lease_).end()) return Fill();
    ++*lease_;
    BeginLease();
  }

  void BeginLease() {
    ended_ = !(*lease_ != leases_.end());
    if (ended_) return;
    const DataLease& lease = **lease_;
    position_ = lease.begin();
    // What was prepared for a lease that another one has taken the place of.
    if (!prepared_.empty() && (prepared_.front().of.epoch != lease.epoch() || prepared_.front().of.item != position_)) {
      prepared_.clear();
    }
    Fill();
  }

  // Items of this lease, then of the next one as soon as it has been granted.
  void Fill() {
    const size_t wanted = std::min<size_t>(session_.steps_ahead() + 2, kItemsMax);
    const DataLease& lease = **lease_;
    while (prepared_.size() < std::max<size_t>(wanted, 1)) {
      const uint64_t place = position_ + prepared_.size();
      const uint64_t step = session_.clock() + prepared_.size();
      if (place < lease.end()) {
        Add({.epoch = lease.epoch(), .item = place, .step = step});
        continue;
      }
      const std::optional<LeaseAhead> next = leases_.Ahead();
      if (!next || place - lease.end() >= next->end - next->begin) return;
      Add({.epoch = next->epoch, .item = next->begin + (place - lease.end()), .step = step});
    }
  }

  void Add(const PlannedItem& of) {
    prepared_.push_back({.of = of, .batch = prepare_(of)});
    if (prepared_.size() == 1) return;  // its step has begun
    Touch touch(of.step);
    touches_(prepared_.back().batch, touch);
  }

  Session& session_;
  DataLeaseRange leases_;
  const Prepare prepare_;
  const Touches touches_;
  std::optional<DataLeaseRange::Iterator> lease_;
  uint64_t position_ = 0;          // of the item in hand
  std::deque<Prepared> prepared_;  // from the item in hand on
  std::optional<Item> current_;    // what the program looks at
  bool ended_ = false;
};

}  // namespace attune::ps
