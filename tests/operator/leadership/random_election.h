// Candidates on machines whose clocks differ in speed, before one Lease whose server and network behave badly: calls
// that are late, that fail though they are carried out, that are carried out long after their caller has given up,
// reads that are old; processes that are stopped, killed and asked to end; hands that delete or edit the Lease. Time is
// simulated. What a seed does can be repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "operator/leadership/election/election.h"

namespace attune::leadership {

class RandomElection {
 public:
  explicit RandomElection(uint64_t seed);

  // Faults for a while, then none; then a leader is killed, and the next one asked to end.
  void Run();

  // What must never be, or came too late: "" if nothing.
  const std::string& problem() const { return problem_; }
  // How often it happened, so that a test sees that anything did.
  std::map<std::string, int> counts;

 private:
  using Time = Duration;  // since the beginning, of no clock in particular
  struct Player {
    explicit Player(Election election) : election(std::move(election)) {}
    Election election;
    double speed = 1;      // of its clock
    MonotonicTime zero{};  // its clock at the beginning
    Time stopped_until{};
    uint64_t call = 0;    // in progress; 0: none
    bool writes = false;  // that call
    bool leads = false;   // as it was last seen
  };
  struct Reply {
    std::optional<StatusOr<std::optional<LeaseRecord>>> read;
    std::optional<StatusOr<LeaseRecord>> written;
  };

  // --- time
  void At(Time time, std::function<void()> what);
  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  void RunUntil(
      Time end, const std::function<bool()>& done = [] { return false; });
  Duration Draw(double most_seconds);
  MonotonicTime ClockOf(const Player& player) const;
  Time TimeOf(const Player& player, MonotonicTime clock) const;

  // --- processes
  void Begin();
  void End(int number);
  void Step(int number);
  void Call(int number, const ElectionAct& act);
  void Report(int number, uint64_t call, const Reply& reply);
  Player* Find(int number);
  int Leader();
  void Check();
  void Fail(const std::string& text);

  // --- the server
  StatusOr<LeaseRecord> Write(const WriteLease& write);
  void Store(std::optional<LeaseRecord> lease);
  std::optional<LeaseRecord> Read();
  Duration Latency();

  // --- what happens to them
  void Disturb();
  void AskToEnd(int number);
  void DeleteByHand();
  void EditByHand();
  void CheckRecovery();

  Random random_;
  const uint64_t seed_;
  Time now_{};
  uint64_t order_ = 0, calls_ = 0, version_ = 1, uid_ = 0;
  std::map<std::pair<Time, uint64_t>, std::function<void()>> events_;
  std::map<int, std::unique_ptr<Player>> players_;
  int begun_ = 0;
  size_t wanted_ = 2;
  bool calm_ = false;
  Time away_until_{};
  std::vector<std::pair<Time, std::optional<LeaseRecord>>> history_{{Time{}, std::nullopt}};
  int64_t last_term_ = 0;
  std::string problem_;
};

}  // namespace attune::leadership
