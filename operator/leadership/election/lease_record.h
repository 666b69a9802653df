// The Lease (coordination.k8s.io/v1) that replicas of the operator share, as a value, and the objects that change it.
// Times in it are for people: they come from the wall clock of whichever machine wrote them, so nothing here compares
// them. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::leadership {

inline const kube::ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease"};

// On a Lease that its holder has given back, with the holder's identity. A Lease without a holder and without this was
// changed by other hands, and its last holder may not know yet.
inline constexpr char kAnnotationReleasedBy[] = "attune.dev/released-by";

struct LeaseRecord {
  std::string holder;        // the identity of the process that may act; "": none
  bool released = false;     // by that holder itself
  Duration duration{};       // how long others have to wait after its last renewal, as the holder wrote
  int64_t transitions = 0;   // rises with every holder: the number of the term
  std::string uid, version;  // of the object as it was read: any write makes another version

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// Missing and wrongly typed fields read as nothing: a Lease can be edited by hand.
LeaseRecord ParseLease(const kube::Json& lease);

// `time`: now, in the form of metav1.MicroTime. What is written is what `record` says; its uid and version are not.
kube::Json LeaseToCreate(const kube::ObjectKey& key, const LeaseRecord& record, const std::string& time);
// A merge patch that succeeds only on the version `precondition`. Labels and annotations of others stay. `begins_term`:
// the holder is another one than before.
kube::Json LeasePatch(const LeaseRecord& record, const LeaseRecord& precondition, bool begins_term,
                      const std::string& time);

}  // namespace attune::leadership
