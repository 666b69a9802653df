#include "operator/controller/execute/expectations.h"

#include <algorithm>

namespace attune::controller {
namespace {

std::string Place(const kube::ResourceType& type, const kube::ObjectKey& key) {
  return type.plural + "/" + key.ToString();
}

}  // namespace

void Expectations::ExpectWritten(const kube::ResourceType& type, const kube::Json& written, MonotonicTime now) {
  const kube::ObjectKey key = kube::KeyOf(written);
  open_[Place(type, key)] = {.type = type,
                             .key = key,
                             .uid = std::string(kube::Uid(written)),
                             .deleted = false,
                             .may_be_gone = kube::IsBeingDeleted(written),
                             .version = kube::VersionNumber(written),
                             .since = now};
}

void Expectations::ExpectDeleted(const kube::ResourceType& type, const kube::ObjectKey& key, const std::string& uid,
                                 MonotonicTime now) {
  open_[Place(type, key)] = {
      .type = type, .key = key, .uid = uid, .deleted = true, .may_be_gone = true, .version = 0, .since = now};
}

bool Expectations::IsMet(const Expectation& expectation, const Seen& seen) {
  // It may have come and gone between two looks.
  if (!expectation.deleted && expectation.version > 0 && seen.newest_version >= expectation.version) return true;
  if (seen.object == nullptr) return expectation.may_be_gone;
  if (expectation.deleted) return kube::Uid(*seen.object) != expectation.uid || kube::IsBeingDeleted(*seen.object);
  // Another uid: a predecessor that the cache still shows has an older version than what was written.
  return kube::VersionNumber(*seen.object) >= expectation.version;
}

bool Expectations::AreMet(const Lookup& lookup, MonotonicTime now) {
  std::erase_if(open_, [&](const auto& entry) {
    const Expectation& expectation = entry.second;
    return now - expectation.since >= kRememberedMax || IsMet(expectation, lookup(expectation.type, expectation.key));
  });
  return std::ranges::all_of(open_, [&](const auto& entry) { return now - entry.second.since >= kWaitMax; });
}

bool Expectations::IsAwaited(const kube::ResourceType& type, const kube::ObjectKey& key) const {
  const auto open = open_.find(Place(type, key));
  return open != open_.end() && !open->second.deleted;
}

}  // namespace attune::controller
