#include "cli/report/report_settings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "cli/display/chart.h"
#include "cli/report/page.h"
#include "operator/api/format.h"
#include "operator/controller/observe/text.h"

namespace attune::cli {
namespace {

constexpr size_t kPointsMin = 3;  // fewer say nothing of a setting: it was passed on the way

template <class Setting>
auto Key(const Setting& setting) {
  return std::tie(setting.servers, setting.workers, setting.threads, setting.pace);
}

std::string PaceText(const SettingFigures& setting) { return setting.pace.empty() ? "Async" : setting.pace; }

// Of the setting's row in the table.
std::string RowId(const SettingFigures& setting) {
  std::string id = "s" + std::to_string(setting.servers) + "-" + std::to_string(setting.workers) + "-" +
                   std::to_string(setting.threads) + "-" + PaceText(setting);
  std::replace_if(
      id.begin(), id.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return id;
}

// A bar as long as the rate is high.
std::string Bar(double share) {
  char text[96];
  std::snprintf(text, sizeof text, "<i class=\"bar\" style=\"width:%.0f%%\"></i>", 100 * std::clamp(share, 0.0, 1.0));
  return text;
}

// "4.3 times as fast, "; nothing for what is about the same.
std::string TimesText(double before, double after) {
  constexpr double kAboutTheSame = 0.05;
  if (before <= 0 || std::abs(after / before - 1) < kAboutTheSame) return "";
  char text[48];
  std::snprintf(text, sizeof text, "%.3g times as fast, ", std::round(100 * after / before) / 100);
  return text;
}

}  // namespace

double SettingFigures::Quantile(double share) const {
  return rates[static_cast<size_t>(share * static_cast<double>(rates.size() - 1) + 0.5)];
}

RunSettings::RunSettings(const RunHistory& history, const std::vector<EventMark>& marks, double start)
    : history_(history), start_(start) {
  Collect();
  for (const EventMark& mark : marks) {
    const RunPoint* reached = IsChangeOfTuner(*mark.event) && mark.number > 0 ? ReachedBy(mark) : nullptr;
    const SettingFigures* setting = reached == nullptr ? nullptr : At(*reached);
    if (setting != nullptr) settings_[static_cast<size_t>(setting - settings_.data())].tried.push_back(&mark);
  }
}

void RunSettings::Collect() {
  for (size_t i = 1; i < history_.points.size(); ++i) {
    const RunPoint& point = history_.points[i];
    const RunPoint& before = history_.points[i - 1];
    // The first look after a change still shows the setting before.
    if (!point.rate || Key(point) != Key(before)) continue;
    auto at = std::find_if(settings_.begin(), settings_.end(),
                           [&](const SettingFigures& each) { return Key(each) == Key(point); });
    if (at == settings_.end())
      at = settings_.insert(at, {point.servers, point.workers, point.threads, point.pace, {}, 0, {}});
    at->rates.push_back(*point.rate);
    at->seconds += point.time - before.time;
  }
  std::erase_if(settings_, [](const SettingFigures& setting) { return setting.rates.size() < kPointsMin; });
  for (SettingFigures& setting : settings_) std::sort(setting.rates.begin(), setting.rates.end());
}

const SettingFigures* RunSettings::At(const RunPoint& point) const {
  const auto at = std::find_if(settings_.begin(), settings_.end(),
                               [&](const SettingFigures& each) { return Key(each) == Key(point); });
  return at == settings_.end() ? nullptr : &*at;
}

// The last that was seen before the next change.
const RunPoint* RunSettings::ReachedBy(const EventMark& mark) const {
  const RunPoint* reached = nullptr;
  for (const RunPoint& point : history_.points) {
    const double at = point.time - start_;
    if (at > mark.at && (mark.until == 0 || at <= mark.until)) reached = &point;
  }
  return reached;
}

std::string RunSettings::Unit() const { return history_.sample_unit.empty() ? "samples" : history_.sample_unit; }

std::string RunSettings::Text(const SettingFigures& setting) const {
  return std::to_string(setting.servers) + " x " + std::to_string(setting.workers) +
         (setting.threads > 0 ? " (" + controller::Counted(setting.threads, "thread") + ")" : "");
}

std::string RunSettings::Table() const {
  if (!has_table()) return "";
  std::vector<const SettingFigures*> sorted;
  for (const SettingFigures& setting : settings_) sorted.push_back(&setting);
  std::sort(sorted.begin(), sorted.end(),
            [](const SettingFigures* a, const SettingFigures* b) { return a->rate() > b->rate(); });
  const auto any = [&](auto has) { return std::any_of(settings_.begin(), settings_.end(), has); };
  const bool threads = any([](const SettingFigures& each) { return each.threads > 0; });
  const bool tried = any([](const SettingFigures& each) { return !each.tried.empty(); });
  std::string text =
      "<h2>Throughput by setting</h2>\n<div class=\"scroll\"><table "
      "class=\"settings\"><tr><th>servers</th><th>workers</th>";
  text += threads ? "<th>threads</th>" : "";
  text += "<th>pace</th><th>" + EscapeHtml(Unit()) + "/s</th><th>spread</th><th>for</th>";
  text += tried ? "<th>tried</th>" : "";
  text += "<th class=\"bars\"></th></tr>\n";
  for (const SettingFigures* setting : sorted) {
    const bool is_best = setting == sorted.front();
    text += "<tr id=\"" + RowId(*setting) + "\"><td>" + std::to_string(setting->servers) + "</td><td>" +
            std::to_string(setting->workers) + "</td>";
    if (threads) text += "<td>" + (setting->threads > 0 ? std::to_string(setting->threads) : "-") + "</td>";
    text += "<td>" + EscapeHtml(PaceText(*setting)) + "</td><td>" + (is_best ? "<b>" : "") +
            api::FormatCount(setting->rate()) + (is_best ? "</b>" : "") + "</td><td>" +
            api::FormatCount(setting->Quantile(0.1)) + " to " + api::FormatCount(setting->Quantile(0.9)) + "</td><td>" +
            api::FormatSeconds(setting->seconds) + "</td>";
    if (tried) {
      text += "<td>";
      for (const EventMark* mark : setting->tried) text += Badge(*mark);
      text += "</td>";
    }
    const double best = sorted.front()->rate();
    text += "<td class=\"bars\">" + Bar(best > 0 ? setting->rate() / best : 0) + "</td></tr>\n";
  }
  return text +
         "</table></div>\n<p class=\"sub\">The median of what was reported there, and the span of the middle four "
         "fifths.</p>\n";
}

std::string RunSettings::Headline() const {
  int64_t changes = 0;
  for (const JobEvent& event : history_.events) {
    if (IsChangeOfTuner(event)) changes += event.count;
  }
  if (changes == 0 || history_.points.empty()) return "";
  // At both ends pods come and go: the first and the last setting that was stayed at.
  const SettingFigures *first = nullptr, *last = nullptr;
  for (const RunPoint& point : history_.points) {
    const SettingFigures* setting = At(point);
    if (setting == nullptr) continue;
    if (first == nullptr) first = setting;
    last = setting;
  }
  if (first == nullptr) return "";
  const auto text = [&](const SettingFigures& setting) {
    return Text(setting) + " at " + api::FormatCount(setting.rate());
  };
  return (first == last ? "stayed with " + text(*last) : text(*first) + " \u2192 " + text(*last)) + " " + Unit() +
         "/s, " + (first == last ? "" : TimesText(first->rate(), last->rate())) +
         controller::Counted(changes, "change");
}

std::string TuningHeadline(const RunHistory& history) {
  const double start = StartOf(history);
  const std::vector<EventMark> marks = MarksOf(history, start);
  return RunSettings(history, marks, start).Headline();
}

std::string RunSettings::LinkFrom(const EventMark& mark) const {
  for (const SettingFigures& setting : settings_) {
    if (has_table() && std::find(setting.tried.begin(), setting.tried.end(), &mark) != setting.tried.end())
      return "<a href=\"#" + RowId(setting) + "\">" + Text(setting) + " in the table</a>";
  }
  return "";
}

}  // namespace attune::cli
