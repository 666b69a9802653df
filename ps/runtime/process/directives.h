// What the operator asks of a job, as commands of the coordinator, and the way back of the answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "ps/core/coordinator/coordinator_commands.h"

namespace attune::v1 {
class Directive;
}

namespace attune::ps {

// InvalidArgument: of a kind, or with values, that this release does not know. A Drain is no command: it concerns the
// process itself.
StatusOr<Command> ToCommand(const v1::Directive& directive);

// May be called from any thread, once; also when no caller waits for it any more.
using AnswerCommand = std::function<void(const Status& status, const std::string& text)>;

// Answers on their way from the coordinator's threads to the reporter's. Bounded: the sidecar has at most that many
// directives open. Thread-safe.
class AnswerBox {
 public:
  static constexpr size_t kAnswersMax = 64;
  static constexpr size_t kTextBytesMax = 1024;

  struct Answer {
    uint64_t directive = 0;  // its id
    bool accepted = false;
    std::string text;
    std::vector<std::string> lines;  // of a TraceRow
  };

  explicit AnswerBox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Put(uint64_t directive, const Status& status, const std::string& text, std::vector<std::string> lines = {});
  std::deque<Answer> TakeAll();
  // No answer wakes anybody afterwards.
  void Close();

 private:
  Mutex mutex_;
  std::deque<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace attune::ps
