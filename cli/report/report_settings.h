// What a run made of each setting it had: throughput as a table, and what tuning did in one line. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/report/report_marks.h"
#include "cli/runs/run_history.h"

namespace attune::cli {

// Everything that was reported at one setting.
struct SettingFigures {
  int32_t servers = 0, workers = 0, threads = 0;  // threads 0: as the program begins
  std::string pace;
  std::vector<double> rates;  // ascending
  double seconds = 0;
  std::vector<const EventMark*> tried;  // the tuner's changes that led here
  double Quantile(double share) const;
  double rate() const { return Quantile(0.5); }
};

class RunSettings {
 public:
  // `start`: seconds since 1970. Refers to both while it lives.
  RunSettings(const RunHistory& history, const std::vector<EventMark>& marks, double start);

  // "" for a run that stayed at one setting.
  std::string Table() const;
  // "2 x 2 at 0.93M -> 1 x 6 at 2.05M words/s, 2.2 times as fast, 13 changes" (servers x workers): where tuning began
  // and where it ended;
  // "" for a run that was not tuned, or where either was not stayed at for long enough.
  std::string Headline() const;
  // From a change of the tuner to the row of the setting it led to; "" when there is none.
  std::string LinkFrom(const EventMark& mark) const;

 private:
  void Collect();
  const SettingFigures* At(const RunPoint& point) const;  // null: not stayed at for long enough
  const RunPoint* ReachedBy(const EventMark& mark) const;
  std::string Unit() const;
  std::string Text(const SettingFigures& setting) const;
  bool has_table() const { return settings_.size() > 1; }

  const RunHistory& history_;
  const double start_;
  std::vector<SettingFigures> settings_;  // in the order in which they were first seen
};

// The headline of a history by itself.
std::string TuningHeadline(const RunHistory& history);

}  // namespace attune::cli
