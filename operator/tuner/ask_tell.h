// The tuner as a conversation of JSON lines, for other systems, simulators and notebooks: `attune tuner --jsonl`. Pure:
// a line in, at most one line out; the caller does the reading and writing. docs/tuner.md is its manual.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/tuner/tuner.h"

namespace attune::tuner {

class AskTell {
 public:
  static constexpr size_t kLineBytesMax = 8u << 20;

  // What to write in answer to a line, without the line end: a decision, an explanation, a state, an error, or nothing.
  // A line that cannot be understood is answered by {"type":"error",...} and changes nothing.
  std::optional<std::string> Handle(std::string_view line);

 private:
  PriorCache priors_;
  JobHistory history_;
  std::optional<Tuner> tuner_;
  std::string ignored_;  // why the last report was, until a decision has said it
  uint64_t lines_ = 0;
};

}  // namespace attune::tuner
