// The scale of an object, autoscaling/v1: its number of replicas in a form that is the same for all kinds. Pure.
#pragma once

#include "base/status.h"
#include "operator/kube/object.h"
#include "operator/local/api/rules/kinds.h"

namespace attune::local {

// `info.scale` says where the numbers are.
kube::Json ScaleOf(const KindInfo& info, const kube::Json& object);
// The object with the number, and the resource version if it has one, that `scale` asks for.
StatusOr<kube::Json> WithScale(const KindInfo& info, const kube::Json& object, const kube::Json& scale);

}  // namespace attune::local
