// What the parts of a coordinator share: what the job was started with, the time of the step in progress, how far the
// coordinator is with the job, its members, whether it leads, and the newest map; and how messages reach members.
// Externally synchronized.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/coordinator/coordinator_io.h"
#include "ps/core/coordinator/state/check_times.h"
#include "ps/core/coordinator/state/job_phase.h"
#include "ps/core/membership/leadership.h"
#include "ps/core/membership/members/last_server.h"
#include "ps/core/membership/members/member_table.h"
#include "ps/core/membership/members/silence_watch.h"
#include "ps/core/mutations.h"
#include "ps/core/protocol/coordinator_record.h"
#include "ps/core/protocol/cut_record.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/protocol/messages.h"
#include "ps/core/protocol/shard_map.h"

namespace attune::ps {

class JobContext {
 public:
  explicit JobContext(CoordinatorOptions options);
  JobContext(const JobContext&) = delete;
  JobContext& operator=(const JobContext&) = delete;

  // --- what the job was started with

  const CoordinatorOptions& options() const { return options_; }
  const Mutations& mutations() const { return options_.mutations; }
  // The checkpoint that it continues from; nullptr: none.
  CutRecord* resume() { return options_.resume ? &*options_.resume : nullptr; }
  const CutRecord* resume() const { return options_.resume ? &*options_.resume : nullptr; }
  void SetBackups(uint32_t backups) { options_.backups = backups; }
  // Whether the process means this job.
  Status CheckJob(const Join& join) const;
  // From the record of the coordinator before.
  void Restore(const CoordinatorRecord& record);

  // --- the step in progress

  CheckTimes& times() { return times_; }
  const CheckTimes& times() const { return times_; }
  MonotonicTime now() const { return times_.now(); }
  MonotonicTime DeadlineAfter(Duration remaining) const {
    return remaining < kNever - now() ? now() + remaining : kNever;
  }

  // --- the job

  JobPhase& phase() { return phase_; }
  const JobPhase& phase() const { return phase_; }
  MemberTable& members() { return members_; }
  const MemberTable& members() const { return members_; }
  SilenceWatch& silence() { return silence_; }
  const SilenceWatch& silence() const { return silence_; }
  LastServer& last_server() { return last_server_; }
  const LastServer& last_server() const { return last_server_; }
  Leadership& leadership() { return leadership_; }
  const Leadership& leadership() const { return leadership_; }
  // It may act: else another coordinator may be at work.
  bool Leads() const { return leadership_.Held(now()); }
  const ShardMap& map() const { return map_; }
  void SetMap(ShardMap map) { map_ = std::move(map); }

  // What it knows of these, for its successor and for telemetry.
  void Fill(CoordinatorRecord& record) const;
  void Fill(JobProgress& progress) const;

  // --- messages

  // To a member without a connection it is lost; whatever matters is sent again.
  static void Send(const MemberState& node, Message message, CoordinatorOutputs& out) {
    if (node.connection) out.send.push_back({.to = *node.connection, .message = std::move(message)});
  }
  template <typename Kind>
  void SendToAll(const Kind& message, CoordinatorOutputs& out) const {
    for (const auto& [id, node] : members_) {
      if (node.connection) out.send.push_back({.to = *node.connection, .message = message});
    }
  }
  template <typename Kind>
  void SendToAll(Role role, const Kind& message, CoordinatorOutputs& out) const {
    for (const auto& [id, node] : members_) {
      if (node.member.role == role && node.connection) {
        out.send.push_back({.to = *node.connection, .message = message});
      }
    }
  }
  // To the command of an operator.
  static void Answer(CommandId id, Status status, std::string text, CoordinatorOutputs& out) {
    out.command_results.push_back({.id = id, .status = std::move(status), .text = std::move(text)});
  }

 private:
  CoordinatorOptions options_;
  CheckTimes times_;
  JobPhase phase_;
  MemberTable members_;
  SilenceWatch silence_;
  LastServer last_server_;
  Leadership leadership_;
  ShardMap map_;
};

}  // namespace attune::ps
