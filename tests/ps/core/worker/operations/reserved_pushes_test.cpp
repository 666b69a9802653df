// A window of pushes, some of which get their keys later than others that follow them, against a plain list.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"
#include "ps/core/worker/operations/push_window.h"
#include "tests/ps/core/worker/operations/small_cluster.h"
#include "tests/ps/store/test_seed.h"

namespace attune::ps::reserved_pushes_test {
namespace {

using std::chrono::seconds;
using Numbers = std::vector<uint64_t>;

constexpr TableId kTable{1};
constexpr uint32_t kInFlightMax = 4;
constexpr Key kKeys = 12;

// One push as the list has it.
struct Known {
  uint64_t number = 0;
  std::vector<std::pair<Key, bool>> keys;  // and whether each is open
  bool is_reserved = false;
  bool is_sent = false;
  MonotonicTime send_again = kNever;
  Duration backoff{};
  bool IsOpen() const {
    return is_reserved || std::ranges::any_of(keys, [](const auto& key) { return key.second; });
  }
};

class ReservedPushesTest : public testing::Test {
 protected:
  std::vector<Key> RandomKeys() {
    std::vector<Key> keys;
    for (Key key = 0; key < kKeys; ++key) {
      if (random_.Chance(0.15)) keys.push_back(key);
    }
    if (keys.empty()) keys.push_back(random_.Below(kKeys));
    return keys;
  }
  static GroupedGradients GradientsOf(const std::vector<Key>& keys) {
    return {keys, std::vector<float>(keys.size()), 1, kFirstServer, MapVersion(1, 1)};
  }
  static void TakeKeys(const std::vector<Key>& keys, Known& push) {
    for (const Key key : keys) push.keys.emplace_back(key, true);
  }
  void MarkSent(Known& push) {
    push.is_sent = true;
    push.backoff = seconds(2);
    push.send_again = now_ + push.backoff;
  }

  void Add() {
    const std::vector<Key> keys = RandomKeys();
    window_.Add({.call = CallId(next_), .deadline = kNever, .table = kTable, .gradients = GradientsOf(keys)});
    TakeKeys(keys, list_.emplace_back(Known{.number = next_++, .keys = {}}));
  }
  void Reserve() {
    EXPECT_EQ(window_.Reserve(kTable), SequenceNumber(next_));
    list_.push_back({.number = next_++, .keys = {}, .is_reserved = true});
  }
  void Fill() {
    std::vector<Known*> reserved;
    for (Known& push : list_) {
      if (push.is_reserved) reserved.push_back(&push);
    }
    if (reserved.empty()) return;
    Known& push = *reserved[random_.Below(reserved.size())];
    const std::vector<Key> keys = RandomKeys();
    window_.Fill(SequenceNumber(push.number), GradientsOf(keys), std::vector<FoldCounts>(keys.size()), now_);
    push.is_reserved = false;
    TakeKeys(keys, push);
    MarkSent(push);
  }
  void Send() {
    Numbers sent, expected;
    while (const PushWindow::Push* const push = window_.TakeNextToSend(now_)) sent.push_back(push->sequence().value());
    for (Known& push : list_) {
      if (push.is_reserved || push.is_sent || push.number >= list_.front().number + kInFlightMax) continue;
      MarkSent(push);
      expected.push_back(push.number);
    }
    EXPECT_EQ(sent, expected);
    const bool is_held_up = !list_.empty() && list_.front().is_reserved;
    if (std::ranges::all_of(list_, [](const Known& push) { return push.is_reserved || push.is_sent; })) {
      EXPECT_TRUE(is_held_up || !window_.IsHeldUp());
    } else {
      EXPECT_EQ(window_.IsHeldUp(), is_held_up);
    }
  }
  void SendAgain() {
    now_ += seconds(random_.Below(3));
    Numbers again, expected;
    MonotonicTime due = kNever;
    const MonotonicTime next =
        window_.SendAgain(now_, [&](const PushWindow::Push& push) { again.push_back(push.sequence().value()); });
    for (Known& push : list_) {
      if (!push.is_sent || !push.IsOpen()) continue;
      if (now_ >= push.send_again) {
        expected.push_back(push.number);
        push.backoff = std::min<Duration>(push.backoff * 2, seconds(5));
        push.send_again = now_ + push.backoff;
      }
      due = std::min(due, push.send_again);
    }
    EXPECT_EQ(again, expected);
    EXPECT_EQ(next, due);
  }
  void Settle() {
    if (list_.empty()) return;
    Known& push = list_[random_.Below(list_.size())];
    const uint64_t number = push.number;
    if (push.is_sent && !push.is_reserved) {
      std::vector<uint32_t> places;
      const bool was_open = push.IsOpen();
      for (uint32_t i = 0; i < push.keys.size(); ++i) {
        if (!random_.Chance(0.7)) continue;
        places.push_back(i);
        push.keys[i].second = false;
      }
      if (places.empty()) return;
      const bool is_risen = was_open && !push.IsOpen() && number == list_.front().number;
      EXPECT_EQ(window_.Settle(SequenceNumber(number), {.list = places}, OkStatus(), completions_), is_risen);
    } else if (push.is_reserved) {
      EXPECT_FALSE(
          window_.Settle(SequenceNumber(number), {.first = 0, .count = 1, .list = {}}, OkStatus(), completions_));
    }
    while (!list_.empty() && !list_.front().IsOpen()) list_.erase(list_.begin());
  }
  void Compare() {
    const uint64_t settled = list_.empty() ? next_ - 1 : list_.front().number - 1;
    ASSERT_EQ(window_.SettledBelow(), SequenceNumber(settled));
    ASSERT_EQ(window_.AckedBelow(), SequenceNumber(settled));
    ASSERT_EQ(window_.last_issued(), SequenceNumber(next_ - 1));
    ASSERT_EQ(window_.size(), list_.size());
    Numbers in_flight, expected;
    window_.ForEachInFlight([&](const PushWindow::Push& push) { in_flight.push_back(push.sequence().value()); });
    for (const Known& push : list_) {
      if (push.is_sent && push.IsOpen()) expected.push_back(push.number);
    }
    ASSERT_EQ(in_flight, expected);
  }
  // Where the window looks for keys it makes an index, so this is not done after each event.
  void CompareKeys() {
    const Key key = random_.Below(kKeys);
    std::vector<After> after;
    window_.FindOpenOf(kTable, {&key, 1}, after);
    std::vector<std::pair<uint64_t, uint32_t>> found, expected;
    for (const After& entry : after) found.emplace_back(entry.sequence.value(), entry.position);
    for (const Known& push : list_) {
      for (uint32_t i = 0; i < push.keys.size(); ++i) {
        if (push.keys[i] == std::pair(key, true)) expected.emplace_back(push.number, i);
      }
    }
    std::ranges::sort(found);
    ASSERT_EQ(found, expected) << "key " << key;
    ASSERT_EQ(window_.AnyOpenOf(kTable, {&key, 1}), !expected.empty());
  }

  Random random_{TestSeed("20,000 events, 12 keys, 20 pushes of which 4 in flight")};
  PushWindow window_{{.in_flight_max = kInFlightMax, .resend_after = seconds(2), .resend_after_max = seconds(5)}};
  std::vector<Known> list_;
  uint64_t next_ = 1;
  std::vector<Completion> completions_;
  MonotonicTime now_{seconds(100)};
};

TEST_F(ReservedPushesTest, AreAsAListHasThem) {
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const uint64_t dice = random_.Below(100);
    const bool has_room = list_.size() < 20;
    if (dice < 20 && has_room) Add();
    if (dice >= 20 && dice < 35 && has_room) Reserve();
    if (dice >= 35 && dice < 50) Fill();
    if (dice >= 50 && dice < 60) Send();
    if (dice >= 60 && dice < 66) SendAgain();
    if (dice >= 66) {
      for (int answers = 0; answers < 3; ++answers) Settle();
    }
    Compare();
    if (dice % 5 == 0) CompareKeys();
  }
  EXPECT_GT(next_, 1000U);
}

}  // namespace
}  // namespace attune::ps::reserved_pushes_test
