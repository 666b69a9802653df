// What is said while a local run is ended and after: what can be done now and what later. Pure.
#pragma once

#include <string>

#include "cli/runs/run_record.h"

namespace attune::cli {

struct Stopping {
  std::string run;          // its name
  bool checkpoint = false;  // one is written first
  bool terminal = false;    // there is a Ctrl-C to press
};
// At the first interrupt.
std::string StoppingText(const Stopping& stopping);
// When no process is left.
std::string StoppedText(const RunRecord& record);
// The same for programs, without line breaks.
std::string StoppedJson(const RunRecord& record);

}  // namespace attune::cli
