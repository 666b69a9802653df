// What the schema of a pod template cannot say about its fields: the form of a text, the bounds of a number, what an
// object needs to refer to anything. Tables, a line per field. Internal to this room.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "operator/api/pod/pod_schema.h"

namespace attune::api {

inline constexpr int64_t kPortMax = 65535, kAnyMax = std::numeric_limits<int32_t>::max();

struct StringRule {
  std::string_view type, field;
  bool (*fits)(std::string_view);
  const char* allowed;
};
struct NumberRule {
  std::string_view type, field;
  int64_t minimum, maximum;
};
// Objects of which exactly one member says what they are.
struct ChoiceRule {
  std::string_view type;
  std::vector<std::string_view> members;  // empty: all
  bool may_be_none;
};

// Null where there is none.
const StringRule* FindStringRule(std::string_view type, std::string_view field);
const NumberRule* FindNumberRule(std::string_view type, std::string_view field);
const std::vector<ChoiceRule>& ChoiceRules();
// "" and an empty list say no more than an absent field.
bool IsNeeded(const SchemaType& owner, const SchemaField& field);
// Mounted in the role's container by the operator; other containers of the pod may mount them as well.
bool IsOperatorVolume(std::string_view name);

}  // namespace attune::api
