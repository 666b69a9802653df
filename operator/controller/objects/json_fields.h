// Fields of a Kubernetes object that is being made, which are made where they are missing.
#pragma once

#include "operator/kube/object.h"

namespace attune::controller {

// Makes sure that `object[key]` is an array (or object) and returns it.
inline kube::Json& ArrayIn(kube::Json& object, const char* key) {
  if (!object[key].is_array()) object[key] = kube::Json::array();
  return object[key];
}
inline kube::Json& ObjectIn(kube::Json& object, const char* key) {
  if (!object[key].is_object()) object[key] = kube::Json::object();
  return object[key];
}

}  // namespace attune::controller
