// The NetworkPolicy of one job: who may open connections to its pods. A second line behind the token that every process
// of the job proves; it does something where the cluster's network plugin enforces it.
//
//   pods of the job             reach each other on every port: programs may talk among themselves, too
//   a scraper of metrics         reaches the sidecars' metrics port
//   everyone else               reaches nothing
//
// What the pods connect to is not restricted: data comes from anywhere. Like the job's Secret it is created and never
// read, so the operator needs no other right; its name carries the job's uid, so one that exists already is the one
// that was meant. One that another process deletes is not seen to be gone either, so it is created again from time to
// time.
#pragma once

#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/controller/observe/options.h"
#include "operator/kube/object.h"

namespace attune::controller {

inline const kube::ResourceType kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};

std::string JobPolicyName(const api::TrainingJob& job);
// `metrics_from`: a list of NetworkPolicyPeer; empty: metrics may be read from everywhere.
kube::Json BuildJobPolicy(const api::TrainingJob& job, const kube::Json& metrics_from);
// Nothing waits for it: a job trains where the policy is refused, and its condition says so.
void PlanJobPolicy(const Observed& observed, const PlanOptions& options, Now now, Draft& draft);

// The list of peers in a flag's words. InvalidArgument: it is none.
StatusOr<kube::Json> ParsePolicyPeers(const std::string& text);

}  // namespace attune::controller
