// Field ownership for server-side apply: which fields an object states, who stated them (metadata.managedFields), and
// the merge that apply performs. Pure functions over JSON. Semantics: Kubernetes' server-side apply, with list keys
// from list_keys.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

// Path elements as in FieldsV1: "f:spec", "k:{\"name\":\"server\"}", "v:\"attune.dev/outcome\"", and "." for a list
// item itself.
using FieldPath = std::vector<std::string>;
using FieldSet = std::set<FieldPath>;

// Every field `object` states, identity fields (apiVersion, kind, name, uid, managedFields ...) left out.
FieldSet FieldsOf(const kube::Json& object);
// Fields whose value in `after` differs from `before` or is new.
FieldSet ChangedFields(const kube::Json& before, const kube::Json& after);

kube::Json ToFieldsV1(const FieldSet& fields);
FieldSet FromFieldsV1(const kube::Json& fields);
// "spec.containers[name="server"].image" for messages.
std::string DisplayPath(const FieldPath& path);

struct Manager {
  std::string name;
  std::string operation;    // "Apply" or "Update"
  std::string subresource;  // "" or "status"
  friend bool operator==(const Manager&, const Manager&) = default;
};

// What apply makes of `live`: `config`'s fields set, the manager's earlier fields that `config` no longer states and
// no other process owns removed. Fields of other managers with another value are Aborted unless `force`, which takes
// them over. metadata.managedFields of the result is up to date, with `time` on the manager's entry when its fields
// changed.
StatusOr<kube::Json> ServerSideApply(const kube::Json& live, const kube::Json& config, const Manager& manager,
                                     bool force, const std::string& time);

// Records in `after` that `manager` changed fields by create, update or patch: it now owns what differs from `before`.
void RecordUpdate(const kube::Json& before, kube::Json& after, const Manager& manager, const std::string& time);

}  // namespace attune::local
