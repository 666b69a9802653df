// What a job's display, its line for logs and its summary say alike, as text: how far it is, its figures, what its data
// plane does, what is wrong. Where it stands on the screen is none of this file's business.
#pragma once

#include <string>
#include <vector>

#include "cli/display/job/screen_line.h"
#include "cli/runs/job_view.h"

namespace attune::cli {

Style PhaseStyle(const JobView& view);
double Elapsed(const JobView& view, double now);
std::string EpochText(const JobView& view);
// The one remaining time there is: of the job's own pace; before that is known, as the tuner believes. None while no
// step ends: it would count down for nothing.
std::string RemainingText(const JobView& view);
Parts Figures(const JobView& view);
// "held_out_loss 3.204 (best 3.187 at epoch 38)", the best only where it is another one.
Parts MetricParts(const JobView& view);
// What the data plane does beside training.
std::vector<std::string> DataPlaneParts(const JobView& view, double now, bool short_names = false);
std::string DataPlaneText(const JobView& view, double now);
// "no step ends: j-server-1 is not heard of, for 12s".
std::string TroubleText(const JobView& view, double now);
// What the tuner tries or keeps; "" for a job that is not tuned or has ended.
std::string TuningText(const JobView& view);
// "workers 2 -> 4: kept, measured +61 % (\u00b14.0 %), 30s ago".
std::string DecisionText(const api::TuningDecision& decision, double now);
// "worker-3" of pod "word2vec-worker-3": the job stands above.
std::string ShortPodName(const std::string& pod, const std::string& job);

}  // namespace attune::cli
