#include "operator/local/containers/core_limits.h"

#include <cstdio>
#include <regex>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace attune::local {
namespace {

constexpr char kAllowed[] =
    "write a number of cores from 0.01 to 1024 for all pods, and NAME=CORES for a role or one pod of it, as in "
    "0.25,server=0.1,worker-0=0.05";

std::string Figure(double cores) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", cores);
  return text;
}

}  // namespace

StatusOr<CoreLimits> CoreLimits::Parse(std::string_view text) {
  CoreLimits limits;
  const auto wrong = [&](const std::string& part, const std::string& what) {
    return Error(StatusCode::kInvalidArgument, "\"" + part + "\" " + what + "; " + kAllowed);
  };
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  for (const std::string& part : parts) {
    const size_t equals = part.find('=');
    const std::string name = equals == std::string::npos ? "" : part.substr(0, equals);
    const std::string number = equals == std::string::npos ? part : part.substr(equals + 1);
    static const std::regex kName("(server|worker)(-[0-9]{1,4})?");
    if (equals != std::string::npos && !std::regex_match(name, kName)) return wrong(part, "names no pod of a job");
    double cores = 0;
    // Not a number compares false, so it is refused as well.
    if (!absl::SimpleAtod(number, &cores) || !(cores >= kLeast && cores <= kMost)) {
      return wrong(part, "is no number of cores");
    }
    if (!limits.cores_.emplace(name, cores).second) return wrong(part, "says again what was said before");
  }
  return limits;
}

std::optional<double> CoreLimits::Of(const std::string& role, const std::string& index) const {
  for (const std::string& name : {role + "-" + index, role, std::string()}) {
    const auto found = cores_.find(name);
    if (found != cores_.end()) return found->second;
  }
  return std::nullopt;
}

std::string CoreLimits::Description() const {
  std::string text;
  for (const auto& [name, cores] : cores_) {  // the general number comes first: its name is empty
    if (!text.empty()) text += ", ";
    text += Figure(cores) + (cores == 1 ? " core" : " cores");
    text += name.empty() ? " per pod" : (name.find('-') == std::string::npos ? " per " : " for ") + name;
  }
  return text;
}

}  // namespace attune::local
