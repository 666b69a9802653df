#include "ps/core/progress/job_ending.h"

namespace attune::ps {

std::string ReachedGoal(const JobGoal& goal, const GoalFacts& facts) {
  if (!facts.verdict.empty()) return facts.verdict;
  if (facts.trained != nullptr) {
    const uint64_t epochs = facts.trained->ledger.epochs();
    return std::to_string(epochs) + (epochs == 1 ? " epoch done" : " epochs done");
  }
  if (goal.steps && facts.steps >= *goal.steps) return std::to_string(*goal.steps) + " steps done";
  if (goal.target_loss && facts.loss.Reaches(*goal.target_loss)) {
    return "loss " + std::to_string(*facts.loss.value()) + " reached the target " + std::to_string(*goal.target_loss);
  }
  if (goal.max_duration && facts.trained_for && *facts.trained_for >= *goal.max_duration) {
    return "trained for " + std::to_string(static_cast<int64_t>(Seconds(*goal.max_duration))) + " s";
  }
  return {};
}

}  // namespace attune::ps
