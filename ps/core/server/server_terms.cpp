#include "ps/core/server/server_terms.h"

#include <optional>
#include <utility>

namespace attune::ps {

bool ServerTerms::BeginsHere(CoordinatorAt notice) {
  if (notice.term <= at_.term || notice.term < term()) return false;
  coordinator_.Raise(notice.term);
  at_ = std::move(notice);
  return true;
}

std::optional<CoordinatorPlace> ServerTerms::Follow(NodeId from, const CoordinatorAt& notice, NodeId self,
                                                    const ShardMap& map) {
  if (notice.term <= at_.term || notice.term < term() || notice.host == self) return std::nullopt;
  auto place = coordinator_.Accept(from, notice, map);
  if (place) at_ = notice;
  return place;
}

void ServerTerms::Keep(CoordinatorRecord record, const ShardMap& map) {
  if (record.number < map.records_from) return;
  if (!kept_ || kept_->number < record.number) kept_ = std::move(record);
}

void ServerTerms::OnMap(const ShardMap& map) {
  support_.OnMap(map.version.term());
  if (kept_ && kept_->number < map.records_from) kept_.reset();
}

}  // namespace attune::ps
