#include "sidecar/files/reader_options.h"

#include <cstdlib>

#include "base/number_text.h"
#include "base/sha256.h"

namespace attune::sidecar {
namespace {

constexpr int64_t kPortMax = 65535;
constexpr int64_t kIdleSecondsMax = 86'400;

Status Wrong(const std::string& option, const std::string& why) {
  return Error(StatusCode::kInvalidArgument, option + ": " + why + "; see attune-sidecar --help");
}

StatusOr<int64_t> Number(const std::string& option, const std::string& text, int64_t low, int64_t high) {
  if (const std::string problem = ProblemOfWholeNumber(text, low, high); !problem.empty())
    return Wrong(option, problem);
  return std::strtoll(text.c_str(), nullptr, 10);
}

}  // namespace

StatusOr<ReaderOptions> ReaderOptions::Parse(const std::vector<std::string>& arguments) {
  ReaderOptions options;
  bool port = false;
  for (size_t i = 0; i < arguments.size(); i += 2) {
    const std::string& option = arguments[i];
    if (i + 1 == arguments.size()) return Wrong(option, "no value follows");
    const std::string& value = arguments[i + 1];
    if (option == "--directory") {
      options.directory = value;
    } else if (option == "--port") {
      ASSIGN_OR_RETURN(const int64_t number, Number(option, value, 0, kPortMax));
      options.port = static_cast<uint16_t>(number);
      port = true;
    } else if (option == "--token-sha256") {
      if (!IsSha256Hex(value)) return Wrong(option, "not a SHA-256 in lower hexadecimal");
      options.token_sha256 = value;
    } else if (option == "--idle-seconds") {
      ASSIGN_OR_RETURN(const int64_t number, Number(option, value, 1, kIdleSecondsMax));
      options.idle = std::chrono::seconds(number);
    } else {
      return Wrong(option, "there is no such option");
    }
  }
  if (options.directory.empty()) return Wrong("--directory", "it is missing");
  if (!port) return Wrong("--port", "it is missing");
  if (options.token_sha256.empty()) return Wrong("--token-sha256", "it is missing");
  if (options.idle == Duration::zero()) return Wrong("--idle-seconds", "it is missing");
  return options;
}

}  // namespace attune::sidecar
