// The sidecar's end of a process's telemetry socket, for tests that ask something of the process as the operator does.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "tests/scratch.h"

namespace attune {

namespace v1 {
class Directive;
class DirectiveResult;
}  // namespace v1

class StandInSidecar {
 public:
  StandInSidecar();  // listens at a path of its own
  ~StandInSidecar();
  StandInSidecar(const StandInSidecar&) = delete;
  StandInSidecar& operator=(const StandInSidecar&) = delete;

  std::string path() const { return (directory_ / "sidecar.sock").string(); }
  // Sends it to the process and reads what that says until the answer comes; nothing at the deadline.
  std::optional<v1::DirectiveResult> Ask(const v1::Directive& directive, std::chrono::seconds timeout);

 private:
  bool Read(char* to, size_t size, std::chrono::steady_clock::time_point deadline) const;

  const Scratch scratch_;
  const std::filesystem::path& directory_ = scratch_.path();
  int listener_ = -1, process_ = -1;
};

}  // namespace attune
