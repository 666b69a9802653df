// The pod that shows the files of a claim (`attune-sidecar files`), and what is to be said of it while it starts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "operator/api/training_job.h"
#include "operator/kube/object.h"

namespace attune::cli {

inline constexpr uint16_t kReaderPort = 7403;
inline constexpr Duration kReaderIdle = std::chrono::minutes(5);    // it ends after so long without a request
inline constexpr Duration kReaderLifeMax = std::chrono::hours(12);  // and at the latest then

// Of all readers; no label of a job's pods, so that neither operator, Services nor policies of the job take it for one.
inline constexpr char kReaderLabel[] = "app.kubernetes.io/component";
inline constexpr char kReaderLabelValue[] = "attune-model-reader";

struct WantedReader {
  std::string claim;
  std::string directory;     // in the claim, as the job's pods see it
  std::string token_sha256;  // of the token that it asks for
  std::string image;         // "": that of the sidecars of the job's pods
};
std::string ReaderName(const std::string& job);
// NotFound: there is no image, for the job has no pods any more.
StatusOr<kube::Json> BuildReader(const api::TrainingJob& job, const std::vector<kube::Json>& pods,
                                 const WantedReader& wanted);

// What the cluster says of a reader.
struct ReaderState {
  enum class Kind {
    kWaiting,  // for what `text` says
    kRunning,
    kFailed,  // for good; `text` says why
  };
  Kind kind = Kind::kWaiting;
  std::string text;
};
// `events`: of this pod, as far as they may be read.
ReaderState StateOfReader(const kube::Json& pod, const std::vector<kube::Json>& events);

}  // namespace attune::cli
