// The token that every process of a job proves to every other: a Secret of the job, made by the operator unless the
// spec names one. The operator may create Secrets and never reads one, so it must know without looking that the Secret
// is there:
//
//   1. an unpredictable name is written to status.secret, under the resourceVersion that was read: once
//   2. the Secret of that name is created; "already exists" means that this was done before
//   3. pods are created, which mount it: a pod of the job is the proof that its Secret was there
//
// A job whose pods were made without a token stays as it is: processes with and without one do not talk to each other.
#pragma once

#include <cstdint>
#include <string>

#include "operator/api/training_job.h"
#include "operator/controller/actions/draft.h"
#include "operator/controller/observe/observed.h"
#include "operator/kube/object.h"

namespace attune::controller {

inline const kube::ResourceType kSecrets{"", "v1", "secrets", "Secret"};

// With the token of the job's processes: the user's, else the operator's; "" for jobs that began without.
std::string TokenSecret(const api::TrainingJob& job);
// The job is to have a Secret of the operator's, and its name is not on record: no pod may be made yet.
bool NeedsSecretName(const Observed& observed);
// Before the first pod.
void PlanSecret(const Observed& observed, Draft& draft);

// "word2vec-attune-4f0c5d0e9ab12c37"
std::string SecretName(const std::string& job, uint64_t random);
// 32 random bytes as hexadecimal digits.
std::string DrawToken();
// Immutable, and gone with the job.
kube::Json BuildSecret(const api::TrainingJob& job, const std::string& name, const std::string& token);

}  // namespace attune::controller
