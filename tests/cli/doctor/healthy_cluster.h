// A cluster that has everything, as the answers of its API server, for tests that plant faults in it.
#pragma once

#include <string>

#include "cli/doctor/cluster_answers.h"

namespace attune::cli {

inline constexpr double kNow = 1'800'000'000;  // 2027-01-15T08:00:00Z

ClusterAnswers HealthyCluster();
// What is said of the subject; a failure of the test when that is nothing.
Finding About(const Findings& findings, const std::string& subject);
// "subject: seen" of all that is not well.
std::vector<std::string> Complaints(const Findings& findings);

}  // namespace attune::cli
