#include "ps/transport/tcp/connect/pending_handshakes.h"

#include <algorithm>

namespace attune::ps {

std::optional<PendingHandshakes::Id> PendingHandshakes::Begin(Id id, const std::string& source) {
  std::optional<Id> oldest;
  const auto same = sources_.find(source);
  if (same != sources_.end() && same->second.size() >= per_source_max_) {
    oldest = same->second.front();
  } else if (entries_.size() >= total_max_) {
    // A scan over the sources, of which there are at most as many as connections, and only when all places are taken.
    oldest =
        std::ranges::max_element(sources_, {}, [](const auto& entry) { return entry.second.size(); })->second.front();
  }
  if (oldest) End(*oldest);
  std::list<Id>& ids = sources_[source];
  ids.push_back(id);
  entries_[id] = {.source = source, .place = std::prev(ids.end())};
  return oldest;
}

void PendingHandshakes::End(Id id) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  const auto source = sources_.find(entry->second.source);
  source->second.erase(entry->second.place);
  if (source->second.empty()) sources_.erase(source);
  entries_.erase(entry);
}

}  // namespace attune::ps
