// Caches lag behind writes, each kind on its own. A plan from a cache that does not show the last writes yet would
// repeat them, so a round waits until every write of the round before is visible, for a few seconds at most: what is
// urgent must not wait for a watch that stalls. What has been created is not created again for longer, so that the
// operator and the API server, once they are busy enough for that, do not make each other busier. Pure: caches are
// given as a function.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::controller {

class Expectations {
 public:
  static constexpr Duration kWaitMax = std::chrono::seconds(5);         // of a round
  static constexpr Duration kRememberedMax = std::chrono::seconds(60);  // then the watch may have missed it

  // `written`: the object as the server returned it from a create, patch or status write.
  void ExpectWritten(const kube::ResourceType& type, const kube::Json& written, MonotonicTime now);
  // The object with this uid is gone, or marked as being deleted.
  void ExpectDeleted(const kube::ResourceType& type, const kube::ObjectKey& key, const std::string& uid,
                     MonotonicTime now);

  struct Seen {
    const kube::Json* object = nullptr;  // null when the cache has none of this name
    uint64_t newest_version = 0;         // of any object of the kind, at this moment or before
  };
  using Lookup = std::function<Seen(const kube::ResourceType& type, const kube::ObjectKey& key)>;
  // False while a write is to be waited for. Forgets what is met or too old.
  bool AreMet(const Lookup& lookup, MonotonicTime now);
  // It was written, and at the last look the cache did not show it.
  bool IsAwaited(const kube::ResourceType& type, const kube::ObjectKey& key) const;

 private:
  struct Expectation {
    kube::ResourceType type;
    kube::ObjectKey key;
    std::string uid;
    bool deleted = false;
    bool may_be_gone = false;  // it was on its way out when written
    uint64_t version = 0;      // resourceVersion, at least
    MonotonicTime since;
  };
  static bool IsMet(const Expectation& expectation, const Seen& seen);

  std::map<std::string, Expectation> open_;  // by kind and key
};

}  // namespace attune::controller
