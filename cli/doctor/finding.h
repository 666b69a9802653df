// What `attune doctor` says of one thing that it has looked at, and how that is shown. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/display/screen.h"
#include "operator/kube/object.h"

namespace attune::cli {

struct Finding {
  // A problem keeps jobs from running as they should; a warning is to be known, or could not be looked at.
  enum class Level { kOk, kWarning, kProblem };
  Level level = Level::kOk;
  std::string subject;  // "operator"
  std::string seen;
  std::string mend;  // what to do, a command where there is one; "" where nothing is
};

using Findings = std::vector<Finding>;

Finding Ok(std::string subject, std::string seen);
Finding Warning(std::string subject, std::string seen, std::string mend);
Finding Problem(std::string subject, std::string seen, std::string mend);

bool HasProblem(const Findings& findings);

// `what` was looked at: "this machine". Lines fit the width; the last one counts.
std::vector<std::string> FindingLines(const Findings& findings, const std::string& what, const Screen& screen);
kube::Json FindingsJson(const Findings& findings, const std::string& what);

}  // namespace attune::cli
