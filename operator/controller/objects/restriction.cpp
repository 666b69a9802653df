#include "operator/controller/objects/restriction.h"

#include "operator/controller/objects/json_fields.h"

namespace attune::controller {
namespace {

using kube::Json;

constexpr int kUnprivilegedUser = 65532;  // of the images in docker/

}  // namespace

void SetDefault(Json& object, const char* key, Json value) {
  if (!object.contains(key) || object[key].is_null()) object[key] = std::move(value);
}

void Restrict(Json& container) {
  Json& security = ObjectIn(container, "securityContext");
  SetDefault(security, "allowPrivilegeEscalation", false);
  SetDefault(security, "capabilities", {{"drop", Json::array({"ALL"})}});
}

void RestrictOwn(Json& container) {
  Restrict(container);
  Json& security = ObjectIn(container, "securityContext");
  SetDefault(security, "readOnlyRootFilesystem", true);
  SetDefault(security, "runAsNonRoot", true);
  SetDefault(security, "runAsUser", kUnprivilegedUser);
}

void RestrictPod(Json& spec) {
  Json& security = ObjectIn(spec, "securityContext");
  SetDefault(security, "runAsNonRoot", true);
  SetDefault(security, "seccompProfile", {{"type", "RuntimeDefault"}});
  SetDefault(security, "fsGroup", kUnprivilegedUser);
  SetDefault(security, "fsGroupChangePolicy", "OnRootMismatch");
}

}  // namespace attune::controller
