// A process started by a test, with its output; killed at the latest when the object goes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace attune {

class ChildProcess {
 public:
  ChildProcess(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int number);
  // Reads output (standard output and error together) until `text` appears; false at the deadline or the end of output.
  bool AwaitOutput(const std::string& text, std::chrono::seconds timeout = std::chrono::seconds(30));
  // Exit code, 128 + signal, or -1 when it did not end in time. Reads the rest of the output.
  int Wait(std::chrono::seconds timeout = std::chrono::seconds(30));
  const std::string& output() const { return output_; }

 private:
  bool ReadSome(std::chrono::steady_clock::time_point deadline);

  pid_t process_ = -1;
  int reader_ = -1;
  std::string output_;
};

}  // namespace attune
