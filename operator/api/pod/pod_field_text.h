// What may stand at a field of a pod template, as a message says it. Internal to this room.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "operator/api/pod/pod_schema.h"

namespace attune::api {

inline constexpr size_t kNamesListedMax = 12;  // of a longer list the nearest name helps, all of them do not

// Fields of an object, values of an enumeration.
std::vector<std::string> NamesOf(const SchemaType& type);
// One value of the field: of a list an item, of a mapping a member.
std::string TypeText(const SchemaType& owner, const SchemaField& field);
std::string FieldText(const SchemaType& owner, const SchemaField& field);
// "a Probe of Kubernetes 1.34 has ...".
std::string AllNames(const SchemaType& type);

}  // namespace attune::api
