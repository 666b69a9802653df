// What plans depend on besides the observation: how this installation makes pods, and the delays of the policies.
#pragma once

#include <string>
#include <vector>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::controller {

struct PlanOptions {
  std::string server_image = "attune/server:dev";
  std::string sidecar_image = "attune/sidecar:dev";
  std::string image_pull_policy = "IfNotPresent";
  std::vector<std::string> image_pull_secrets;  // of every pod, beside those of its template
  std::string default_model_claim;              // "": an emptyDir per pod
  std::string telemetry_address;                // host:port given to sidecars
  std::string tuner_history;  // file of what the tuner learned of finished jobs; "": a ConfigMap of each namespace
  bool job_policies = false;  // a NetworkPolicy per job (job_policy.h)
  // How often a job's NetworkPolicy is created, should it be gone: one that was deleted comes back within this time.
  Duration policy_renewal = std::chrono::minutes(10);
  kube::Json policy_metrics_from = kube::Json::array();  // peers who may read the metrics of jobs; empty: all
  std::string telemetry_authority;  // PEM that they check its certificate with; "": telemetry is not encrypted

  Duration status_interval = std::chrono::seconds(20);  // least time between status writes that only move numbers
  // The same between writes that only count pods while they come: each start of a job would be as many writes as pods.
  Duration counts_interval = Duration::zero();
  Duration restart_backoff_first =
      std::chrono::seconds(1);  // before the first restart of a failed worker, then doubling
  Duration restart_backoff_max = std::chrono::minutes(2);
  // A draining worker whose sidecar is away this long is asked by SIGTERM instead: after a restart of the operator,
  // sidecars need a moment to come back.
  Duration drain_connect_grace = std::chrono::seconds(5);
  // How long a directive may stay without an answer before it is sent again: above the two minutes a coordinator takes.
  Duration answer_timeout = std::chrono::seconds(150);
  Duration refused_retry = std::chrono::seconds(30);  // how soon what was refused is asked for again
  // An order to run the coordinator sooner, since the job stands: twice as long after each refusal, at most that long.
  Duration appointment_retry = std::chrono::seconds(2);
  // How long the end of a server is reported to the coordinator before its successor is made regardless.
  Duration gone_timeout = std::chrono::seconds(10);
  // How long workers may run on after the servers have ended by themselves, the goal being reached: one that has
  // trained may be writing its result.
  Duration servers_ended_grace = std::chrono::seconds(60);
  // The same when none of those left was ever seen to train: they came too late and have nothing to write. Long enough
  // for sidecars to come back after a restart of the operator and say otherwise.
  Duration late_workers_grace = std::chrono::seconds(5);
  // What is said so long after an end is newer than it: clocks of two machines may differ.
  Duration word_is_newer = std::chrono::seconds(5);
  // A pod still there this long after its grace period ended may sit on a machine no process hears from.
  Duration lost_node_grace = std::chrono::seconds(5);
  // A process that has reported nothing for so long is silent; it reports every second.
  Duration lost_silence = std::chrono::seconds(8);
  // The same for one that this operator has never heard, counted from when it began to listen.
  Duration never_heard_silence = std::chrono::seconds(30);

  // The process of the coordinator is silent after this time; the servers' own lease of it is a little longer, so that
  // the next one need not wait for long.
  Duration coordinator_silence = std::chrono::milliseconds(3500);
  // The same for one that this operator has never heard, counted from when it began to listen: sidecars need a moment
  // to come back.
  Duration coordinator_never_heard = std::chrono::seconds(5);
  // The same without backups: a machine that comes back brings its rows back, which are nowhere else.
  Duration coordinator_silence_without_backups = std::chrono::seconds(10);
  // Workers are made when the coordinator has said that all servers have joined, or when it was not heard for so long.
  Duration begin_unheard_after = std::chrono::seconds(10);
  // A worker that says it has had no message from the coordinator for so long, while this operator hears both, waits
  // for one that it does not know of.
  Duration astray_after = std::chrono::seconds(60);
  // No step has ended for so long, or a process that has joined has reported nothing for so long: it is said (a step of
  // a few times the usual length is waited for, however long that is).
  Duration standstill_after = std::chrono::seconds(6);
  // A worker that moves stays where it is when another one has not begun to train by then: its image, the machine's
  // room and the data plane's answer are waited for.
  Duration worker_move_timeout = std::chrono::minutes(5);
  // The same for a server, whose rows move away first and back again.
  Duration server_move_timeout = std::chrono::minutes(30);
  // Reports older than this are no metrics any more.
  Duration metrics_stale_after = std::chrono::seconds(20);
  // A process that has reported within this time is heard.
  Duration heard_within = std::chrono::milliseconds(2500);
  // A coordinator that was appointed has that long to gather half of the servers.
  Duration takeover_timeout = std::chrono::seconds(15);
  // An order to the coordinator that is carried out at once is given again when it is not answered within this time.
  Duration prompt_timeout = std::chrono::seconds(5);
};

}  // namespace attune::controller
