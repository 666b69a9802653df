// Small objects for the tests of this room.
#pragma once

#include <string>

#include "operator/kube/api.h"

namespace attune::local::testing {

using kube::Json;
using kube::ObjectKey;

inline Json MakePod(const std::string& name, Json labels = Json::object()) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", std::move(labels)}}},
          {"spec", {{"containers", Json::array({{{"name", "main"}, {"image", "x"}, {"command", {"true", "x"}}}})}}}};
}

inline Json MakeJob(const std::string& name, int workers = 2) {
  return {{"apiVersion", "attune.dev/v1alpha1"},
          {"kind", "TrainingJob"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", {{"workers", {{"replicas", workers}}}}}};
}

inline ObjectKey Key(const std::string& name) { return {"default", name}; }

inline Json OwnedBy(Json object, const Json& owner) {
  object["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", owner["apiVersion"]},
                                                        {"kind", owner["kind"]},
                                                        {"name", owner["metadata"]["name"]},
                                                        {"uid", owner["metadata"]["uid"]},
                                                        {"controller", true}}});
  return object;
}

}  // namespace attune::local::testing
