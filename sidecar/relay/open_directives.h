// Directives of the operator between its stream and the training process: those that the process has and has not
// answered, and those that wait for it to connect. Ids are unique per stream only, and the process outlives streams, so
// each gets another id on its way down. Pure; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "attune/v1/telemetry.pb.h"

namespace attune::sidecar {

class OpenDirectives {
 public:
  static constexpr size_t kMax = 32;  // of both kinds

  bool IsFull() const { return to_stream_id_.size() + awaiting_process_.size() >= kMax; }
  // For the process, whose answer is waited for.
  v1::ProcessDirective PassOn(const v1::Directive& directive);
  // Came before the process had connected: a worker is asked to leave while it starts. Kept across streams.
  void Await(const v1::Directive& directive) { awaiting_process_.push_back(directive); }
  // For the process that has connected; these were answered when they were taken.
  std::vector<v1::ProcessDirective> TakeAwaiting();
  // The process has answered this one: its id on the stream. nullopt: it is of a stream that is gone.
  std::optional<uint64_t> TakeAnswered(uint64_t id);
  // The process is gone: the ids on the stream of those that it has not answered.
  std::vector<uint64_t> TakeUnanswered();
  // The stream is gone, and with it those who wait for answers.
  void ForgetUnanswered() { to_stream_id_.clear(); }

 private:
  v1::ProcessDirective WithNextId(const v1::Directive& directive);

  std::map<uint64_t, uint64_t> to_stream_id_;  // by the id that the process knows
  std::vector<v1::Directive> awaiting_process_;
  uint64_t next_id_ = 1;
};

}  // namespace attune::sidecar
