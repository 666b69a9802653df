// Every step of a worker as a line of a file, for drawing and for recording loss curves.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace attune::examples {

// One thread at a time.
class StepTrace {
 public:
  // Writes below `directory`, which must exist, into a file of this process alone; "": nothing. What cannot be written
  // is lost: a trace never fails a training.
  explicit StepTrace(const std::string& directory);
  // "microseconds of the machine's steady clock, loss, samples"
  void Add(double loss, uint64_t samples);

 private:
  std::ofstream file_;
};

}  // namespace attune::examples
