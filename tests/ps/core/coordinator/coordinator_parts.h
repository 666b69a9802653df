// The parts of a CoordinatorCore, for tests of one of them: two servers and a worker are members, and the job serves.
// Nothing happens by itself: each test calls the part it is about, and looks at what is sent.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ps/core/coordinator/admissions.h"
#include "ps/core/coordinator/checkpoints.h"
#include "ps/core/coordinator/departures.h"
#include "ps/core/coordinator/inquiry.h"
#include "ps/core/coordinator/lease_service.h"
#include "ps/core/coordinator/member_watch.h"
#include "ps/core/coordinator/pace.h"
#include "ps/core/coordinator/placement.h"
#include "ps/core/coordinator/restoration.h"
#include "ps/core/coordinator/state/goals.h"
#include "ps/core/coordinator/state/job_context.h"
#include "ps/core/coordinator/state/recovery_ledger.h"
#include "ps/core/coordinator/state/replies.h"
#include "ps/core/coordinator/table_service.h"
#include "ps/core/protocol/incarnation.h"

namespace attune::ps {

class CoordinatorParts : public testing::Test {
 protected:
  static constexpr NodeId kServer0{1}, kServer1{2}, kWorker{3};

  // The coordinator has no successor, so that it leads at once and its answers wait for no copy.
  static CoordinatorOptions Alone() {
    return {.job_uid = "job",
            .may_be_followed = false,
            .servers = 2,
            .shards = 4,
            .goal = {.epochs = 1},
            .items = 100,
            .lease_items = 10};
  }
  // Copies of its record go to server 1; it runs in server 0.
  static CoordinatorOptions Followed() {
    CoordinatorOptions options = Alone();
    options.may_be_followed = true;
    options.host_index = 0;
    return options;
  }

  explicit CoordinatorParts(CoordinatorOptions options = Alone(), bool with_members = true) : job_(std::move(options)) {
    Now(std::chrono::seconds(1));
    goals_.Begin();
    inquiry_.Begin();
    if (!with_members) return;
    for (const auto& [role, index] :
         {std::pair{Role::kServer, 0U}, std::pair{Role::kServer, 1U}, std::pair{Role::kWorker, 0U}}) {
      admissions_.OnJoin(ConnectionId(index + (role == Role::kServer ? 1 : 3)), JoinOf(role, index), out_);
    }
    for (const NodeId node : {kServer0, kServer1, kWorker}) KnowTheMap(node);
    for (const NodeId server : {kServer0, kServer1}) Support(server);
    out_.Clear();
  }

  void Now(Duration since_start) {
    job_.times().Step(MonotonicTime(since_start), std::chrono::milliseconds(500), std::chrono::seconds(2));
  }
  // The process of a member speaks over the connection with its node's number.
  static ConnectionId To(NodeId node) { return ConnectionId(node.value()); }
  static uint32_t PodOfIndex(Role role, uint32_t index) { return (role == Role::kServer ? 10U : 20U) + index; }
  static Join JoinOf(Role role, uint32_t index) {
    return {.incarnation = NewIncarnation(PodOfIndex(role, index), 1),
            .job_uid = "job",
            .role = role,
            .index = index,
            .address = "127.0.0.1:1"};
  }
  MemberState& At(NodeId node) { return job_.members().at(node); }
  // It has the newest map, and no shard of it is incomplete.
  void KnowTheMap(NodeId node) {
    MemberState& member = At(node);
    member.last.map_version = job_.map().version;
    member.rows = RowsReport{.number = member.rows ? member.rows->number + 1 : 1, .map_version = job_.map().version};
  }
  void Support(NodeId server) {
    const uint64_t number = job_.leadership().Ask(server, Role::kServer, job_.now()).number;
    job_.leadership().OnSupport(server, number, job_.map().version, job_.now());
  }
  RequestHeader NextHeader() { return {.request = RequestId(++request_), .remaining = std::chrono::seconds(30)}; }
  // Takes up a request of the worker and hands it to the part.
  template <typename Part, typename Kind>
  void Request(Part& part, Kind message) {
    message.header = NextHeader();
    ASSERT_TRUE(Replies::TakeUp(At(kWorker), message.header.request, out_));
    part.OnMessage(At(kWorker), message, out_);
  }
  LeaseGrant TakeLease() {
    Request(leases_, OpenDataSet{.name = "train"});
    Request(leases_, LeaseRequest{.data_set = DataSetId(1)});
    const LeaseGrant* grant = Sent<LeaseGrant>(kWorker);
    EXPECT_NE(grant, nullptr);
    return grant == nullptr ? LeaseGrant{} : *grant;
  }

  template <typename Kind>
  const Kind* Sent(ConnectionId to) const {
    for (const ToConnection& sent : out_.send) {
      if (sent.to == to && std::holds_alternative<Kind>(sent.message)) return &std::get<Kind>(sent.message);
    }
    return nullptr;
  }
  template <typename Kind>
  const Kind* Sent(NodeId to) const {
    return Sent<Kind>(To(to));
  }
  bool HasEvent(const std::string& part) const {
    for (const std::string& event : out_.events) {
      if (event.find(part) != std::string::npos) return true;
    }
    return false;
  }

  JobContext job_;
  Replies replies_{job_};
  RecoveryLedger recoveries_;
  Goals goals_{job_, replies_};
  Pace pace_{job_};
  TableService tables_{job_, replies_};
  LeaseService leases_{job_, replies_, goals_, pace_};
  Checkpoints checkpoints_{job_, replies_, recoveries_, goals_, pace_, tables_, leases_};
  MemberWatch watch_{job_, recoveries_};
  Placement placement_{job_, replies_, recoveries_, tables_, checkpoints_, watch_};
  Departures departures_{job_,    replies_, recoveries_,  goals_, pace_,
                         tables_, leases_,  checkpoints_, watch_, placement_};
  Admissions admissions_{job_,    replies_,     recoveries_, goals_,     pace_,
                         tables_, checkpoints_, watch_,      placement_, departures_};
  Inquiry inquiry_{job_};
  Restoration restoration_{job_,    replies_, recoveries_, goals_,     pace_,
                           tables_, leases_,  watch_,      placement_, departures_};
  CoordinatorOutputs out_;
  uint64_t request_ = 0;
};

}  // namespace attune::ps
