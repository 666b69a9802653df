// A job whose processes are gone for a while, as its status remembers it. Values.
#pragma once

#include <cstdint>
#include <string>

namespace attune::api {

// Annotation of a job: each new value asks for one restart of all its pods from a checkpoint, the last rung of what can
// be changed in a running job; status.suspension.request is the last one that was taken up.
inline constexpr char kAnnotationRestart[] = "attune.dev/restart";

// In the status before anything happens, so that every operator that follows continues it.
struct SuspensionStatus {
  std::string state;      // one of those below
  std::string why;        // "spec.suspend is set", or what the request for a restart says
  std::string since;      // RFC 3339, of the state
  std::string resumed;    // RFC 3339, when the present attempt began; "": it is the first
  bool restarts = false;  // for a restart: the job continues as soon as its pods are gone
  std::string request;    // the last value of the annotation attune.dev/restart that was taken up
  // How often the job's processes have all been started again. They prove it to each other: one of an earlier attempt
  // reaches none of a later one.
  int64_t attempt = 0;
  // The checkpoint that the processes of this attempt began with, or those of the next one will; "" and 0: none. While
  // one is being written, the newest one before it.
  std::string directory;
  uint64_t checkpoint = 0;
  // Attempts in a row that were given up because not all pods found a machine (plan/suspension/gang_start.h).
  int32_t gang_tries = 0;
  std::string message;  // what it waits for, or why not
};
inline constexpr char kSuspensionRefused[] = "Refused";              // the job trains; `message` says why
inline constexpr char kSuspensionCheckpointing[] = "Checkpointing";  // the job trains until a checkpoint is whole
inline constexpr char kSuspensionReleasing[] = "Releasing";          // its pods go
inline constexpr char kSuspensionSuspended[] = "Suspended";          // it has none
inline constexpr char kSuspensionResumed[] = "Resumed";              // it trains again

}  // namespace attune::api
