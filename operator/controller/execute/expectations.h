// Caches lag behind writes, each kind on its own. A plan from a cache that does not show the last writes yet would
// repeat them, so a round waits until every write of the round before is visible, for a few seconds at most (an object
// may come and go between two looks). Pure: caches are given as a function.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::controller {

class Expectations {
 public:
  static constexpr Duration kWaitMax = std::chrono::seconds(5);

  // `written`: the object as the server returned it from a create, patch or status write.
  void ExpectWritten(const kube::ResourceType& type, const kube::Json& written, MonotonicTime now);
  // The object with this uid is gone, or marked as being deleted.
  void ExpectDeleted(const kube::ResourceType& type, const kube::ObjectKey& key, const std::string& uid,
                     MonotonicTime now);

  // The cached object; null when the cache has none of this name. Forgets what is met or too old.
  using Lookup = std::function<const kube::Json*(const kube::ResourceType& type, const kube::ObjectKey& key)>;
  bool AreMet(const Lookup& lookup, MonotonicTime now);

 private:
  struct Expectation {
    kube::ResourceType type;
    kube::ObjectKey key;
    std::string uid;
    bool deleted = false;
    bool may_be_gone = false;  // it was on its way out when written
    uint64_t version = 0;      // resourceVersion, at least; numbers grow on every server in use
    MonotonicTime until;
  };
  static bool IsMet(const Expectation& expectation, const kube::Json* cached);

  std::map<std::string, Expectation> open_;  // by kind and key
};

}  // namespace attune::controller
