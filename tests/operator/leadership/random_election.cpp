#include "tests/operator/leadership/random_election.h"

#include <algorithm>
#include <vector>

namespace attune::leadership {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFaults = std::chrono::minutes(4);
constexpr double kSlowest = 0.9, kFastest = 1.1;  // clocks that differ by more than a fifth are broken

Duration FromSeconds(double value) { return duration_cast<Duration>(std::chrono::duration<double>(value)); }

}  // namespace

RandomElection::RandomElection(uint64_t seed) : random_(seed), seed_(seed) {
  wanted_ = 2 + random_.Below(2);
  for (size_t i = 0; i < wanted_; ++i) At(Draw(3), [this] { Begin(); });
}

// --- time

void RandomElection::At(Time time, std::function<void()> what) {
  events_.emplace(std::pair(std::max(time, now_), ++order_), std::move(what));
}

void RandomElection::RunUntil(Time end, const std::function<bool()>& done) {
  while (problem_.empty() && !done() && !events_.empty() && events_.begin()->first.first <= end) {
    auto next = events_.extract(events_.begin());
    now_ = next.key().first;
    next.mapped()();
    Check();
  }
  if (!done()) now_ = std::max(now_, end);
}

Duration RandomElection::Draw(double most_seconds) { return FromSeconds(most_seconds * random_.Uniform()); }

MonotonicTime RandomElection::ClockOf(const Player& player) const {
  return player.zero + FromSeconds(Seconds(now_) * player.speed);
}

RandomElection::Time RandomElection::TimeOf(const Player& player, MonotonicTime clock) const {
  // A nanosecond more, so that rounding wakes it at the time and not before.
  return FromSeconds(std::min(Seconds(clock - player.zero), 1e8) / player.speed) + Duration(1);
}

// --- processes

void RandomElection::Begin() {
  const int number = ++begun_;
  auto player = std::make_unique<Player>(
      Election({.identity = "pod-" + std::to_string(number)}, SplitMix64(seed_ + static_cast<uint64_t>(number))));
  player->speed = kSlowest + (kFastest - kSlowest) * random_.Uniform();
  player->zero = MonotonicTime{} + seconds(1) + Draw(1e6);
  players_[number] = std::move(player);
  Step(number);
}

// Gone, whatever it was doing; what it has sent may still arrive. kubelet starts another process.
void RandomElection::End(int number) {
  if (players_.erase(number) == 0) return;
  After(milliseconds(200) + Draw(calm_ ? 1 : 5), [this] {
    if (players_.size() < wanted_) Begin();
  });
}

RandomElection::Player* RandomElection::Find(int number) {
  const auto found = players_.find(number);
  return found == players_.end() ? nullptr : found->second.get();
}

void RandomElection::Step(int number) {
  Player* player = Find(number);
  if (player == nullptr || player->call != 0) return;
  if (now_ < player->stopped_until) return At(player->stopped_until, [this, number] { Step(number); });
  const ElectionAct act = player->election.Next(ClockOf(*player));
  const auto* wait = std::get_if<WaitUntil>(&act);
  if (wait == nullptr) return Call(number, act);
  if (wait->time == kNever) {
    ++counts[player->election.state() == Election::State::kLost ? "lost" : "resigned"];
    return End(number);
  }
  // A loaded machine wakes its threads late.
  const Duration late = random_.Chance(0.02) && !calm_ ? Draw(3) : Draw(0.01);
  At(TimeOf(*player, wait->time) + late, [this, number] { Step(number); });
}

void RandomElection::Call(int number, const ElectionAct& act) {
  Player& player = *Find(number);
  const uint64_t call = player.call = ++calls_;
  const auto* write = std::get_if<WriteLease>(&act);
  player.writes = write != nullptr;
  const MonotonicTime deadline =
      ClockOf(player) + (write != nullptr ? write->timeout : std::get<ReadLease>(act).timeout);
  At(TimeOf(player, deadline), [this, number, call] {
    const Status late = Error(StatusCode::kDeadlineExceeded, "no answer; the outcome is open");
    Report(number, call, {StatusOr<std::optional<LeaseRecord>>(late), StatusOr<LeaseRecord>(late)});
  });
  if (!calm_ && write != nullptr && random_.Chance(0.03)) {
    ++counts["stopped in a call"];
    player.stopped_until = now_ + Draw(60);
  }
  if (!calm_ && random_.Chance(0.02)) return;  // it never arrives
  const std::optional<WriteLease> sent = write != nullptr ? std::optional(*write) : std::nullopt;
  After(Latency(), [this, number, call, sent] {
    if (now_ < away_until_) {
      const Status away = Error(StatusCode::kUnavailable, "no connection");
      return Report(number, call, {StatusOr<std::optional<LeaseRecord>>(away), StatusOr<LeaseRecord>(away)});
    }
    Reply reply;
    if (sent) {
      reply.written = Write(*sent);
    } else {
      reply.read = Read();
    }
    if (!calm_ && random_.Chance(0.05)) {
      counts["answers lost"] += 1;
      return;
    }
    After(Latency(), [this, number, call, reply] { Report(number, call, reply); });
  });
}

void RandomElection::Report(int number, uint64_t call, const Reply& reply) {
  Player* player = Find(number);
  if (player == nullptr || player->call != call) return;
  if (now_ < player->stopped_until) {
    return At(player->stopped_until, [this, number, call, reply] { Report(number, call, reply); });
  }
  player->call = 0;
  if (player->writes) {
    player->election.OnWritten(*reply.written, ClockOf(*player));
  } else {
    player->election.OnRead(*reply.read, ClockOf(*player));
  }
  Step(number);
}

int RandomElection::Leader() {
  for (const auto& [number, player] : players_) {
    if (player->election.MayAct(ClockOf(*player))) return number;
  }
  return 0;
}

// Also of those that are stopped: they could have been stopped just after they had asked.
void RandomElection::Check() {
  std::string leaders;
  int count = 0;
  for (const auto& [number, player] : players_) {
    const bool leads = player->election.MayAct(ClockOf(*player));
    if (leads) {
      ++count;
      leaders += " " + player->election.identity();
    }
    if (leads && !player->leads) {
      ++counts["terms"];
      const int64_t term = player->election.term();
      if (term <= last_term_ && counts["deleted"] == 0) Fail("term " + std::to_string(term) + " was used twice");
      last_term_ = term;
    }
    player->leads = leads;
  }
  if (count > 1) Fail("these may write at the same time:" + leaders);
}

void RandomElection::Fail(const std::string& text) {
  if (problem_.empty()) problem_ = text + ", " + std::to_string(Seconds(now_)) + " s after the beginning";
}

// --- the server

StatusOr<LeaseRecord> RandomElection::Write(const WriteLease& write) {
  const std::optional<LeaseRecord>& present = history_.back().second;
  const bool as_expected = write.precondition ? present && present->uid == write.precondition->uid &&
                                                    present->version == write.precondition->version
                                              : !present;
  if (!as_expected) {
    ++counts["conflicts"];
    return Error(StatusCode::kAborted, "the object has been modified");
  }
  LeaseRecord next = write.record;
  next.uid = present ? present->uid : "uid-" + std::to_string(++uid_);
  Store(next);
  return *history_.back().second;
}

void RandomElection::Store(std::optional<LeaseRecord> lease) {
  if (lease) lease->version = std::to_string(++version_);
  history_.emplace_back(now_, std::move(lease));
}

std::optional<LeaseRecord> RandomElection::Read() {
  if (calm_ || !random_.Chance(0.1)) return history_.back().second;
  ++counts["old reads"];
  const Time as_of = now_ - Draw(5);
  const auto later = std::ranges::upper_bound(history_, as_of, {}, [](const auto& each) { return each.first; });
  return later == history_.begin() ? history_.front().second : std::prev(later)->second;
}

Duration RandomElection::Latency() {
  if (calm_) return Draw(0.02);
  if (random_.Chance(0.01)) return Draw(60);  // in a queue that no caller waits for any more
  return random_.Chance(0.05) ? Draw(6) : Draw(0.1);
}

// --- what happens to them

void RandomElection::Disturb() {
  if (calm_) return;
  After(Draw(12), [this] { Disturb(); });
  if (players_.empty()) return;
  const int leader = Leader();
  const int any = std::next(players_.begin(), static_cast<std::ptrdiff_t>(random_.Below(players_.size())))->first;
  const int whom = leader != 0 && random_.Chance(0.7) ? leader : any;
  switch (random_.Below(6)) {
    case 0:
      ++counts["killed"];
      return End(whom);
    case 1:
    case 2:
      ++counts["stopped"];
      Find(whom)->stopped_until = now_ + (random_.Chance(0.5) ? Draw(60) : Draw(5));
      if (random_.Chance(0.3)) After(Draw(3), [this] { DeleteByHand(); });
      return;
    case 3:
      return AskToEnd(whom);
    case 4:
      ++counts["server away"];
      away_until_ = now_ + (random_.Chance(0.5) ? Draw(4) : Draw(40));
      return;
    default:
      return EditByHand();
  }
}

void RandomElection::AskToEnd(int number) {
  Player* player = Find(number);
  if (calm_ || player == nullptr || now_ < player->stopped_until) return;
  ++counts["asked to end"];
  player->election.Resign(ClockOf(*player));
  Step(number);
}

// The one that makes it again may be asked to end before it may act.
void RandomElection::DeleteByHand() {
  if (calm_ || !history_.back().second) return;
  ++counts["deleted"];
  Store(std::nullopt);
  if (!random_.Chance(0.3)) return;
  After(Draw(4), [this] {
    std::vector<int> waiting;
    for (const auto& [number, player] : players_) {
      if (player->election.state() == Election::State::kHolding) waiting.push_back(number);
    }
    for (const int number : waiting) AskToEnd(number);
  });
}

void RandomElection::EditByHand() {
  std::optional<LeaseRecord> lease = history_.back().second;
  if (!lease) return;
  switch (random_.Below(4)) {
    case 0:
      return DeleteByHand();
    case 1:
      lease->holder.clear();  // without the mark of a release
      break;
    case 2:
      lease->holder = "by-hand";
      break;
    default:
      lease->duration = seconds(1);
      break;
  }
  ++counts["edited"];
  Store(lease);
}

void RandomElection::Run() {
  After(Draw(20), [this] { Disturb(); });
  RunUntil(kFaults);
  calm_ = true;
  away_until_ = now_;
  std::vector<int> numbers;  // a step may be a player's last
  for (auto& [number, player] : players_) {
    player->stopped_until = std::min(player->stopped_until, now_);
    numbers.push_back(number);
  }
  for (const int number : numbers) Step(number);
  CheckRecovery();
}

void RandomElection::CheckRecovery() {
  // What was sent during the faults arrives within a minute; a Lease that it changes is waited for once more.
  const Duration lease = FromSeconds(15 / kSlowest);
  RunUntil(now_ + seconds(60));
  RunUntil(now_ + lease + seconds(2), [this] { return Leader() != 0; });
  if (Leader() == 0) return Fail("no candidate leads though all is well");
  RunUntil(now_ + seconds(10));  // another one is there and has seen it

  ++counts["recoveries"];
  const Time killed = now_;
  End(Leader());
  RunUntil(killed + lease + seconds(1), [this] { return Leader() != 0; });
  if (Leader() == 0) return Fail("no candidate leads a second after the Lease of one that was killed had run out");
  RunUntil(now_ + seconds(10));

  const Time asked = now_;
  const int leader = Leader();
  if (leader == 0) return Fail("a leader that nothing happens to does not stay");
  players_[leader]->election.Resign(ClockOf(*players_[leader]));
  Step(leader);
  RunUntil(asked + seconds(1), [this] { return Leader() != 0; });
  if (Leader() == 0) Fail("no candidate leads a second after another one was asked to end");
}

}  // namespace attune::leadership
