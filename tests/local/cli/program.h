// Starts the real program in a directory of its own and reads what it says. Every wait has a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attune {

struct Outcome {
  int code = -1;       // exit code; -1: ended by a signal or by the deadline
  std::string output;  // standard output and error together
};

inline constexpr int kNoNetworkOfItsOwn = 123;  // the exit code where a namespace may not be made
struct Surroundings {
  std::string standard_output;  // a file to write to; "": what is read here
  bool own_network = false;     // in a new network namespace, whose loopback interface is down
};

class Program {
 public:
  // `environment` is added to this process's own; `limits` are set as `ulimit` does, by resource (RLIMIT_NOFILE).
  Program(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
          const std::map<std::string, std::string>& environment, const std::map<int, uint64_t>& limits = {},
          const Surroundings& surroundings = {});
  ~Program();  // kills it if it still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // False when the text has not appeared at the deadline, or the program ended before.
  bool AwaitOutput(const std::string& text, std::chrono::milliseconds timeout = std::chrono::seconds(60));
  Outcome AwaitEnd(std::chrono::seconds timeout = std::chrono::seconds(60));
  void Signal(int number) const;
  pid_t process_id() const { return child_; }

 private:
  bool ReadSome(std::chrono::steady_clock::time_point deadline);  // false at the end or the deadline
  pid_t child_ = 0;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace attune
