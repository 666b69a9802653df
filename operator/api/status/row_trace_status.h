// What happens to one row of a running job for some seconds, at each of its processes: the request, an annotation of
// the job, and the answer in its status (`attune explain JOB --row`, docs/rows.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace attune::api {

// "id=7 seconds=10 row=input:17" asks for it; a new value is a new request.
inline constexpr char kAnnotationRowTrace[] = "attune.dev/row-trace";

struct RowTraceRequest {
  static constexpr double kSecondsMax = 60;

  std::string id;
  double seconds = 0;  // above 0
  std::string table;
  uint64_t key = 0;
};
std::string ToString(const RowTraceRequest& request);
// InvalidArgument, with what is possible.
StatusOr<RowTraceRequest> ParseRowTraceRequest(const std::string& text);
// "input:17" of a request or a command line. InvalidArgument, with what is possible.
Status ParseRow(const std::string& text, std::string& table, uint64_t& key);

// Of one process. Either `message` or `events` may be empty.
struct PodRowTrace {
  std::string pod;
  std::string message;              // why it says nothing
  std::vector<std::string> events;  // oldest first: "0.012 s  read by the program; 312 times, the last at 9.981 s"
  friend bool operator==(const PodRowTrace&, const PodRowTrace&) = default;
};

struct RowTraceStatus {
  static constexpr size_t kPodsMax = 32, kEventsMax = 201;

  std::string request;            // the value of the annotation that is answered here
  std::string time;               // RFC 3339, when that was
  std::string message;            // what is wrong with it, or what is left out
  std::vector<PodRowTrace> pods;  // servers first; empty some minutes after the answer
};

}  // namespace attune::api
