#include "ps/core/rows/state/owner_collection.h"

#include <algorithm>
#include <utility>

#include "ps/core/protocol/limits.h"

namespace attune::ps {

std::vector<DirectoryBatch> InBatches(TableId table, std::span<const OwnerClaim> claims) {
  std::vector<DirectoryBatch> batches;
  for (size_t begin = 0; begin < claims.size(); begin += kKeysPerMessageMax) {
    std::vector<Key> keys;
    std::vector<NodeId> owners;
    std::vector<uint16_t> numbers;
    for (const OwnerClaim& claim : claims.subspan(begin, std::min(kKeysPerMessageMax, claims.size() - begin))) {
      keys.push_back(claim.row.key);
      owners.push_back(claim.owner);
      numbers.push_back(claim.move_number);
    }
    batches.push_back(
        {.table = table, .keys = std::move(keys), .owners = std::move(owners), .move_numbers = std::move(numbers)});
  }
  return batches;
}

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
