#include "operator/install_check.h"

#include <boost/asio/ip/tcp.hpp>

#include "base/log.h"

namespace attune {
namespace {

// "" without a colon.
std::string HostOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? "" : address.substr(0, colon);
}
std::string PortOf(const std::string& address) { return address.substr(address.rfind(':') + 1); }

// Whether it takes a connection.
bool Answers(const std::string& address) {
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(std::chrono::seconds(5));
  stream.connect(HostOf(address), PortOf(address));
  return stream.good();
}

std::string Text(const kube::Json& condition, const char* field) {
  return std::string(kube::StringAt(condition, {field}));
}

// Where the job stands, in a line.
std::string Standing(const kube::Json& job) {
  const std::string phase(kube::StringAt(job, {"status", "phase"}));
  const kube::Json& items = kube::At(job, {"status", "progress", "itemsDone"});
  std::string text = phase.empty() ? "no operator has looked at it" : phase;
  if (items.is_number()) text += ", items done: " + items.dump();
  const kube::Json& conditions = kube::At(job, {"status", "conditions"});
  if (!conditions.is_array()) return text;
  for (const kube::Json& condition : conditions) {
    if (Text(condition, "type") != "Ready" || Text(condition, "status") == "True") continue;
    if (const std::string why = Text(condition, "message"); !why.empty()) text += ": " + why;
  }
  return text;
}

}  // namespace

bool IsWanted(const InstallCheck& check) { return !check.ports.empty() || !check.job.name.empty(); }

std::string CheckProblem(const InstallCheck& check) {
  if (!check.job.name.empty() && check.job.name_space.empty()) return "--check-job needs --namespace, where the job is";
  for (const std::string& address : check.ports) {
    if (HostOf(address).empty() || PortOf(address).empty()) return "--check-port takes host:port, not " + address;
  }
  return "";
}

std::optional<Status> EndOf(const kube::Json& job) {
  const kube::Json& conditions = kube::At(job, {"status", "conditions"});
  if (!conditions.is_array()) return std::nullopt;
  for (const kube::Json& condition : conditions) {
    if (Text(condition, "status") != "True") continue;
    if (Text(condition, "type") == "Succeeded") return Status();
    if (Text(condition, "type") == "Failed") {
      return Error(StatusCode::kFailedPrecondition, "job " + kube::KeyOf(job).ToString() + " has failed, " +
                                                        Text(condition, "reason") + ": " + Text(condition, "message"));
    }
  }
  return std::nullopt;
}

Status AwaitPorts(const std::vector<std::string>& ports, const Pause& pause) {
  for (const std::string& address : ports) {
    while (!Answers(address)) {
      if (!pause()) {
        return Error(StatusCode::kDeadlineExceeded,
                     address +
                         " takes no connection: is a replica of the operator the leader, and does a NetworkPolicy "
                         "keep this pod away?");
      }
    }
    log::Info("a port answers", {{"address", address}});
  }
  return {};
}

Status AwaitJob(kube::Api& api, const kube::ObjectKey& key, const Pause& pause) {
  std::string said;
  Status last;
  do {
    const StatusOr<kube::Json> job = api.Get(kube::kTrainingJobs, key, {std::chrono::seconds(5)});
    last = job.status();
    if (last.code() == StatusCode::kNotFound) return Annotate(last, "looking for job " + key.ToString());
    if (!last.ok()) continue;
    const std::optional<Status> end = EndOf(*job);
    if (const std::string standing = Standing(*job); standing != said) {
      log::Info("the job stands", {{"job", key.ToString()}, {"standing", said = standing}});
    }
    if (end) return *end;
  } while (pause());
  if (!last.ok()) return Annotate(last, "looking at job " + key.ToString());
  return Error(StatusCode::kDeadlineExceeded, "job " + key.ToString() + " has not ended in time (" + said +
                                                  "); its conditions say what it waits for: kubectl describe tj " +
                                                  key.name + " -n " + key.name_space);
}

}  // namespace attune
