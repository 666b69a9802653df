#include "operator/controller/observe/pod_resize.h"

#include <cstdlib>

#include "operator/controller/observe/names.h"
#include "operator/controller/observe/timestamp.h"
#include "operator/kube/quantity.h"

namespace attune::controller {
namespace {

using kube::At;
using kube::Json;
using kube::StringAt;

constexpr size_t kRecordBytesMax = 1024;

using ParseAmount = std::optional<int64_t> (*)(std::string_view);

std::optional<int64_t> AmountAt(const Json& object, const char* name, ParseAmount parse) {
  const Json& value = At(object, {name});
  if (value.is_string()) return parse(value.get_ref<const std::string&>());
  return value.is_number() ? parse(value.dump()) : std::nullopt;
}

ResourceFigures FiguresAt(const Json& resources, const char* name, ParseAmount parse) {
  ResourceFigures figures{.request = AmountAt(At(resources, {"requests"}), name, parse),
                          .limit = AmountAt(At(resources, {"limits"}), name, parse)};
  if (!figures.request) figures.request = figures.limit;
  return figures;
}

Json AmountsToJson(const Amounts& amounts) {
  Json object = Json::object();
  if (amounts.cpu) object["cpu"] = kube::FormatMillicores(*amounts.cpu);
  if (amounts.memory) object["memory"] = kube::FormatByteCount(*amounts.memory);
  return object;
}

Amounts AmountsAt(const Json& object, const char* name) {
  const Json& amounts = At(object, {name});
  return {AmountAt(amounts, "cpu", kube::ParseMillicores), AmountAt(amounts, "memory", kube::ParseByteCount)};
}

bool FlagAt(const Json& object, const char* name) {
  const Json& flag = At(object, {name});
  return flag.is_boolean() && flag.get<bool>();
}

void ReadCondition(const Json& condition, PodResize& resize) {
  if (StringAt(condition, {"status"}) != "True") return;
  const std::string_view type = StringAt(condition, {"type"}), reason = StringAt(condition, {"reason"});
  // A size that waits for room counts before one that is still being carried out.
  if (type == "PodResizePending") {
    resize.state = reason == "Infeasible" ? ResizeState::kInfeasible : ResizeState::kDeferred;
  } else if (type == "PodResizeInProgress" && resize.state == ResizeState::kNone) {
    resize.state = reason == "Error" ? ResizeState::kError : ResizeState::kInProgress;
  } else {
    return;
  }
  resize.message = StringAt(condition, {"message"});
  resize.since = ParseRfc3339(StringAt(condition, {"lastTransitionTime"}));
}

const Json& Named(const Json& list, std::string_view name) {
  static const Json kNone;
  if (!list.is_array()) return kNone;
  for (const Json& item : list) {
    if (StringAt(item, {"name"}) == name) return item;
  }
  return kNone;
}

// A control group holds whole pages.
bool IsNear(std::optional<int64_t> asked, std::optional<int64_t> actual, int64_t grain) {
  return !asked || (actual && std::llabs(*asked - *actual) < grain);
}

bool IsNear(const ResourceFigures& asked, const ResourceFigures& actual, int64_t grain) {
  return IsNear(asked.limit, actual.limit, grain) && IsNear(asked.request, actual.request, grain);
}

}  // namespace

std::string Describe(const Amounts& amounts) {
  std::string text;
  if (amounts.cpu) text = "cpu " + kube::FormatMillicores(*amounts.cpu);
  if (amounts.memory) text += (text.empty() ? "memory " : ", memory ") + kube::FormatByteCount(*amounts.memory);
  return text.empty() ? "nothing" : text;
}

ContainerFigures FiguresOf(const Json& resources) {
  return {FiguresAt(resources, "cpu", kube::ParseMillicores), FiguresAt(resources, "memory", kube::ParseByteCount)};
}

std::string ToText(const ResizeRecord& record) {
  Json object = {{"from", AmountsToJson(record.from)}, {"to", AmountsToJson(record.to)}};
  if (record.done) object["done"] = true;
  if (record.reported_deferred) object["reportedDeferred"] = true;
  if (record.reported_infeasible) object["reportedInfeasible"] = true;
  return object.dump();
}

ResizeRecord ParseResizeRecord(std::string_view text) {
  if (text.empty() || text.size() > kRecordBytesMax) return {};
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return {};
  return {.from = AmountsAt(object, "from"),
          .to = AmountsAt(object, "to"),
          .done = FlagAt(object, "done"),
          .reported_deferred = FlagAt(object, "reportedDeferred"),
          .reported_infeasible = FlagAt(object, "reportedInfeasible")};
}

PodResize ReadResize(const Json& pod, std::string_view container) {
  PodResize resize;
  resize.asked = FiguresOf(At(Named(At(pod, {"spec", "containers"}), container), {"resources"}));
  const Json& actual = At(Named(At(pod, {"status", "containerStatuses"}), container), {"resources"});
  if (actual.is_object()) resize.actual = FiguresOf(actual);
  if (const Json& conditions = At(pod, {"status", "conditions"}); conditions.is_array()) {
    for (const Json& condition : conditions) ReadCondition(condition, resize);
  }
  resize.record = ParseResizeRecord(kube::Annotation(pod, kAnnotationResize));
  return resize;
}

bool IsSettled(const PodResize& resize) {
  constexpr int64_t kMillicoresGrain = 2, kMemoryGrain = 64LL << 10;
  return resize.state == ResizeState::kNone && resize.actual &&
         IsNear(resize.asked.cpu, resize.actual->cpu, kMillicoresGrain) &&
         IsNear(resize.asked.memory, resize.actual->memory, kMemoryGrain);
}

}  // namespace attune::controller
