#include "operator/api/fields.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace attune::api {
namespace {

constexpr int32_t kPodsMax = 1024;  // per role
constexpr int64_t kStalenessMax = 1'000'000;
constexpr int64_t kCountMax = 1LL << 53;  // whole numbers that survive JSON readers working in doubles
constexpr int64_t kSecondsMax = 10LL * 365 * 86400;

// Names in the order of the enumerators.
std::vector<std::string> Names(SyncMode) { return {"Async", "BSP", "SSP"}; }
std::vector<std::string> Names(CleanPods) { return {"None", "Running", "All"}; }

template <class T>
struct Binding {
  static constexpr FieldType kType = std::is_enum_v<T>             ? FieldType::kChoice
                                     : std::is_same_v<T, Json>     ? FieldType::kPodTemplate
                                     : std::is_same_v<T, bool>     ? FieldType::kBoolean
                                     : std::is_floating_point_v<T> ? FieldType::kNumber
                                     : std::is_integral_v<T>       ? FieldType::kInteger
                                                                   : FieldType::kString;
  static void Set(T& target, const Json& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto names = Names(T{});
      const auto at = std::find(names.begin(), names.end(), value.get<std::string>());
      target = static_cast<T>(at - names.begin());
    } else {
      target = value.get<T>();
    }
  }
  static Json Get(const T& source) {
    if constexpr (std::is_enum_v<T>) {
      return Names(T{}).at(static_cast<size_t>(source));
    } else {
      return source;
    }
  }
};

template <class T>
struct Binding<std::optional<T>> {
  static constexpr FieldType kType = Binding<T>::kType;
  static void Set(std::optional<T>& target, const Json& value) { target = value.get<T>(); }
  static Json Get(const std::optional<T>& source) { return source ? Json(*source) : Json(); }
};

template <>
struct Binding<std::map<std::string, double>> {
  static constexpr FieldType kType = FieldType::kMetrics;
  static void Set(std::map<std::string, double>& target, const Json& value) {
    for (const auto& [name, number] : value.items()) {
      if (number.is_number()) target[name] = number.get<double>();
    }
  }
  static Json Get(const std::map<std::string, double>& source) { return source.empty() ? Json() : Json(source); }
};

std::string TextAt(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

template <>
struct Binding<std::vector<Condition>> {
  static constexpr FieldType kType = FieldType::kConditions;
  static void Set(std::vector<Condition>& target, const Json& value) {
    for (const Json& each : value) {
      if (!each.is_object()) continue;
      Condition& condition = target.emplace_back();
      condition.type = TextAt(each, "type");
      condition.status = TextAt(each, "status");
      condition.reason = TextAt(each, "reason");
      condition.message = TextAt(each, "message");
      condition.last_transition_time = TextAt(each, "lastTransitionTime");
      const auto generation = each.find("observedGeneration");
      if (generation != each.end() && generation->is_number_integer()) {
        condition.observed_generation = generation->get<int64_t>();
      }
    }
  }
  static Json Get(const std::vector<Condition>& source) {
    if (source.empty()) return {};
    Json list = Json::array();
    for (const Condition& condition : source) {
      list.push_back({{"type", condition.type},
                      {"status", condition.status},
                      {"reason", condition.reason},
                      {"message", condition.message},
                      {"lastTransitionTime", condition.last_transition_time},
                      {"observedGeneration", condition.observed_generation}});
    }
    return list;
  }
};

// One DNS label, or several joined by dots.
bool IsDnsName(const std::string& text) {
  size_t begin = 0;
  while (true) {
    const size_t dot = text.find('.', begin);
    if (!IsDnsLabel(std::string_view(text).substr(begin, dot == std::string::npos ? dot : dot - begin))) return false;
    if (dot == std::string::npos) return true;
    begin = dot + 1;
  }
}

// `lens` gives the member for a mutable and for a constant job.
template <class Lens>
Field Bound(std::string path, std::string description, Lens lens) {
  using Member = std::remove_cvref_t<decltype(lens(std::declval<TrainingJob&>()))>;
  Field field;
  field.path = std::move(path);
  field.description = std::move(description);
  field.type = Binding<Member>::kType;
  if constexpr (std::is_enum_v<Member>) field.choices = Names(Member{});
  field.set = [lens](TrainingJob& job, const Json& value) { Binding<Member>::Set(lens(job), value); };
  field.get = [lens](const TrainingJob& job) { return Binding<Member>::Get(lens(job)); };
  return field;
}
#define LENS(member) \
  [](auto& job) -> auto& { return job.member; }

Field Object(std::string path, std::string description) {
  Field field;
  field.path = std::move(path);
  field.description = std::move(description);
  return field;
}

Field Default(Field field, Json value) {
  field.default_value = std::move(value);
  return field;
}

Field Required(Field field) {
  field.required = true;
  return field;
}

Field Range(Field field, int64_t minimum, int64_t maximum) {
  field.minimum = minimum;
  field.maximum = maximum;
  return field;
}

// A directory as the pods see it.
Field AbsolutePath(Field field) {
  constexpr int32_t kPathBytesMax = 1024;
  field.pattern = "^/[^\\x00-\\x1f\\x7f]*$";
  field.pattern_words = "an absolute path without control characters, of at most 1024 characters";
  field.fits = [](const std::string& text) {
    return text.starts_with('/') && std::none_of(text.begin(), text.end(), [](char c) {
             return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
           });
  };
  field.length_max = kPathBytesMax;
  field.omit_empty = true;
  return field;
}

Field OmitEmpty(Field field) {
  field.omit_empty = true;
  return field;
}

// --- spec

template <class RoleLens>
void AddRole(std::vector<Field>& fields, const std::string& path, const std::string& noun, RoleLens role) {
  fields.push_back(
      Range(Default(Bound(
                        path + ".replicas",
                        "Number of " + noun + " pods.", [role](auto& job) -> auto& { return role(job).replicas; }),
                    1),
            1, kPodsMax));
  fields.push_back(Range(Default(Bound(
                                     path + ".min", "Least number of " + noun + " pods that scaling may choose.",
                                     [role](auto& job) -> auto& { return role(job).min; }),
                                 1),
                         1, kPodsMax));
  fields.push_back(Range(Default(Bound(
                                     path + ".max", "Greatest number of " + noun + " pods that scaling may choose.",
                                     [role](auto& job) -> auto& { return role(job).max; }),
                                 64),
                         1, kPodsMax));
  fields.push_back(Bound(
      path + ".template", "Pod template, as in a Deployment. The container named \"" + noun + "\" is the " + noun + ".",
      [role](auto& job) -> auto& { return role(job).pod_template; }));
}

void AddGoalAndData(std::vector<Field>& fields) {
  fields.push_back(Default(Object("spec.goal", "When training is over: whichever comes first. Default: one epoch."),
                           {{"epochs", 1}}));
  fields.push_back(Range(Bound("spec.goal.epochs", "Passes over the data.", LENS(spec.goal.epochs)), 1, kCountMax));
  fields.push_back(
      Range(Bound("spec.goal.steps", "Steps of all workers together.", LENS(spec.goal.steps)), 1, kCountMax));
  fields.push_back(
      Bound("spec.goal.targetLoss", "Smoothed training loss at or below this.", LENS(spec.goal.target_loss)));
  fields.push_back(Range(
      Bound("spec.goal.maxDurationSeconds", "Longest training time, in seconds.", LENS(spec.goal.max_duration_seconds)),
      1, kSecondsMax));
  fields.push_back(Default(Object("spec.data", "What an epoch is and how it is handed out."), Json::object()));
  fields.push_back(Range(
      Default(Bound("spec.data.items", "Items of an epoch; 0: the worker program says.", LENS(spec.data.items)), 0), 0,
      kCountMax));
  fields.push_back(Range(Default(Bound("spec.data.leaseItems", "Items handed to a worker at a time; 0: chosen.",
                                       LENS(spec.data.lease_items)),
                                 0),
                         0, kCountMax));
  fields.push_back(Default(Object("spec.synchronization", "How workers keep pace with each other."), Json::object()));
  Field mode =
      Default(Bound("spec.synchronization.mode",
                    "Async: no worker waits for another. BSP: all finish a step before one begins the next. "
                    "SSP: none is more than \"staleness\" steps ahead of the slowest. May change during a run.",
                    LENS(spec.synchronization.mode)),
              "Async");
  mode.later = {"PartialExchange", "ModelAveraging"};
  fields.push_back(mode);
  fields.push_back(Range(Bound("spec.synchronization.staleness",
                               "Steps a worker may be ahead of the slowest; with mode SSP, and only then.",
                               LENS(spec.synchronization.staleness)),
                         1, kStalenessMax));
}

void AddCheckpoint(std::vector<Field>& fields) {
  fields.push_back(
      Default(Object("spec.checkpoint",
                     "What a job goes on from after a loss, or is resumed from. `attune checkpoint JOB`, or a "
                     "new value of the annotation attune.dev/checkpoint-request, asks for one at any time."),
              Json::object()));
  fields.push_back(AbsolutePath(Bound(
      "spec.checkpoint.directory",
      "Where checkpoints are written: a directory that all servers share, mounted by spec.servers.template; absent: "
      "\"checkpoints\" beside the model.",
      LENS(spec.checkpoint.directory))));
  fields.push_back(
      Range(Default(Bound("spec.checkpoint.intervalSeconds", "Seconds between checkpoints; 0: only when asked for.",
                          LENS(spec.checkpoint.interval_seconds)),
                    0),
            0, kSecondsMax));
  fields.push_back(
      Range(Default(Bound("spec.checkpoint.keep", "Newest checkpoints that are kept; older ones are removed.",
                          LENS(spec.checkpoint.keep)),
                    3),
            1, 1000));
  fields.push_back(AbsolutePath(Bound("spec.checkpoint.resumeFrom",
                                      "Directory of a checkpoint to begin with, written by any number of servers.",
                                      LENS(spec.checkpoint.resume_from))));
}

void AddModelAndRunPolicy(std::vector<Field>& fields) {
  fields.push_back(Default(Object("spec.model", "Where the trained model is kept."), Json::object()));
  Field claim = Bound("spec.model.claim", "PersistentVolumeClaim shared by all pods; absent: the platform's default.",
                      LENS(spec.model.claim));
  claim.pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
  claim.pattern_words = "the name of a PersistentVolumeClaim: lower-case letters, digits, '-' and '.'";
  claim.fits = IsDnsName;
  claim.length_max = 253;
  claim.omit_empty = true;
  fields.push_back(claim);
  AddCheckpoint(fields);
  fields.push_back(
      Default(Object("spec.runPolicy", "What happens on failure, on leaving and at the end."), Json::object()));
  fields.push_back(
      Range(Default(Bound("spec.runPolicy.backoffLimit",
                          "Restarts of failed workers, all together; and as many of failed servers, of jobs "
                          "that survive losing one (backups or a checkpoint).",
                          LENS(spec.run_policy.backoff_limit)),
                    3),
            0, 1'000'000));
  fields.push_back(Range(Bound("spec.runPolicy.ttlSecondsAfterFinished",
                               "Seconds after its end at which the job is deleted; absent: kept.",
                               LENS(spec.run_policy.ttl_seconds_after_finished)),
                         0, kSecondsMax));
  fields.push_back(
      Range(Default(Bound("spec.runPolicy.drainSeconds", "How long a leaving worker may finish what it has in hand.",
                          LENS(spec.run_policy.drain_seconds)),
                    60),
            0, 86400));
  fields.push_back(Default(
      Bound("spec.runPolicy.cleanPods", "Pods removed when the job has ended.", LENS(spec.run_policy.clean_pods)),
      "Running"));
}

void AddSpec(std::vector<Field>& fields) {
  fields.push_back(Required(Object("spec", "What is wanted.")));
  AddGoalAndData(fields);
  fields.push_back(Default(Object("spec.servers", "The processes that hold the parameters."), Json::object()));
  AddRole(fields, "spec.servers", "server", LENS(spec.servers));
  fields.push_back(Range(Default(Bound("spec.servers.backups",
                                       "1: a second server keeps a copy of every row, so that losing one server loses "
                                       "nothing. Fixed when the job is created.",
                                       LENS(spec.backups)),
                                 0),
                         0, 1));
  fields.push_back(Required(Object("spec.workers", "The processes that train.")));
  AddRole(fields, "spec.workers", "worker", LENS(spec.workers));
  fields.back().required = true;  // servers have a built-in template, workers do not
  AddModelAndRunPolicy(fields);
}

// --- status

Progress& ProgressOf(TrainingJob& job) {
  return job.status.progress ? *job.status.progress : job.status.progress.emplace();
}
const Progress& ProgressOf(const TrainingJob& job) {
  static const Progress kNone;
  return job.status.progress ? *job.status.progress : kNone;
}
JobResult& ResultOf(TrainingJob& job) { return job.status.result ? *job.status.result : job.status.result.emplace(); }
const JobResult& ResultOf(const TrainingJob& job) {
  static const JobResult kNone;
  return job.status.result ? *job.status.result : kNone;
}
#define PROGRESS_LENS(member) \
  [](auto& job) -> auto& { return ProgressOf(job).member; }
#define RESULT_LENS(member) \
  [](auto& job) -> auto& { return ResultOf(job).member; }

template <class RoleLens>
void AddRoleStatus(std::vector<Field>& fields, const std::string& path, RoleLens role) {
  fields.push_back(Object(path, "Counts of pods."));
  fields.push_back(Bound(
      path + ".replicas",
      "Pods that exist and are not on their way out.", [role](auto& job) -> auto& { return role(job).replicas; }));
  fields.push_back(Bound(
      path + ".ready", "Pods that are ready.", [role](auto& job) -> auto& { return role(job).ready; }));
  fields.push_back(Bound(
      path + ".failed", "Failures so far.", [role](auto& job) -> auto& { return role(job).failed; }));
}

void AddProgress(std::vector<Field>& fields) {
  Field progress = Object("status.progress", "Slow-changing summary of telemetry.");
  progress.present = [](const TrainingJob& job) { return job.status.progress.has_value(); };
  fields.push_back(progress);
  fields.push_back(Bound("status.progress.fraction", "Of the goal, 0 to 1.", PROGRESS_LENS(fraction)));
  fields.push_back(Bound("status.progress.epoch", "Current epoch, from 0.", PROGRESS_LENS(epoch)));
  fields.push_back(Bound("status.progress.epochs", "Goal; 0 when it is not in epochs.", PROGRESS_LENS(epochs)));
  fields.push_back(Bound("status.progress.itemsDone", "Over all epochs.", PROGRESS_LENS(items_done)));
  fields.push_back(Bound("status.progress.itemsTotal", "Over all epochs; 0 when unknown.", PROGRESS_LENS(items_total)));
  fields.push_back(
      Bound("status.progress.reprocessedItems", "Items done more than once.", PROGRESS_LENS(reprocessed_items)));
  fields.push_back(Bound("status.progress.loss", "Mean training loss of late.", PROGRESS_LENS(loss)));
  fields.push_back(Bound("status.progress.rate", "Samples per second of all workers.", PROGRESS_LENS(rate)));
  fields.push_back(
      OmitEmpty(Bound("status.progress.sampleUnit", "What is counted, e.g. words.", PROGRESS_LENS(sample_unit))));
  fields.push_back(
      Bound("status.progress.remainingSeconds", "Estimated time to the goal.", PROGRESS_LENS(remaining_seconds)));
  fields.push_back(OmitEmpty(Bound("status.progress.slowestWorker", "The worker that the others wait for (BSP, SSP).",
                                   PROGRESS_LENS(slowest_worker))));
  fields.push_back(Bound("status.progress.movingBytesLeft", "Rows on their way to other servers, in bytes.",
                         PROGRESS_LENS(moving_bytes_left)));
  fields.push_back(Bound("status.progress.movingRowsPerSecond", "Rows that changed their server, of late.",
                         PROGRESS_LENS(moving_rows_per_second)));
}

// An optional part of the status: made when first written to, a constant one when only read.
template <class Part>
auto PartLens(std::optional<Part> TrainingJobStatus::*part) {
  return [part](auto& job) -> auto& {
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(job)>>) {
      static const Part kNone;
      return job.status.*part ? *(job.status.*part) : kNone;
    } else {
      return job.status.*part ? *(job.status.*part) : (job.status.*part).emplace();
    }
  };
}

template <class Part>
Field PartObject(std::string path, std::string description, std::optional<Part> TrainingJobStatus::*part) {
  Field field = Object(std::move(path), std::move(description));
  field.present = [part](const TrainingJob& job) { return (job.status.*part).has_value(); };
  return field;
}

template <class Part, class Member>
Field PartMember(std::string path, std::string description, std::optional<Part> TrainingJobStatus::*part,
                 Member Part::*member) {
  return Bound(
      std::move(path), std::move(description),
      [ of = PartLens(part), member ](auto& job) -> auto& { return of(job).*member; });
}

void AddAbilities(std::vector<Field>& fields) {
  constexpr auto kPart = &TrainingJobStatus::abilities;
  fields.push_back(PartObject("status.abilities", "What the servers of this job can do, as they said.", kPart));
  const auto add = [&](const char* name, const char* description, bool Abilities::*member) {
    fields.push_back(PartMember(std::string("status.abilities.") + name, description, kPart, member));
  };
  add("elasticServers", "Servers may join and leave while it runs.", &Abilities::elastic_servers);
  add("serverRecovery", "Rows of a lost server come back.", &Abilities::server_recovery);
  add("coordinatorFailover", "Another server can take over as coordinator.", &Abilities::coordinator_failover);
  add("synchronizationModes", "The mode can be switched while it runs.", &Abilities::synchronization_modes);
  add("checkpoints", "Checkpoints can be written while it runs.", &Abilities::checkpoints);
}

void AddDataPlane(std::vector<Field>& fields) {
  constexpr auto kSynchronization = &TrainingJobStatus::synchronization;
  fields.push_back(PartObject("status.synchronization", "How workers keep pace now.", kSynchronization));
  fields.push_back(
      PartMember("status.synchronization.mode", "Async, BSP or SSP.", kSynchronization, &Synchronization::mode));
  fields.push_back(
      PartMember("status.synchronization.staleness", "Of SSP.", kSynchronization, &Synchronization::staleness));
  AddAbilities(fields);
  constexpr auto kCheckpoint = &TrainingJobStatus::checkpoint;
  const auto checkpoint = [&](const char* name, const char* description, auto member) {
    return PartMember(std::string("status.checkpoint.") + name, description, kCheckpoint, member);
  };
  fields.push_back(
      PartObject("status.checkpoint", "The newest checkpoint, and what became of the last request.", kCheckpoint));
  fields.push_back(OmitEmpty(checkpoint("directory", "Where it lies.", &CheckpointStatus::directory)));
  fields.push_back(checkpoint("number", "Its number in this directory.", &CheckpointStatus::number));
  fields.push_back(checkpoint("step", "It holds all pushes of the steps before this one.", &CheckpointStatus::step));
  fields.push_back(OmitEmpty(checkpoint("time", "When it was complete, RFC 3339.", &CheckpointStatus::time)));
  fields.push_back(checkpoint("bytes", "Its size.", &CheckpointStatus::bytes));
  fields.push_back(checkpoint("rows", "Rows it holds.", &CheckpointStatus::rows));
  fields.push_back(OmitEmpty(checkpoint("request", "The last request that was answered.", &CheckpointStatus::request)));
  fields.push_back(OmitEmpty(checkpoint("message", "Why the last attempt failed.", &CheckpointStatus::message)));
  constexpr auto kRecovery = &TrainingJobStatus::recovery;
  fields.push_back(PartObject("status.recovery", "What losses of servers have cost.", kRecovery));
  fields.push_back(PartMember("status.recovery.count", "Recoveries so far.", kRecovery, &RecoveryStatus::count));
  fields.push_back(PartMember("status.recovery.restoredRows",
                              "Rows that went back to a checkpoint or to their first value.", kRecovery,
                              &RecoveryStatus::restored_rows));
  const auto recovery = [&](const char* name, const char* description, auto member) {
    fields.push_back(PartMember(std::string("status.recovery.") + name, description, kRecovery, member));
  };
  recovery("restoredShards", "Shards they lie in.", &RecoveryStatus::restored_shards);
  recovery("checkpoint", "Number of the checkpoint the last loss took; 0: there was none.",
           &RecoveryStatus::checkpoint);
  recovery("step", "Where that was cut.", &RecoveryStatus::step);
  recovery("stepsLost", "Steps of all workers since then, as far as those rows go.", &RecoveryStatus::steps_lost);
}

void AddResult(std::vector<Field>& fields) {
  Field result = Object("status.result", "What the job reported at its end.");
  result.present = [](const TrainingJob& job) { return job.status.result.has_value(); };
  fields.push_back(result);
  fields.push_back(Bound("status.result.metrics", "Final figures, e.g. held_out_loss.", RESULT_LENS(metrics)));
  fields.push_back(OmitEmpty(Bound("status.result.summary", "Text for people.", RESULT_LENS(summary))));
  fields.push_back(OmitEmpty(Bound("status.result.modelPath", "Where the model lies.", RESULT_LENS(model_path))));
}

template <class Part>
void AddDisplay(std::vector<Field>& fields, const std::string& name, const std::string& description, Part part) {
  Field field = Object("status.display." + name, description);
  field.type = FieldType::kString;
  field.get = [part](const TrainingJob& job) -> Json { return MakeDisplay(job.status).*part; };
  field.set = [](TrainingJob&, const Json&) {};  // derived, never read back
  field.omit_empty = true;
  fields.push_back(field);
}

void AddStatus(std::vector<Field>& fields) {
  fields.push_back(Object("status", "What is."));
  fields.push_back(Bound("status.observedGeneration", "Generation of the spec this status is about.",
                         LENS(status.observed_generation)));
  fields.push_back(Bound("status.conditions", "Ready, Succeeded, Failed and others.", LENS(status.conditions)));
  fields.push_back(OmitEmpty(Bound("status.phase", "For display, derived from the conditions.", LENS(status.phase))));
  fields.push_back(OmitEmpty(Bound("status.startTime", "RFC 3339.", LENS(status.start_time))));
  fields.push_back(OmitEmpty(Bound("status.completionTime", "RFC 3339.", LENS(status.completion_time))));
  AddRoleStatus(fields, "status.servers", LENS(status.servers));
  AddRoleStatus(fields, "status.workers", LENS(status.workers));
  fields.push_back(OmitEmpty(
      Bound("status.workerSelector", "Label selector of the workers, for /scale.", LENS(status.worker_selector))));
  AddProgress(fields);
  AddResult(fields);
  fields.push_back(OmitEmpty(Bound("status.coordinator", "Pod that runs the coordinator.", LENS(status.coordinator))));
  fields.push_back(Bound("status.coordinatorTerm", "Rises when another server is appointed; 0: the first.",
                         LENS(status.coordinator_term)));
  AddDataPlane(fields);
  fields.push_back(Object("status.display", "Strings for table columns, derived from the rest."));
  AddDisplay(fields, "servers", "Ready and existing servers.", &Display::servers);
  AddDisplay(fields, "workers", "Ready and existing workers.", &Display::workers);
  AddDisplay(fields, "progress", "Share of the goal.", &Display::progress);
  AddDisplay(fields, "loss", "Training loss of late.", &Display::loss);
  AddDisplay(fields, "rate", "Samples per second of all workers.", &Display::rate);
  AddDisplay(fields, "remaining", "Estimated time to the goal.", &Display::remaining);
}

// --- rules between fields

void AddRoleRules(std::vector<FieldRule>& rules, const std::string& path, Role TrainingJobSpec::*member) {
  rules.push_back({path,
                   "self.min <= self.max",
                   path + ": min is above max; raise max or lower min",
                   ".min",
                   {"min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Role& role = job.spec.*member;
                     if (role.min <= role.max) return;
                     problems.push_back({path + ".min", std::to_string(role.min),
                                         "at most " + path + ".max (" + std::to_string(role.max) + ")"});
                   }});
  rules.push_back({path,
                   "self.replicas >= self.min && self.replicas <= self.max",
                   path + ": replicas lies outside min and max; change replicas, or widen min and max",
                   ".replicas",
                   {"replicas", "min", "max"},
                   [=](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Role& role = job.spec.*member;
                     if (role.min > role.max || (role.min <= role.replicas && role.replicas <= role.max)) return;
                     problems.push_back({path + ".replicas", std::to_string(role.replicas),
                                         "from " + path + ".min (" + std::to_string(role.min) + ") to " + path +
                                             ".max (" + std::to_string(role.max) + ")"});
                   }});
}

void AddSynchronizationRules(std::vector<FieldRule>& rules) {
  rules.push_back(
      {"spec.synchronization",
       "self.mode != 'SSP' || has(self.staleness)",
       "spec.synchronization: mode SSP needs staleness, the steps a worker may be ahead of the slowest; add "
       "it, for example staleness: 4",
       ".staleness",
       {"mode", "staleness"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const Synchronization& own = job.spec.synchronization;
         if (own.mode != SyncMode::kSsp || own.staleness) return;
         problems.push_back({"spec.synchronization.staleness", "nothing",
                             "with mode SSP a whole number from 1 to " + std::to_string(kStalenessMax) +
                                 ": the steps a worker may be ahead of the slowest"});
       }});
  rules.push_back({"spec.synchronization",
                   "self.mode == 'SSP' || !has(self.staleness)",
                   "spec.synchronization: staleness belongs to mode SSP only; remove it, or set mode to SSP",
                   ".staleness",
                   {"mode", "staleness"},
                   [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     const Synchronization& own = job.spec.synchronization;
                     if (own.mode == SyncMode::kSsp || !own.staleness) return;
                     problems.push_back(
                         {"spec.synchronization.staleness", std::to_string(*own.staleness),
                          "nothing with mode " + ToString(Synchronization{own.mode, {}}) + "; it belongs to mode SSP"});
                   }});
}

std::vector<FieldRule> MakeRules() {
  std::vector<FieldRule> rules;
  rules.push_back(
      {"spec.goal",
       "has(self.epochs) || has(self.steps) || has(self.targetLoss) || has(self.maxDurationSeconds)",
       "spec.goal is empty; state at least one of epochs, steps, targetLoss, maxDurationSeconds",
       "",
       {"epochs", "steps", "targetLoss", "maxDurationSeconds"},
       [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
         const Goal& goal = job.spec.goal;
         if (goal.epochs || goal.steps || goal.target_loss || goal.max_duration_seconds) return;
         problems.push_back({"spec.goal", "no goal", "at least one of epochs, steps, targetLoss, maxDurationSeconds"});
       }});
  AddRoleRules(rules, "spec.servers", &TrainingJobSpec::servers);
  AddRoleRules(rules, "spec.workers", &TrainingJobSpec::workers);
  AddSynchronizationRules(rules);
  rules.push_back({"spec.servers",
                   "self.backups == 0 || self.replicas >= 2",
                   "spec.servers: a backup lives on another server than its row, so backups: 1 needs at least 2 "
                   "servers; raise replicas to 2, or set backups to 0",
                   ".backups",
                   {"backups", "replicas", "min", "max"},
                   [](const TrainingJob& job, std::vector<FieldProblem>& problems) {
                     if (job.spec.backups == 0 || job.spec.servers.replicas >= 2) return;
                     problems.push_back({"spec.servers.backups", std::to_string(job.spec.backups),
                                         "0 with one server; 1 needs spec.servers.replicas of at least 2, because a "
                                         "backup lives on another server than its row"});
                   }});
  rules.push_back({"spec.servers",
                   "self.backups == oldSelf.backups",
                   "spec.servers.backups cannot change while the job exists; delete the job and apply it again",
                   ".backups",
                   {},
                   nullptr});
  return rules;
}

}  // namespace

const std::vector<Field>& Fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields;
    AddSpec(fields);
    AddStatus(fields);
    return fields;
  }();
  return kFields;
}

const std::vector<FieldRule>& Rules() {
  static const std::vector<FieldRule> kRules = MakeRules();
  return kRules;
}

const Field* FindField(std::string_view path) {
  for (const Field& field : Fields()) {
    if (field.path == path) return &field;
  }
  return nullptr;
}

std::vector<const Field*> ChildrenOf(std::string_view path) {
  std::vector<const Field*> children;
  for (const Field& field : Fields()) {
    if (field.path.size() > path.size() && field.parent() == path) children.push_back(&field);
  }
  return children;
}

std::string AllowedText(const Field& field) {
  std::string text;
  switch (field.type) {
    case FieldType::kObject: {
      text = "a mapping with";
      const char* separator = " ";
      for (const Field* child : ChildrenOf(field.path)) {
        text += separator + std::string(child->name());
        separator = ", ";
      }
      return text;
    }
    case FieldType::kString:
      return field.pattern_words.empty() ? "a string" : field.pattern_words;
    case FieldType::kInteger:
      text = "a whole number";
      if (field.minimum) text += " from " + std::to_string(*field.minimum);
      if (field.maximum) text += " to " + std::to_string(*field.maximum);
      return text;
    case FieldType::kNumber:
      return "a number";
    case FieldType::kBoolean:
      return "true or false";
    case FieldType::kChoice:
      for (const std::string& choice : field.choices) text += (text.empty() ? "" : ", ") + choice;
      return text;
    case FieldType::kPodTemplate:
      return "a pod template: a mapping with metadata and spec";
    case FieldType::kMetrics:
      return "a mapping of names to numbers";
    case FieldType::kConditions:
      return "a list of conditions";
  }
  return text;
}

}  // namespace attune::api
