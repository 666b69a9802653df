#include "ps/core/rows/state/owner_collection.h"

namespace attune::ps {

void OwnerCollection::Begin() {
  End();
  open_ = true;
}

void OwnerCollection::End() {
  open_ = false;
  missing_.clear();
  claims_ = {};
}

void OwnerCollection::Add(NodeId from, const DirectoryBatch& entries, bool last) {
  for (size_t i = 0; i < entries.keys.size(); ++i) {
    const TableKey row{entries.table, entries.keys[i]};
    const OwnerClaim reported{.row = row, .owner = entries.owners[i], .move_number = entries.move_numbers[i]};
    const auto [place, is_new] = claims_.Insert(row);
    if (is_new || static_cast<int16_t>(reported.move_number - place->move_number) > 0) *place = reported;
  }
  if (last) missing_.erase(from);
}

void OwnerCollection::AddOwn(const OwnerClaim& claim) {
  const auto [place, is_new] = claims_.Insert(claim.row);
  if (is_new) *place = claim;
}

void OwnerReports::Clear() {
  claims_.clear();
  asked_by_.clear();
}

void OwnerReports::AddArrived(const OpenHandover& handover) {
  for (size_t i = 0; i < handover.keys.size(); ++i) {
    claims_.push_back(
        {.row = {handover.table, handover.keys[i]}, .owner = handover.to, .move_number = handover.move_numbers[i]});
  }
}

}  // namespace attune::ps
