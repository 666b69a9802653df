// Which kinds of objects the embedded API serves and what is special about each: subresources, defaults, validation,
// columns. This is what CustomResourceDefinitions and the built-in types are to a real API server.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "operator/kube/object.h"

namespace attune::local {

// Where the scale subresource reads and writes, as field names from the top of the object.
struct ScalePaths {
  std::vector<std::string> spec_replicas;
  std::vector<std::string> status_replicas;
  std::vector<std::string> status_selector;
};

// A column of `kubectl get` beside the name.
struct PrinterColumn {
  std::string name;
  std::string type;               // "string", "integer", "number" or "date"
  std::vector<std::string> path;  // field names from the top of the object
};

struct KindInfo {
  kube::ResourceType type;
  std::string singular;
  std::vector<std::string> short_names;
  bool has_status = true;   // a status subresource: the main path ignores status, and the other way round
  bool custom = false;      // a custom resource: no strategic merge, updates must carry their resourceVersion
  bool label_name = false;  // names are single DNS labels, as services' are
  std::optional<ScalePaths> scale;
  std::vector<PrinterColumn> columns;
  size_t objects_max = 20000;                         // creating more is ResourceExhausted
  std::function<void(kube::Json&)> set_defaults;      // may be empty
  std::function<Status(const kube::Json&)> validate;  // after defaults; InvalidArgument with field paths; may be empty
};

// Pods, services, nodes, namespaces, events, token reviews and the small kinds that manifests and controllers touch.
std::vector<KindInfo> BuiltInKinds();

// attune.dev/v1alpha1 TrainingJob with status and scale on its workers. `validate` comes from the room that knows its
// schema.
KindInfo TrainingJobKind(std::function<Status(const kube::Json&)> validate = {});

// RFC 1123 label and subdomain, RFC 1035 label: the three forms of object names.
bool IsDnsLabel(std::string_view name);
bool IsDnsSubdomain(std::string_view name);
bool IsDns1035Label(std::string_view name);

// metadata.name, labels, annotations, finalizers in the forms Kubernetes allows. `kind` is for messages.
Status ValidateMetadata(const KindInfo& kind, const kube::Json& object);

}  // namespace attune::local
