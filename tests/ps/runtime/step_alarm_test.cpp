#include "ps/runtime/server/step_alarm.h"

#include <gtest/gtest.h>

#include <utility>

namespace attune::ps::step_alarm_test {
namespace {

// A loop whose one timer rings when the test says so.
class HandLoop final : public EventLoop {
 public:
  void Post(std::function<void()> task) override { task(); }
  bool InLoop() const override { return true; }
  void Stop() override {}
  bool stopped() const override { return false; }
  void WaitFor(const std::function<bool()>&, const std::function<void()>&) override {}
  void Wake() override {}
  std::unique_ptr<Timer> NewTimer() override { return std::make_unique<HandTimer>(*this); }
  std::unique_ptr<Watch> WatchFile(int, Ready) override { return nullptr; }
  void SetParticipant(Participant*) override {}
  const TimeSource& time() const override { return time_; }

  void Ring() { std::exchange(fire, {})(); }

  MonotonicTime set_to = kNever;
  int settings = 0;
  std::function<void()> fire;

 private:
  struct HandTimer final : Timer {
    explicit HandTimer(HandLoop& owner) : loop(owner) {}
    void SetAt(MonotonicTime when, std::function<void()> task) override {
      loop.set_to = when;
      ++loop.settings;
      loop.fire = std::move(task);
    }
    void Cancel() override { loop.fire = {}; }
    HandLoop& loop;
  };

  ManualTime time_;
};

constexpr MonotonicTime At(int64_t second) { return MonotonicTime{} + std::chrono::seconds(second); }

TEST(StepAlarm, ItIsSetOnlyWhereTheTimeIsAnother) {
  HandLoop loop;
  int rung = 0;
  StepAlarm alarm(loop, [&] { ++rung; });
  alarm.SetAt(At(5));
  alarm.SetAt(At(5));
  EXPECT_EQ(loop.settings, 1);
  alarm.SetAt(At(3));
  EXPECT_EQ(loop.set_to, At(3));
  loop.Ring();
  EXPECT_EQ(rung, 1);
}

TEST(StepAlarm, OnceItHasRungTheSameTimeMayBeAskedForAgain) {
  HandLoop loop;
  StepAlarm* self = nullptr;
  StepAlarm alarm(loop, [&] { self->SetAt(At(5)); });
  self = &alarm;
  alarm.SetAt(At(5));
  loop.Ring();
  EXPECT_EQ(loop.settings, 2) << "the step that it brought about wanted another one";
}

}  // namespace
}  // namespace attune::ps::step_alarm_test
