// The table of fields: what is wanted.
#include "operator/api/field_binding.h"
#include "operator/tuner/space/knob.h"
#include "proto/metric_name.h"

namespace attune::api {
namespace {

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

// The name of another object of the namespace.
Field ObjectName(Field field, const std::string& kind) {
  field.pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$";
  field.pattern_words = "the name of a " + kind + ": lower-case letters, digits, '-' and '.'";
  field.fits = IsDnsName;
  field.length_max = 253;
  field.omit_empty = true;
  return field;
}

template <class TargetLens>
void AddResource(std::vector<Field>& fields, const std::string& path, const std::string& what, Unit unit,
                 TargetLens target) {
  Field object = Object(path, what + " of one pod's container.");
  object.present = [target](const TrainingJob& job) { return target(job).any(); };
  fields.push_back(object);
  fields.push_back(BoundQuantity(
      path + ".min", "Least that it may be given.", unit, [target](auto& job) -> auto& { return target(job).min; }));
  fields.push_back(BoundQuantity(
      path + ".max",
      unit == Unit::kBytes ? "Most that it may be given; up to here a container that ran out of memory gets more."
                           : "Most that it may be given.",
      unit, [target](auto& job) -> auto& { return target(job).max; }));
  fields.push_back(BoundQuantity(
      path + ".target",
      "What it is to have now. Absent: as the template says, and where that says nothing and there is a max, one core "
      "or "
      "1 GiB within the range. May change during a run: pods are resized in place.",
      unit, [target](auto& job) -> auto& { return target(job).target; }));
}

template <class ResourcesLens>
void AddResources(std::vector<Field>& fields, const std::string& path, ResourcesLens resources) {
  Field object = Object(path, "Limits of one pod, and what it is to have now; docs/steering.md.");
  object.present = [resources](const TrainingJob& job) { return resources(job).any(); };
  fields.push_back(object);
  AddResource(
      fields, path + ".cpu", "Processor cores",
      Unit::kMillicores, [resources](auto& job) -> auto& { return resources(job).cpu; });
  AddResource(
      fields, path + ".memory", "Memory",
      Unit::kBytes, [resources](auto& job) -> auto& { return resources(job).memory; });
}

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
  AddResources(
      fields, path + ".resources", [role](auto& job) -> auto& { return role(job).resources; });
  fields.push_back(Bound(
      path + ".template", "Pod template, as in a Deployment. The container named \"" + noun + "\" is the " + noun + ".",
      [role](auto& job) -> auto& { return role(job).pod_template; }));
}

Field MetricName(Field field) {
  field.pattern = contract::kMetricNamePattern;
  field.pattern_words = std::string("the name of a metric: ") + contract::kMetricNameWords;
  field.fits = contract::IsMetricName;
  field.length_max = static_cast<int32_t>(contract::kMetricNameBytesMax);
  return Required(std::move(field));
}

void AddMetricGoals(std::vector<Field>& fields) {
  Field target = Object("spec.goal.targetMetric",
                        "A metric that the worker program reports (Session::ReportMetric) reaches a value.");
  target.present = [](const TrainingJob& job) { return !job.spec.goal.target_metric.name.empty(); };
  fields.push_back(target);
  fields.push_back(MetricName(Bound("spec.goal.targetMetric.name", "Which one.", LENS(spec.goal.target_metric.name))));
  fields.push_back(
      Required(Bound("spec.goal.targetMetric.value", "At it or beyond.", LENS(spec.goal.target_metric.value))));
  fields.push_back(
      Default(Bound("spec.goal.targetMetric.direction", "Minimize: lower values are better. Maximize: higher ones are.",
                    LENS(spec.goal.target_metric.direction)),
              "Minimize"));
  Field stopping = Object("spec.goal.earlyStopping", "A metric that the worker program reports has stopped improving.");
  stopping.present = [](const TrainingJob& job) { return !job.spec.goal.early_stopping.metric.empty(); };
  fields.push_back(stopping);
  fields.push_back(
      MetricName(Bound("spec.goal.earlyStopping.metric", "Which one.", LENS(spec.goal.early_stopping.metric))));
  fields.push_back(Required(Range(Bound("spec.goal.earlyStopping.patience", "For so many reports of it in a row.",
                                        LENS(spec.goal.early_stopping.patience)),
                                  1, 1'000'000)));
  fields.push_back(Default(Bound("spec.goal.earlyStopping.minDelta", "What improves by no more than this does not.",
                                 LENS(spec.goal.early_stopping.min_delta)),
                           0));
  fields.push_back(Default(
      Bound("spec.goal.earlyStopping.direction", "Minimize: lower values are better. Maximize: higher ones are.",
            LENS(spec.goal.early_stopping.direction)),
      "Minimize"));
  Field every = Object("spec.goal.evaluateEvery",
                       "How often the worker program is asked to evaluate the model on the way (a data set "
                       "`when_due`), by whichever comes first; absent: never. No goal by itself.");
  every.present = [](const TrainingJob& job) {
    return job.spec.goal.evaluate_every.epochs || job.spec.goal.evaluate_every.steps;
  };
  fields.push_back(every);
  fields.push_back(Range(Bound("spec.goal.evaluateEvery.epochs", "After so many passes over the data.",
                               LENS(spec.goal.evaluate_every.epochs)),
                         1, kCountMax));
  fields.push_back(Range(Bound("spec.goal.evaluateEvery.steps", "After so many steps of all workers together.",
                               LENS(spec.goal.evaluate_every.steps)),
                         1, kCountMax));
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
  AddMetricGoals(fields);
  fields.push_back(Default(Object("spec.data", "What an epoch is and how it is handed out."), Json::object()));
  fields.push_back(Range(
      Default(Bound("spec.data.items", "Items of an epoch; 0: the worker program says.", LENS(spec.data.items)), 0), 0,
      kCountMax));
  fields.push_back(Range(
      Default(Bound("spec.data.leaseItems", "Items handed to a worker at a time; 0: chosen by how long they take.",
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
                         1, kSlackMax));
  fields.push_back(
      Default(Bound("spec.rowManagement",
                    "What workers make of the rows that their program announces (Table::Intend). Adaptive: they are "
                    "fetched ahead and copied while that makes the job faster, which is measured; Static: nothing; "
                    "Always: they are fetched ahead and copied. May change during a run.",
                    LENS(spec.row_management)),
              "Adaptive"));
}

void AddCheckpoint(std::vector<Field>& fields) {
  fields.push_back(
      Default(Object("spec.checkpoint",
                     "What a job continues from after a loss, or is resumed from. `attune checkpoint JOB`, or a "
                     "new value of the annotation attune.dev/checkpoint-request, asks for one at any time."),
              Json::object()));
  fields.push_back(AbsolutePath(Bound(
      "spec.checkpoint.directory",
      "Where checkpoints are written: a directory that all servers share, mounted by spec.servers.template; absent: "
      "\"checkpoints\" beside the model.",
      LENS(spec.checkpoint.directory))));
  fields.push_back(Range(
      Bound("spec.checkpoint.intervalSeconds",
            "Seconds between checkpoints; 0: only when asked for. Absent: of a job without backups whose "
            "checkpoints outlast its pods (directory, a claim for the model, or a local run), the first one after "
            "10 minutes, and then so that writing takes a fiftieth of the time at most, at least 5 minutes and at "
            "most an hour apart (status.checkpoint.intervalSeconds); of other jobs only when asked for.",
            LENS(spec.checkpoint.interval_seconds)),
      0, kSecondsMax));
  fields.push_back(
      Range(Default(Bound("spec.checkpoint.keep", "Newest checkpoints that are kept; older ones are removed.",
                          LENS(spec.checkpoint.keep)),
                    3),
            1, 1000));
  fields.push_back(AbsolutePath(Bound("spec.checkpoint.resumeFrom",
                                      "Directory of a checkpoint to begin with, written by any number of servers.",
                                      LENS(spec.checkpoint.resume_from))));
  fields.push_back(Default(Bound("spec.checkpoint.resumeAt",
                                 "Which one of those in resumeFrom: Newest, or Best, the one that a job with "
                                 "checkpoint.best has marked.",
                                 LENS(spec.checkpoint.resume_at)),
                           "Newest"));
  Field best = Object("spec.checkpoint.best",
                      "Write a checkpoint when a metric that the worker program reports (Session::ReportMetric) is "
                      "better than ever before, and keep the best one beside the newest; docs/metrics.md.");
  best.present = [](const TrainingJob& job) { return !job.spec.checkpoint.best.metric.empty(); };
  fields.push_back(best);
  fields.push_back(MetricName(Bound("spec.checkpoint.best.metric", "Which one.", LENS(spec.checkpoint.best.metric))));
  fields.push_back(
      Default(Bound("spec.checkpoint.best.direction", "Minimize: lower values are better. Maximize: higher ones are.",
                    LENS(spec.checkpoint.best.direction)),
              "Minimize"));
}

void AddSecurity(std::vector<Field>& fields) {
  fields.push_back(
      Default(Object("spec.security",
                     "How the processes of the job trust each other; docs/security.md. Fixed when the job is created."),
              Json::object()));
  fields.push_back(ObjectName(
      Bound("spec.security.tlsSecret",
            "Secret with tls.crt, tls.key and ca.crt: rows and control messages travel in mutual TLS. The certificate "
            "carries the job's uid as a DNS name; pods wait until the Secret is there.",
            LENS(spec.security.tls_secret)),
      "Secret"));
  fields.push_back(
      ObjectName(Bound("spec.security.tokenSecret",
                       "Secret whose key \"token\" every process of the job must know, never sent. Without it the "
                       "operator makes one for the job.",
                       LENS(spec.security.token_secret)),
                 "Secret"));
  fields.push_back(Default(
      Bound("spec.security.transport",
            "Authenticated: processes prove the token when they connect, rows travel in the clear. Encrypted: rows "
            "travel in TLS by certificates that the token gives; costs processor time. tlsSecret encrypts rows too.",
            LENS(spec.security.transport)),
      "Authenticated"));
}

void AddPlacement(std::vector<Field>& fields) {
  constexpr int32_t kTopologyKeyMax = 317;  // a prefix of 253 characters, "/" and a name of 63
  fields.push_back(Default(Object("spec.placement",
                                  "Where pods are to be relative to each other. A preference, never a reason to stay "
                                  "Pending; running pods move one at a time. May change during a run."),
                           Json::object()));
  fields.push_back(Default(Bound("spec.placement.servers",
                                 "Any: where the scheduler puts them; running ones stay. Spread: as few as possible on "
                                 "one machine. Pack: with as many pods of the job as possible. WithWorkers: on "
                                 "machines where workers run.",
                                 LENS(spec.placement.servers)),
                           "Any"));
  fields.push_back(Default(
      Bound("spec.placement.workers", "Any, Spread or Pack, as for servers.", LENS(spec.placement.workers)), "Any"));
  Field key = Default(Bound("spec.placement.topologyKey",
                            "Label of nodes; those with the same value are one place for a pod that is made. Running "
                            "pods move between machines, whatever it says.",
                            LENS(spec.placement.topology_key)),
                      kHostnameTopology);
  key.pattern = kLabelKeyPattern;
  key.pattern_words = "a label of nodes, such as kubernetes.io/hostname or topology.kubernetes.io/zone";
  key.fits = IsLabelKey;
  key.length_max = kTopologyKeyMax;
  fields.push_back(key);
}

void AddModelAndRunPolicy(std::vector<Field>& fields) {
  fields.push_back(Default(Object("spec.model", "Where the trained model is kept."), Json::object()));
  Field claim =
      ObjectName(Bound("spec.model.claim", "PersistentVolumeClaim shared by all pods; absent: the platform's default.",
                       LENS(spec.model.claim)),
                 "PersistentVolumeClaim");
  fields.push_back(claim);
  AddCheckpoint(fields);
  fields.push_back(Default(Object("spec.startPolicy", "How the job begins."), Json::object()));
  fields.push_back(
      Range(Bound("spec.startPolicy.gangTimeoutSeconds",
                  "All pods or none: where they have not all found a machine after so long, those that have "
                  "give theirs back, and the job begins again after a pause. Absent: each pod starts when "
                  "it can.",
                  LENS(spec.start_policy.gang_timeout_seconds)),
            5, kSecondsMax));
  fields.push_back(
      Default(Object("spec.runPolicy", "What happens on failure, on leaving and at the end."), Json::object()));
  fields.push_back(
      Range(Default(Bound("spec.runPolicy.backoffLimit",
                          "Restarts of failed workers, all together; and as many of failed servers, of jobs "
                          "that survive losing one (backups or a checkpoint).",
                          LENS(spec.run_policy.backoff_limit)),
                    3),
            0, 1'000'000));
  fields.push_back(
      Default(Bound("spec.runPolicy.successPolicy",
                    "When the job has succeeded. ClosingWorkDone: its goal is reached, and what the program "
                    "does then (a last evaluation, saving the model) has ended well. GoalReached: at once; "
                    "its processes are asked to end.",
                    LENS(spec.run_policy.success_policy)),
              "ClosingWorkDone"));
  Field policy = Object("spec.runPolicy.podFailurePolicy",
                        "Which ends of pods are failures, as in Kubernetes' Jobs. Without a rule that matches: what "
                        "the platform ended (evictions, preemptions, lost machines) is Ignored, all else Restarted.");
  policy.present = [](const TrainingJob& job) { return !job.spec.run_policy.failure_rules.empty(); };
  fields.push_back(policy);
  fields.push_back(Bound("spec.runPolicy.podFailurePolicy.rules", "The first one that matches decides.",
                         LENS(spec.run_policy.failure_rules)));
  fields.push_back(Range(Bound("spec.runPolicy.ttlSecondsAfterFinished",
                               "Seconds after its end at which the job is deleted; absent: kept.",
                               LENS(spec.run_policy.ttl_seconds_after_finished)),
                         0, kSecondsMax));
  fields.push_back(Range(Bound("spec.runPolicy.activeDeadlineSeconds",
                               "Seconds after its start at which a job that has not ended is Failed; they begin again "
                               "when it continues after having been suspended. Absent: never.",
                               LENS(spec.run_policy.active_deadline_seconds)),
                         1, kSecondsMax));
  fields.push_back(
      Range(Default(Bound("spec.runPolicy.drainSeconds", "How long a leaving worker may finish what it has in hand.",
                          LENS(spec.run_policy.drain_seconds)),
                    60),
            0, 86400));
  fields.push_back(Range(Default(Bound("spec.runPolicy.progressDeadlineSeconds",
                                       "A process that the job has waited for this long, without any step ending, is "
                                       "restarted, at most backoffLimit times in a row without steps between that end "
                                       "for as long; then the job is Failed. 0: never.",
                                       LENS(spec.run_policy.progress_deadline_seconds)),
                                 600),
                         0, kSecondsMax));
  fields.push_back(
      Default(Bound("spec.runPolicy.restartToResize",
                    "A new size of pods that no machine has room for, and that all pods together would have if they "
                    "were placed again, is given to them by a restart of the job from a checkpoint.",
                    LENS(spec.run_policy.restart_to_resize)),
              false));
  fields.push_back(Default(
      Bound("spec.runPolicy.cleanPods", "Pods removed when the job has ended.", LENS(spec.run_policy.clean_pods)),
      "Running"));
}

}  // namespace

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
  fields.push_back(Range(Bound("spec.workers.threads",
                               "Threads that each worker computes with, of programs that offer it "
                               "(OfferThreads); absent: as the program begins. May change during a run.",
                               LENS(spec.worker_threads)),
                         tuner::FindKnob("threads")->low, tuner::FindKnob("threads")->high));
  fields.push_back(Default(
      Bound("spec.suspend",
            "The job writes a checkpoint, gives its pods back, and continues from there in new ones when this is "
            "false again. One that has not begun makes none. May change during a run; docs/checkpoints.md.",
            LENS(spec.suspend)),
      false));
  Field managed_by =
      OmitEmpty(Bound("spec.managedBy",
                      "Name of the controller that this job is left to, such as kueue.x-k8s.io/multikueue; absent, or "
                      "attune.dev/operator: this one. Fixed when the job is created.",
                      LENS(spec.managed_by)));
  managed_by.pattern = kLabelKeyPattern;
  managed_by.pattern_words = "the name of a controller, such as kueue.x-k8s.io/multikueue";
  managed_by.fits = IsLabelKey;
  managed_by.length_max = 63;
  fields.push_back(managed_by);
  AddPlacement(fields);
  AddModelAndRunPolicy(fields);
  AddSecurity(fields);
  AddTuning(fields);
}

}  // namespace attune::api
