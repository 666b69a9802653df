// Copies a field from one JSON object to another.
#pragma once

#include "operator/kube/object.h"

namespace attune::local {

// A field that `from` does not have is erased from `to`.
inline void CopyField(const kube::Json& from, kube::Json& to, const char* field) {
  if (from.contains(field)) {
    to[field] = from[field];
  } else {
    to.erase(field);
  }
}

}  // namespace attune::local
