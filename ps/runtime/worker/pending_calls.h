// Calls of the program that the core has and has not completed. Externally synchronized.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ps/core/protocol/ids.h"
#include "ps/runtime/worker/future_state.h"

namespace attune::ps {

class PendingCalls {
 public:
  using Pending = std::shared_ptr<Future::State>;

  // Under a number that no other call of this session has.
  CallId Add(const Pending& state) {
    last_ = last_.Next();
    calls_.emplace(last_, state);
    return last_;
  }
  // The one that is complete; null: no caller waits for it.
  Pending Take(CallId call) {
    const auto it = calls_.find(call);
    if (it == calls_.end()) return nullptr;
    Pending state = std::move(it->second);
    calls_.erase(it);
    return state;
  }
  std::vector<Pending> TakeAll() {
    std::vector<Pending> all;
    for (auto& [call, state] : std::exchange(calls_, {})) all.push_back(std::move(state));
    return all;
  }

 private:
  CallId last_;
  std::unordered_map<CallId, Pending> calls_;
};

}  // namespace attune::ps
