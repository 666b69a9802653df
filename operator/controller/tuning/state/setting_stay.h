// How long a job stays at a setting: until when, and whether anything was measured there meanwhile. A pod that is being
// replaced spoils what is measured, so that the stay lasts longer. A plain value, of one thread; nothing of it fails.
#pragma once

#include <optional>

namespace attune::controller {

class SettingStay {
 public:
  // Of the next setting that comes about.
  void Plan(double seconds) { seconds_ = seconds; }
  // The job has arrived: the first window begins after a warm-up, and the stay as planned with it.
  void Begin(double now);
  // The job stays where it is, for so long from now on.
  void Extend(double now, double seconds) { until_ = now + seconds; }
  // Not all pods take part. Returns whether that spoils the window: not before kLateSeconds, unless a process `failed`.
  // A spoiled stay lasts at least one window more.
  bool Interrupt(double now, bool failed, double window_seconds);
  // All pods take part.
  void Resume() { unsettled_since_.reset(); }
  // A whole window was measured here.
  void Measured() { measured_ = true; }

  bool IsWarm(double now) const { return now >= until_ - seconds_; }
  bool IsOver(double now) const { return now >= until_ - kClockSlack; }
  double Left(double now) const { return until_ - now; }
  bool is_measured() const { return measured_; }

  // What another operator continues from.
  double until() const { return until_; }
  double seconds() const { return seconds_; }
  void Load(double until, double seconds);

  // After a change, before the first window begins.
  static constexpr double kWarmUpSeconds = 1.5;
  // A report that is late for less than this spoils no window.
  static constexpr double kLateSeconds = 3;
  // A look that comes this much too early is not repeated for it.
  static constexpr double kClockSlack = 0.02;

 private:
  double until_ = 0, seconds_ = 0;
  bool measured_ = false;  // not kept: one window more does no harm
  std::optional<double> unsettled_since_;
};

}  // namespace attune::controller
