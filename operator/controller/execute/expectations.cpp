#include "operator/controller/execute/expectations.h"

#include <charconv>

namespace attune::controller {
namespace {

uint64_t VersionOf(const kube::Json& object) {
  const std::string_view text = kube::ResourceVersion(object);
  uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

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
                             .version = VersionOf(written),
                             .until = now + kWaitMax};
}

void Expectations::ExpectDeleted(const kube::ResourceType& type, const kube::ObjectKey& key, const std::string& uid,
                                 MonotonicTime now) {
  open_[Place(type, key)] = {.type = type,
                             .key = key,
                             .uid = uid,
                             .deleted = true,
                             .may_be_gone = true,
                             .version = 0,
                             .until = now + kWaitMax};
}

bool Expectations::IsMet(const Expectation& expectation, const kube::Json* cached) {
  if (cached == nullptr) return expectation.may_be_gone;
  const bool same = kube::Uid(*cached) == expectation.uid;
  if (expectation.deleted) return !same || kube::IsBeingDeleted(*cached);
  // Another uid: a predecessor that the cache still shows has an older version than what was written.
  return VersionOf(*cached) >= expectation.version;
}

bool Expectations::AreMet(const Lookup& lookup, MonotonicTime now) {
  std::erase_if(open_, [&](const auto& entry) {
    return now >= entry.second.until || IsMet(entry.second, lookup(entry.second.type, entry.second.key));
  });
  return open_.empty();
}

}  // namespace attune::controller
