#include "cli/runs/archived_api.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/os/file.h"
#include "cli/runs/run_state.h"
#include "operator/local/api/rules/selectors.h"
#include "operator/local/nodes/pod_logs.h"
#include "proto/contract.h"

namespace attune::cli {
namespace {

namespace fs = std::filesystem;
using kube::Json;
using kube::ObjectKey;

constexpr uint64_t kStateBytesMax = 64 << 20;

// A pod that had left before the end: its log is all there is of it.
Json PodOfLog(const std::string& name_space, const std::string& name, const RunRecord& record) {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", name}, {"namespace", name_space}}},
              {"status", {{"phase", "Ended"}}}};
  for (const RunJob& job : record.jobs) {
    for (const char* role : {"server", "worker"}) {
      const std::string prefix = job.name + "-" + role + "-";
      if (!name.starts_with(prefix)) continue;
      pod["metadata"]["labels"] = {{std::string(contract::kLabelJob), job.name},
                                   {std::string(contract::kLabelRole), role},
                                   {std::string(contract::kLabelIndex), name.substr(prefix.size())}};
    }
  }
  return pod;
}

// The numbers of the runs of a container that left a log, in ascending order.
std::vector<int64_t> RestartsIn(const fs::path& directory) {
  std::vector<int64_t> restarts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    int64_t number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc() && std::string_view(end) == ".log") restarts.push_back(number);
  }
  std::sort(restarts.begin(), restarts.end());
  return restarts;
}

class ArchivedApi final : public kube::Api {
 public:
  explicit ArchivedApi(const RunRecord& record) : record_(record) {}

  Status Load() {
    for (const RunJob& job : record_.jobs) {
      const auto text = ReadFile(fs::path(record_.directory) / StateFile(job.name), kStateBytesMax);
      if (!text.ok()) continue;
      ASSIGN_OR_RETURN(RunState state, LoadState(*text));
      state = Settled(std::move(state), job.outcome == RunOutcome::kRunning ? record_.outcome : job.outcome);
      jobs_.push_back(std::move(state.job));
      if (state.tuning_record.is_object()) config_maps_.push_back(std::move(state.tuning_record));
      std::move(state.pods.begin(), state.pods.end(), std::back_inserter(pods_));
      std::move(state.events.begin(), state.events.end(), std::back_inserter(events_));
    }
    if (jobs_.empty()) {
      return Error(StatusCode::kNotFound, "run " + record_.name + " in " + record_.directory +
                                              " left no state of a job: it ended before training began, or an older "
                                              "attune made it");
    }
    AddPodsOfLogs();
    return OkStatus();
  }

  StatusOr<Json> Get(const kube::ResourceType& type, const ObjectKey& key, const kube::CallOptions&) override {
    for (const Json& object : Objects(type)) {
      if (kube::KeyOf(object) == key) return object;
    }
    return Error(StatusCode::kNotFound, type.plural + " \"" + key.name + "\" not found in run " + record_.name);
  }
  StatusOr<kube::ListResult> List(const kube::ResourceType& type, const kube::ListOptions& options,
                                  const kube::CallOptions&) override {
    ASSIGN_OR_RETURN(const local::Selection selection,
                     local::Selection::Parse(options.name_space, options.label_selector, options.field_selector));
    kube::ListResult result;
    for (const Json& object : Objects(type)) {
      if (selection.Matches(object)) result.items.push_back(object);
    }
    return result;
  }
  StatusOr<Json> Create(const kube::ResourceType&, const Json&, const kube::CallOptions&) override { return Refusal(); }
  StatusOr<Json> Update(const kube::ResourceType&, const Json&, const std::string&, const kube::CallOptions&) override {
    return Refusal();
  }
  StatusOr<Json> Patch(const kube::ResourceType&, const ObjectKey&, kube::PatchType, const Json&, const std::string&,
                       const kube::CallOptions&) override {
    return Refusal();
  }
  StatusOr<Json> Apply(const kube::ResourceType&, const Json&, const kube::ApplyOptions&,
                       const kube::CallOptions&) override {
    return Refusal();
  }
  Status Delete(const kube::ResourceType&, const ObjectKey&, const kube::DeleteOptions&,
                const kube::CallOptions&) override {
    return Refusal();
  }
  StatusOr<Json> GetSubresource(const kube::ResourceType&, const ObjectKey&, const std::string&,
                                const kube::CallOptions&) override {
    return Refusal();
  }
  StatusOr<std::unique_ptr<kube::Watch>> StartWatch(const kube::ResourceType&, const kube::WatchOptions&,
                                                    std::function<void(kube::WatchSignal)>) override {
    return Refusal();
  }

  Status ReadLog(const ObjectKey& pod, const kube::LogOptions& options,
                 const std::function<bool(std::string_view)>& on_text, const kube::CallOptions&) override {
    const fs::path directory = PodsDirectory() / pod.name_space / pod.name;
    const std::vector<int64_t> restarts = RestartsIn(directory / options.container);
    const size_t back = options.previous ? 2 : 1;
    if (restarts.size() < back) {
      return Error(StatusCode::kNotFound, options.previous
                                              ? "the container ran once only"
                                              : "it left no log in " + directory.string() + ": it never started");
    }
    const fs::path file = local::LogFile(directory, options.container, restarts[restarts.size() - back]);
    ASSIGN_OR_RETURN(const std::string text, local::ReadLogTail(file, options.tail_lines, options.bytes_max));
    if (!text.empty()) on_text(text);
    return OkStatus();
  }

 private:
  fs::path PodsDirectory() const { return fs::path(record_.directory) / "pods"; }

  Status Refusal() const {
    return Error(StatusCode::kFailedPrecondition, "run " + record_.name + " has ended (" + ToString(record_.outcome) +
                                                      "); `attune resume " + record_.name + "` continues it");
  }

  const std::vector<Json>& Objects(const kube::ResourceType& type) const {
    static const std::vector<Json> kNone;
    if (type == kube::kTrainingJobs) return jobs_;
    if (type == kube::kPods) return pods_;
    if (type == kube::kEvents) return events_;
    if (type == kube::kConfigMaps) return config_maps_;
    return kNone;
  }

  void AddPodsOfLogs() {
    std::error_code error;
    for (const auto& name_space : fs::directory_iterator(PodsDirectory(), error)) {
      for (const auto& pod : fs::directory_iterator(name_space.path(), error)) {
        const ObjectKey key{name_space.path().filename().string(), pod.path().filename().string()};
        const bool known =
            std::any_of(pods_.begin(), pods_.end(), [&](const Json& each) { return kube::KeyOf(each) == key; });
        if (!known) pods_.push_back(PodOfLog(key.name_space, key.name, record_));
      }
    }
  }

  const RunRecord record_;
  std::vector<Json> jobs_, pods_, events_, config_maps_;
};

}  // namespace

StatusOr<std::unique_ptr<kube::Api>> OpenArchive(const RunRecord& record) {
  auto api = std::make_unique<ArchivedApi>(record);
  RETURN_IF_ERROR(api->Load());
  return std::unique_ptr<kube::Api>(std::move(api));
}

}  // namespace attune::cli
