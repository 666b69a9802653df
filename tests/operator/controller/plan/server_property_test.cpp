// Random histories of a job whose servers come and go: the number of servers is edited, servers crash one at a time,
// the operator restarts or dies in the middle of a plan, while a small model of the coordinator takes members up,
// empties leavers and hears of losses. Whatever happened: no server that holds rows is removed, no loss ends the job or
// is counted twice, plans come to rest, and at the end the job has the servers it is to have.
// Replay: ATTUNE_SEED=<seed> plan_test
#include <gtest/gtest.h>

#include "base/random.h"
#include "operator/controller/plan/directives.h"
#include "tests/base/seeds.h"
#include "tests/operator/controller/execute/fake_cluster.h"

namespace attune::controller::server_property_test {
namespace {

using std::chrono::seconds;

class ServerHistory {
 public:
  explicit ServerHistory(uint64_t seed)
      : random_(seed), cluster_(MakeTrainingJob("j").Servers(3).Workers(1).Backups(1).BackoffLimit(1000).Build()) {}

  void Run() {
    for (int round = 0; round < 3; ++round) {
      cluster_.Settle();
      cluster_.StartAll();
    }
    cluster_.Settle();
    wanted_ = 3;
    host_ = "j-server-0";
    for (int step = 0; step < 80 && !testing::Test::HasFailure(); ++step) {
      Disturb();
      if (random_.Chance(0.2)) {
        cluster_.Reconcile(random_.Below(5));
        cluster_.RestartOperator();
        told_ = cluster_.sent_texts().size();
      }
      Turn();
    }
    for (int round = 0; round < 60; ++round) {
      cluster_.StartAll();
      cluster_.Advance(seconds(20));
      Turn();
    }
    EXPECT_EQ(static_cast<int32_t>(members_.size()), cluster_.job().spec.servers.replicas);
    EXPECT_EQ(cluster_.Condition(api::kReconfiguring).substr(0, 5), "False") << cluster_.Condition(api::kReconfiguring);
    EXPECT_TRUE(cluster_.Reconcile().empty()) << "a second plan does nothing";
    if (!testing::Test::HasFailure()) return;
    std::cout << "coordinator " << host_ << " term " << term_ << ", status " << cluster_.status().coordinator
              << " term " << cluster_.status().coordinator_term << ", wanted " << wanted_ << "\n";
    for (const auto& [index, uid] : members_) std::cout << "  member " << index << " " << uid << "\n";
    for (const ObservedPod& pod : cluster_.Observe().pods) {
      std::cout << "  " << pod.name << " " << pod.uid << (IsAlive(pod) ? " alive" : " not alive")
                << (pod.draining_since ? " draining" : "") << "\n";
    }
    const auto& reported = cluster_.sent_texts();
    for (size_t i = reported.size() - std::min<size_t>(reported.size(), 8); i < reported.size(); ++i)
      std::cout << "  " << reported[i] << "\n";
  }

 private:
  void Disturb() {
    switch (random_.Below(6)) {
      case 0:
        cluster_.job().spec.servers.replicas = static_cast<int32_t>(random_.Between(2, 5));
        ++cluster_.job().generation;
        break;
      case 1:
        Crash();
        break;
      case 2:
        cluster_.Advance(seconds(random_.Between(1, 40)));
        break;
      default:
        cluster_.StartAll();
        break;
    }
  }

  // One at a time: the next only when the members are whole again.
  void Crash() {
    if (lost_ || members_.size() < 2) return;
    auto victim = members_.begin();
    std::advance(victim, random_.Below(members_.size()));
    const std::string name = "j-server-" + std::to_string(victim->first);
    if (!IsMemberAlive(victim->first)) return;
    cluster_.Exit(name, 137);
    lost_ = victim->second;
    // Of one that was leaving, the end is reported and not counted.
    const ObservedPod pod = ObservePod(cluster_.pod(name));
    if (!pod.draining_since && pod.index < cluster_.job().spec.servers.replicas) ++crashes_;
  }

  bool IsMemberAlive(int32_t index) {
    const std::string name = "j-server-" + std::to_string(index);
    return cluster_.Has(name) && IsAlive(ObservePod(cluster_.pod(name))) && Uid(name) == members_.at(index);
  }
  std::string Uid(const std::string& name) { return cluster_.pod(name)["metadata"]["uid"]; }

  // The operator's plans and the coordinator's work, some of each.
  void Turn() {
    for (int i = 0; i < 3; ++i) {
      Report();
      cluster_.Settle();
      Check();
      Hear();
      Work();
    }
  }

  void Hear() {
    for (; told_ < cluster_.sent_texts().size(); ++told_) {
      const std::string line = cluster_.sent_texts()[told_];
      const std::string to = line.substr(0, line.find(' ')), key = line.substr(to.size() + 1);
      if (!cluster_.Has(to) || !IsAlive(ObservePod(cluster_.pod(to)))) continue;
      if (key.starts_with("coordinator of term ")) {
        term_ = std::strtoull(key.c_str() + sizeof("coordinator of term"), nullptr, 10);
        host_ = to;
      } else if (to != host_) {
        continue;  // refused in life
      } else if (key.starts_with("servers=")) {
        wanted_ = std::atoi(key.c_str() + sizeof("servers"));
      } else if (key.starts_with("gone=")) {
        std::erase_if(members_, [&](const auto& member) { return member.second == key.substr(sizeof("gone")); });
        if (lost_ == key.substr(sizeof("gone"))) lost_.reset();
      }
      cluster_.Answer(key, telemetry::DirectiveAnswer::Outcome::kDone);
    }
  }

  void Work() {
    if (!cluster_.Has(host_) || !IsAlive(ObservePod(cluster_.pod(host_)))) return;
    for (const std::string& name : cluster_.PodNames()) {
      const ObservedPod pod = ObservePod(cluster_.pod(name));
      if (pod.role != RoleName::kServer || !IsAlive(pod)) continue;
      if (pod.index < wanted_ && !members_.contains(pod.index)) members_[pod.index] = pod.uid;
      if (pod.index >= wanted_ && members_.contains(pod.index) && random_.Chance(0.5) && name != host_) {
        members_.erase(pod.index);  // empty: it ends by itself
        cluster_.Exit(name, 0);
      }
    }
    if (lost_ && random_.Chance(0.2)) {  // its lease has run out
      std::erase_if(members_, [&](const auto& member) { return member.second == *lost_; });
      lost_.reset();
    }
  }

  void Report() {
    for (const std::string& name : cluster_.PodNames()) {
      if (IsAlive(ObservePod(cluster_.pod(name)))) cluster_.Connect(name);
    }
    if (!cluster_.Has(host_) || !IsAlive(ObservePod(cluster_.pod(host_)))) return;
    v1::JobWindow window;
    window.set_term(term_);
    v1::Abilities* can = window.mutable_abilities();
    can->set_elastic_servers(true);
    can->set_server_recovery(true);
    can->set_coordinator_failover(true);
    for (const auto& [index, uid] : members_) {
      v1::ServerState* state = window.add_server_states();
      state->set_index(static_cast<uint32_t>(index));
      state->set_state(index < wanted_ ? v1::ServerState::SERVING : v1::ServerState::DRAINING);
    }
    window.set_servers(static_cast<uint32_t>(members_.size()));
    if (members_.empty()) {
      for (int32_t i = 0; i < wanted_; ++i) members_[i] = Uid("j-server-" + std::to_string(i));
      return Report();
    }
    cluster_.sample.job = window;
  }

  void Check() {
    EXPECT_EQ(api::FindCondition(cluster_.status(), api::kFailed), nullptr) << cluster_.Condition(api::kFailed);
    for (const auto& [index, uid] : members_) {
      if (lost_ == uid) continue;
      const std::string name = "j-server-" + std::to_string(index);
      ASSERT_TRUE(cluster_.Has(name) && Uid(name) == uid) << name << " held rows and is gone";
      EXPECT_FALSE(cluster_.pod(name)["metadata"].contains("deletionTimestamp")) << name << " holds rows";
    }
    EXPECT_LE(cluster_.status().servers.failed, crashes_ + 1) << "counted twice";
  }

  Random random_;
  FakeCluster cluster_;
  std::map<int32_t, std::string> members_;  // index -> pod uid: those that hold rows
  int32_t wanted_ = 0, crashes_ = 0;
  uint64_t term_ = 0;
  std::string host_;
  std::optional<std::string> lost_;  // uid of a member that has crashed and is not known to
  size_t told_ = 0;
};

TEST(ServerPropertyTest, RandomHistoriesKeepTheRowsAndComeToRest) {
  ForSeeds(12, [](uint64_t seed) { ServerHistory(seed).Run(); });
}

}  // namespace
}  // namespace attune::controller::server_property_test
