#include "ps/core/progress/data_sets.h"

#include <algorithm>

#include "ps/core/progress/differences.h"
#include "ps/core/protocol/limits.h"

namespace attune::ps {
namespace {

// A data set with epochs of its own (evaluation, export) is not training: the goal neither limits nor ends it.
bool FollowsGoal(const DataSetOptions& options) { return options.epochs == 0 && !options.when_due; }

std::string Difference(const DataSetOptions& here, const DataSetOptions& there) {
  Differences differences;
  differences.Compare("items", here.items, there.items);
  differences.Compare("epochs", here.epochs, there.epochs);
  differences.Compare("lease_items", here.lease_items, there.lease_items);
  differences.Compare("when_due", here.when_due ? "true" : "false", there.when_due ? "true" : "false");
  return differences.text();
}

StatusOr<DataSetOptions> Resolve(const OpenDataSet& asked, const DataSets::Terms& terms) {
  if (asked.name.empty() || asked.name.size() > kNameBytesMax) {
    return Error(StatusCode::kInvalidArgument,
                 "a data set's name has 1 to " + std::to_string(kNameBytesMax) + " bytes");
  }
  DataSetOptions resolved = asked.options;
  if (resolved.when_due && resolved.epochs > 0) {
    return Error(StatusCode::kInvalidArgument,
                 "data set \"" + asked.name +
                     "\" is evaluated when that is due, so it has no epochs of its own; leave "
                     "DataSetOptions::epochs at 0, or when_due at false");
  }
  if (resolved.when_due && resolved.items == 0) resolved.items = 1;
  if (resolved.items == 0) resolved.items = terms.items;
  if (resolved.items == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "the number of items is given neither by the worker (DataSetOptions::items) nor by the manifest "
                 "(spec.data.items)");
  }
  if (FollowsGoal(asked.options)) {
    resolved.epochs = terms.goal.epochs.value_or(terms.goal.limits_training() ? 0 : 1);  // 0: until another goal
  }
  if (resolved.lease_items == 0) resolved.lease_items = terms.lease_items;
  if (resolved.lease_items == 0) resolved.lease_items = LeaseSize(resolved.items).items();
  resolved.lease_items = std::max(resolved.lease_items, resolved.items / kLeasesPerEpochMax);
  return resolved;
}

std::optional<LeaseSize> ChosenSize(bool chosen, uint64_t items) {
  return chosen ? std::optional(LeaseSize(items)) : std::nullopt;
}

const CutRecord::DataSet* FindRecord(const CutRecord* resume, const std::string& name) {
  if (resume == nullptr) return nullptr;
  const auto it = std::ranges::find(resume->data_sets, name, &CutRecord::DataSet::name);
  return it == resume->data_sets.end() ? nullptr : &*it;
}

Status CheckRecord(const CutRecord::DataSet& record, const DataSetOptions& asked) {
  if (record.items != asked.items) {
    return Error(StatusCode::kFailedPrecondition,
                 "data set \"" + record.name + "\" has " + std::to_string(asked.items) + " items here and had " +
                     std::to_string(record.items) + " in the checkpoint; resume with the same data");
  }
  return Validate(record);
}

}  // namespace

// --- data sets

StatusOr<DataSets::Opened> DataSets::Open(const OpenDataSet& asked, const Terms& terms,
                                          EvaluationSchedule& evaluations) {
  ASSIGN_OR_RETURN(const DataSetOptions resolved, Resolve(asked, terms));
  const auto known = std::ranges::find(data_sets_, asked.name, &DataSet::name);
  if (known != data_sets_.end()) {
    if (const std::string difference = Difference(resolved, known->asked); !difference.empty()) {
      return Error(StatusCode::kFailedPrecondition, difference + "; all workers must say the same");
    }
    return Opened{.data_set = &*known};
  }
  if (data_sets_.size() >= kDataSetsMax) {
    return Error(StatusCode::kResourceExhausted, "the job has " + std::to_string(kDataSetsMax) + " data sets");
  }
  LeaseLedger ledger(resolved.items, resolved.epochs, resolved.lease_items, &next_lease_);
  const CutRecord::DataSet* record = FindRecord(terms.resume, asked.name);
  if (record != nullptr) {
    RETURN_IF_ERROR(CheckRecord(*record, resolved));
    ledger = LeaseLedger(*record, terms.resume->synchronization != "async", resolved.epochs, resolved.lease_items,
                         &next_lease_);
  } else if (resolved.when_due) {  // what was due before it was asked for is not made up for
    CutRecord::DataSet before{.name = asked.name, .items = resolved.items, .lease_items = resolved.lease_items};
    before.finished_epochs = evaluations.state().due;
    ledger = LeaseLedger(before, true, resolved.epochs, resolved.lease_items, &next_lease_);
  }
  if (resolved.when_due) {
    const MetricPlace place = PlaceAt(terms.steps);
    evaluations.Resume(ledger.epochs_begun(), place.epoch, place.step);
    ledger.BeginUpTo(evaluations.state().due);
  }
  const bool chosen = asked.options.lease_items == 0 && terms.lease_items == 0;
  const uint64_t items_done = ledger.items_done();
  data_sets_.push_back({.id = DataSetId(static_cast<uint32_t>(data_sets_.size() + 1)),
                        .name = asked.name,
                        .asked = resolved,
                        .follows_goal = FollowsGoal(asked.options),
                        .when_due = resolved.when_due,
                        .items_in_newest = items_done,
                        .chosen_size = ChosenSize(chosen, resolved.items),
                        .ledger = std::move(ledger)});
  const DataSet& opened = data_sets_.back();
  if (!current_ && !opened.when_due) current_ = opened.id;
  return Opened{.data_set = &opened, .continues = record != nullptr};
}

const DataSet* DataSets::Find(DataSetId id) const {
  const size_t index = size_t{id.value()} - 1;
  return index < data_sets_.size() ? &data_sets_[index] : nullptr;
}

DataSet* DataSets::FindOpen(DataSetId id) {
  const size_t index = size_t{id.value()} - 1;
  return index < data_sets_.size() ? &data_sets_[index] : nullptr;
}

MetricPlace DataSets::PlaceAt(uint64_t steps) const {
  MetricPlace place{.step = steps};
  if (const DataSet* data_set = current()) {
    place.epoch = data_set->ledger.epoch();
    place.items = data_set->ledger.items_done();
  }
  return place;
}

bool DataSets::IsTraining(const DataSet& data_set) const {
  return data_set.follows_goal || (!data_set.when_due && std::ranges::none_of(data_sets_, &DataSet::follows_goal));
}

const DataSet* DataSets::TrainedToTheEnd() const {
  const bool any_follows = std::ranges::any_of(data_sets_, &DataSet::follows_goal);
  const DataSet* first = nullptr;
  for (const DataSet& data_set : data_sets_) {
    if (data_set.when_due || (any_follows && !data_set.follows_goal)) continue;
    if (!data_set.ledger.AllDone()) return nullptr;
    if (first == nullptr) first = &data_set;
  }
  return first;
}

bool DataSets::AdvanceEvaluations(EvaluationSchedule& evaluations, uint64_t steps) {
  bool asked_for = false, done = true;
  for (const DataSet& data_set : data_sets_) {
    if (!data_set.when_due) continue;
    asked_for = true;
    done = done && data_set.ledger.epoch() >= evaluations.state().due;
  }
  const MetricPlace place = PlaceAt(steps);
  if (!asked_for || !evaluations.Advance(place.epoch, place.step, done)) return false;
  for (DataSet& data_set : data_sets_) {
    if (data_set.when_due) data_set.ledger.BeginUpTo(evaluations.state().due);
  }
  return true;
}

// --- leases

Status DataSets::CheckRequest(NodeId worker, DataSetId id) const {
  const DataSet* data_set = Find(id);
  if (data_set == nullptr) {
    return Error(StatusCode::kNotFound, "there is no data set " + std::to_string(id.value()));
  }
  const auto held = std::ranges::count_if(data_set->ledger.leases(),
                                          [&](const auto& entry) { return entry.second.worker == worker; });
  if (static_cast<size_t>(held) < kLeasesPerWorkerMax) return OkStatus();
  return Error(StatusCode::kResourceExhausted,
               "this worker holds " + std::to_string(held) + " leases; end some before taking more");
}

// Closing work sees the trained model: it waits until no worker holds a lease of the data the goal has ended.
bool DataSets::TrainingIsEnding(const DataSet& asked, bool goal_reached) const {
  return !asked.follows_goal && goal_reached && std::ranges::any_of(data_sets_, [](const DataSet& data_set) {
    return data_set.follows_goal && !data_set.ledger.leases().empty();
  });
}

std::optional<DataSets::Answer> DataSets::AnswerTo(const WaitingLease& waiting, MonotonicTime now, bool goal_reached,
                                                   bool evaluates,
                                                   const std::function<bool(const DataSet&)>& may_begin) {
  DataSet& data_set = *FindOpen(waiting.data_set);
  if (data_set.ledger.AllDone() || (data_set.when_due && !evaluates)) {
    return Answer{.granted = {}, .ended = LeasesEndReason::kAllDone};
  }
  if (goal_reached && (data_set.follows_goal || data_set.when_due)) {
    return Answer{.granted = {}, .ended = LeasesEndReason::kGoalReached};
  }
  if (!TrainingIsEnding(data_set, goal_reached) && may_begin(data_set)) {
    if (const std::optional<Lease> lease = Grant(data_set, waiting.worker, now)) {
      if (data_set.follows_goal) current_ = data_set.id;
      return Answer{.granted = lease, .ended = {}};
    }
  }
  if (waiting.deadline <= now) return Answer();
  return std::nullopt;
}

std::optional<Lease> DataSets::Grant(DataSet& data_set, NodeId worker, MonotonicTime now) {
  if (!data_set.chosen_size) return data_set.ledger.Grant(worker);
  std::optional<Lease> lease = data_set.ledger.Grant(worker, data_set.chosen_size->items());
  if (lease) data_set.chosen_size->NoteGranted(now, data_set.ledger.leases().size());
  return lease;
}

std::vector<RequestId> DataSets::TakeWaiting(NodeId worker) {
  std::vector<RequestId> requests;
  std::erase_if(waiting_, [&](const WaitingLease& waiting) {
    if (waiting.worker != worker) return false;
    requests.push_back(waiting.request);
    return true;
  });
  return requests;
}

void DataSets::Advance(NodeId worker, const std::vector<LeasePosition>& positions) {
  for (const LeasePosition& lease : positions) {
    for (DataSet& data_set : data_sets_) {
      if (data_set.ledger.leases().contains(lease.lease)) {
        (void)data_set.ledger.Advance(worker, lease.lease, lease.position);  // an old lease: nothing to do
      }
    }
  }
}

void DataSets::Done(NodeId worker, LeaseId lease) {
  for (DataSet& data_set : data_sets_) (void)data_set.ledger.Done(worker, lease);  // one knows it
}

void DataSets::Return(NodeId worker, LeaseId lease, uint64_t position) {
  for (DataSet& data_set : data_sets_) (void)data_set.ledger.Return(worker, lease, position);  // one knows it
}

void DataSets::ReturnAll(NodeId worker) {
  for (DataSet& data_set : data_sets_) {
    std::vector<Lease> held;
    for (const auto& [id, lease] : data_set.ledger.leases()) {
      if (lease.worker == worker) held.push_back(lease);
    }
    for (const Lease& lease : held) (void)data_set.ledger.Return(worker, lease.id, lease.position);
  }
}

uint64_t DataSets::ReleaseAll(NodeId worker) {
  uint64_t again = 0;
  for (DataSet& data_set : data_sets_) again += data_set.ledger.ReleaseAll(worker);
  return again;
}

bool DataSets::HoldsTrainingLease(NodeId worker) const {
  return std::ranges::any_of(data_sets_, [&](const DataSet& data_set) {
    return IsTraining(data_set) && std::ranges::any_of(data_set.ledger.leases(), [&](const auto& entry) {
             return entry.second.worker == worker;
           });
  });
}

// --- after the goal

void DataSets::BeginClosing() {
  for (DataSet& data_set : data_sets_) {
    const bool asked_for =
        std::ranges::any_of(waiting_, [&](const WaitingLease& waiting) { return waiting.data_set == data_set.id; });
    if (asked_for || !data_set.ledger.leases().empty()) NoteClosing(data_set);
  }
}

bool DataSets::NoteClosing(DataSetId id) { return NoteClosing(*FindOpen(id)); }

bool DataSets::NoteClosing(DataSet& data_set) {
  if (data_set.follows_goal || data_set.when_due || data_set.closing || data_set.ledger.AllDone()) return false;
  data_set.closing = true;
  return true;
}

bool DataSets::HasClosingWork() const { return std::ranges::any_of(data_sets_, &DataSet::closing); }

const DataSet* DataSets::OpenClosingWork() const {
  const auto open = std::ranges::find_if(
      data_sets_, [](const DataSet& data_set) { return data_set.closing && !data_set.ledger.AllDone(); });
  return open == data_sets_.end() ? nullptr : &*open;
}

// --- records

std::vector<CutRecord::DataSet> DataSets::Records() const {
  std::vector<CutRecord::DataSet> records;
  for (const DataSet& data_set : data_sets_) {
    records.push_back(data_set.ledger.Record());
    records.back().name = data_set.name;
  }
  return records;
}

std::vector<CoordinatorRecord::DataSet> DataSets::RecordsWithHolders() const {
  std::vector<CoordinatorRecord::DataSet> records;
  for (const DataSet& data_set : data_sets_) {
    CoordinatorRecord::DataSet copy{.progress = data_set.ledger.Record(true),
                                    .follows_goal = data_set.follows_goal,
                                    .holders = {},
                                    .closing = data_set.closing,
                                    .when_due = data_set.when_due,
                                    .items_in_newest = data_set.items_in_newest,
                                    .lease_size_chosen = data_set.chosen_size.has_value()};
    copy.progress.name = data_set.name;
    for (const auto& [id, lease] : data_set.ledger.leases()) {
      copy.holders.push_back({id, lease.worker});  // as Record() lists them
    }
    records.push_back(std::move(copy));
  }
  return records;
}

void DataSets::NoteNewest(const CutRecord& record) {
  for (const CutRecord::DataSet& cut_data_set : record.data_sets) {
    const auto of = std::ranges::find(data_sets_, cut_data_set.name, &DataSet::name);
    if (of != data_sets_.end()) of->items_in_newest = ItemsDone(cut_data_set);
  }
}

bool DataSets::TrainedSinceNewest(bool no_checkpoint) const {
  return std::ranges::any_of(data_sets_, [&](const DataSet& data_set) {
    if (data_set.closing || data_set.when_due) return false;
    const bool begun = no_checkpoint && !data_set.ledger.leases().empty();
    return begun || data_set.ledger.items_done() > data_set.items_in_newest;
  });
}

uint64_t DataSets::Restore(const CoordinatorRecord::DataSet& kept, uint64_t evaluations_due,
                           const std::function<const std::vector<LeasePosition>*(NodeId)>& held_by, bool adopt) {
  CutRecord::DataSet progress = kept.progress;
  std::vector<Lease> leases;
  uint64_t again = 0;
  for (size_t i = 0; i < progress.open.size() && i < kept.holders.size(); ++i) {
    CutRecord::OpenLease& open = progress.open[i];
    const CoordinatorRecord::Holder& holder = kept.holders[i];
    const std::vector<LeasePosition>* known = held_by(holder.worker);
    if (known == nullptr) {
      again += open.end - open.position;
      continue;
    }
    for (const LeasePosition& position : *known) {
      if (position.lease != holder.lease) continue;
      open.position = std::clamp(position.position, open.position, open.end);
      leases.push_back({.id = holder.lease,
                        .worker = holder.worker,
                        .epoch = open.epoch,
                        .begin = open.begin,
                        .end = open.end,
                        .position = open.position});
    }
  }
  progress.reprocessed_items = CappedSum(progress.reprocessed_items, std::min(again, kNumberMax));
  LeaseLedger ledger(progress, true, progress.epochs, progress.lease_items, &next_lease_);
  if (kept.when_due) ledger.BeginUpTo(evaluations_due);
  for (const Lease& lease : leases) {
    if (adopt) ledger.Adopt(lease);
  }
  data_sets_.push_back({.id = DataSetId(static_cast<uint32_t>(data_sets_.size() + 1)),
                        .name = progress.name,
                        .asked = {.items = progress.items,
                                  .epochs = progress.epochs,
                                  .lease_items = progress.lease_items,
                                  .when_due = kept.when_due},
                        .follows_goal = kept.follows_goal,
                        .closing = kept.closing,
                        .when_due = kept.when_due,
                        .items_in_newest = kept.items_in_newest,
                        .chosen_size = ChosenSize(kept.lease_size_chosen, progress.items),
                        .ledger = std::move(ledger)});
  if (kept.follows_goal && !current_) current_ = data_sets_.back().id;
  return again;
}

}  // namespace attune::ps
