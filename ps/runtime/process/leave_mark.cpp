#include "ps/runtime/process/leave_mark.h"

#include <fstream>
#include <string>
#include <system_error>

#include "base/log.h"
#include "base/os/file.h"
#include "proto/contract.h"
#include "ps/runtime/process/environment.h"

namespace attune::ps {
namespace {

// On a line of its own, after what the program may have written.
std::string Line(const char* text = contract::kLeftInOrder) { return "\n" + std::string(text) + "\n"; }

bool Append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::app | std::ios::binary);
  stream << text << std::flush;
  return static_cast<bool>(stream);
}

}  // namespace

LeaveMark LeaveMark::OfProcess() { return LeaveMark(Environment::OfProcess().Optional(contract::kEnvTerminationLog)); }

void LeaveMark::Write() const {
  if (file_.empty()) return;
  if (Append(file_, Line())) return;
  log::Warn(
      "cannot write the termination message; a failure of this program after its session has ended may not be seen",
      {{"file", file_.string()}});
}

void LeaveMark::Erase() const {
  if (file_.empty()) return;
  constexpr uint64_t kBytesMax = 64 << 10;
  const StatusOr<std::string> content = ReadFile(file_, kBytesMax);
  std::error_code ignored;  // what is not there need not go
  if (content.ok() && content->ends_with(Line())) {
    std::filesystem::resize_file(file_, content->size() - Line().size(), ignored);
  }
}

void NoteCameTooLate() {
  const std::string file = Environment::OfProcess().Optional(contract::kEnvTerminationLog);
  if (file.empty() || Append(file, Line(contract::kCameTooLate))) return;
  log::Warn("cannot write the termination message; this process may look as if it had failed", {{"file", file}});
}

void NoteJobFinished(const JobEnd& end) {
  const std::string file = Environment::OfProcess().Optional(contract::kEnvTerminationLog);
  std::string text = Line(contract::kJobFinished);
  if (end.closing_work) text += Line(contract::kClosingWorkDone);
  if (end.lost_rows) text += Line(contract::kModelLostRows);
  if (file.empty() || Append(file, text)) return;
  log::Warn("cannot write the termination message; an operator that is away now judges the job by its processes' ends",
            {{"file", file}});
}

}  // namespace attune::ps
