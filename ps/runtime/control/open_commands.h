// Commands of the operator that a coordinator has not answered yet. Externally synchronized.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "ps/core/coordinator/coordinator_commands.h"

namespace attune::ps {

class OpenCommands {
 public:
  using OnResult = std::function<void(const CommandResult& result)>;

  // Under a number that no other one has had.
  CommandId Add(OnResult on_result) {
    last_ = last_.Next();
    open_.emplace(last_, std::move(on_result));
    return last_;
  }
  // Calls back who asked. A number that is not open does nothing.
  void Answer(const CommandResult& result) {
    const auto asked = open_.extract(result.id);
    if (!asked.empty() && asked.mapped()) asked.mapped()(result);
  }

 private:
  CommandId last_;
  std::unordered_map<CommandId, OnResult> open_;
};

}  // namespace attune::ps
