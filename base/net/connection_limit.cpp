#include "base/net/connection_limit.h"

namespace attune {

std::optional<uint64_t> ConnectionLimit::Enter(uint64_t id, const std::string& source) {
  std::optional<uint64_t> victim;
  if (source_of_.size() >= max_) {
    victim = Victim();
    Leave(*victim);
  }
  source_of_[id] = source;
  of_source_[source].insert(id);
  return victim;
}

void ConnectionLimit::Leave(uint64_t id) {
  const auto found = source_of_.find(id);
  if (found == source_of_.end()) return;
  const auto source = of_source_.find(found->second);
  source->second.erase(id);
  if (source->second.empty()) of_source_.erase(source);
  source_of_.erase(found);
}

// Of sources with equally many, the one whose oldest connection is older.
uint64_t ConnectionLimit::Victim() const {
  const std::set<uint64_t>* most = nullptr;
  for (const auto& [source, ids] : of_source_) {
    if (most == nullptr || ids.size() > most->size() || (ids.size() == most->size() && *ids.begin() < *most->begin())) {
      most = &ids;
    }
  }
  return *most->begin();
}

}  // namespace attune
