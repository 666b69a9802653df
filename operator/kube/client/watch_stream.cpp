#include "operator/kube/client/watch_stream.h"

#include "operator/kube/client/api_error.h"

namespace attune::kube {
namespace {

WatchSignal Damaged(const ResourceType& type, std::string_view line, std::string_view why) {
  constexpr size_t kShown = 120;
  return {WatchSignal::Kind::kBroken,
          {},
          Error(StatusCode::kDataLoss, "watching " + type.plural + ": " + std::string(why) + " in the stream (\"" +
                                           std::string(line.substr(0, kShown)) + "\"); watch again")};
}

}  // namespace

bool LineSplitter::Feed(std::string_view bytes, const std::function<bool(std::string)>& on_line) {
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    size_t take = end == std::string_view::npos ? bytes.size() : end;
    if (partial_.size() + take > line_bytes_max_) {
      too_long_ = true;
      return false;
    }
    partial_.append(bytes.substr(0, take));
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    std::string line = std::move(partial_);
    partial_.clear();
    if (!line.empty() && !on_line(std::move(line))) return false;
  }
  return true;
}

WatchSignal ParseWatchLine(std::string_view line, const ResourceType& type) {
  using Kind = WatchSignal::Kind;
  Json event = Json::parse(line, nullptr, false);
  if (!event.is_object() || !At(event, {"object"}).is_object()) return Damaged(type, line, "no watch event");
  std::string_view name = StringAt(event, {"type"});
  if (name == "ERROR") return {Kind::kError, {}, StatusFromObject(event["object"], "watching " + type.plural)};
  Kind kind;
  if (name == "ADDED")
    kind = Kind::kAdded;
  else if (name == "MODIFIED")
    kind = Kind::kModified;
  else if (name == "DELETED")
    kind = Kind::kDeleted;
  else if (name == "BOOKMARK")
    kind = Kind::kBookmark;
  else
    return Damaged(type, line, "unknown event type");
  Json object = std::move(event["object"]);
  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  return {kind, std::move(object), OkStatus()};
}

}  // namespace attune::kube
