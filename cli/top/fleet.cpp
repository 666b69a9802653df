#include "cli/top/fleet.h"

#include <algorithm>
#include <tuple>

#include "cli/display/job/job_figures.h"
#include "cli/display/job/screen_line.h"
#include "cli/display/local_time.h"
#include "cli/display/table.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

bool HasEnded(const JobView& view) { return view.outcome != JobView::Outcome::kNone; }

double Fullness(const api::RoleUsage& usage) {
  if (usage.memory_limit_bytes <= 0) return 0;
  return static_cast<double>(usage.memory_bytes) / static_cast<double>(usage.memory_limit_bytes);
}

// Of the pod that is nearest to its limit, whatever its role; where nothing has a limit, of the largest.
std::string MemoryText(const JobView& view, bool brief) {
  const api::RoleUsage* fullest = nullptr;
  const auto order = [](const api::RoleUsage& usage) { return std::tuple(Fullness(usage), usage.memory_bytes); };
  for (const auto* usage : {&view.server_usage, &view.worker_usage}) {
    if (!*usage) continue;
    if (fullest == nullptr || order(**usage) > order(*fullest)) fullest = &**usage;
  }
  if (fullest == nullptr || HasEnded(view)) return "-";
  const std::string used = api::FormatBytes(static_cast<uint64_t>(std::max<int64_t>(fullest->memory_bytes, 0)));
  if (fullest->memory_limit_bytes <= 0) return used;
  if (brief) return api::FormatPercent(Fullness(*fullest));
  return used + " of " + api::FormatBytes(static_cast<uint64_t>(fullest->memory_limit_bytes));
}

// Below a heading that says what it is.
std::string LeftText(const JobView& view) {
  std::string text = RemainingText(view);
  constexpr std::string_view kLeft = " left";
  if (text.ends_with(kLeft)) text.resize(text.size() - kLeft.size());
  return text.empty() ? "-" : text;
}

std::string LastDecision(const JobView& view, double now) {
  return view.decisions.empty() ? "" : DecisionText(view.decisions.back(), now);
}

std::string StageOf(const JobView& view) {
  return view.tuning_stage.empty() || HasEnded(view) ? "-" : view.tuning_stage;
}

// What is left out, one after the other, until a table fits.
struct Columns {
  bool units = true;         // of the rate
  bool memory_limit = true;  // not only the share of it
  bool long_headers = true;
  bool tuning = true;
  int name_max = 253;
  bool color = false;
};

std::string ShortName(const std::string& name, int most) {
  if (DisplayWidth(name) <= most) return name;
  return name.substr(0, FittingBytes(name, std::max(most - 2, 1))) + "..";
}

std::vector<std::string> RowOf(const JobView& view, const Columns& columns) {
  const auto pods = [](int32_t ready, int32_t wanted) { return std::to_string(ready) + "/" + std::to_string(wanted); };
  std::vector<std::string> row = {ShortName(view.name, columns.name_max),
                                  columns.color ? InStyle(view.phase, PhaseStyle(view)) : view.phase,
                                  pods(view.servers_ready, view.servers_wanted),
                                  pods(view.workers_ready, view.workers_wanted),
                                  view.fraction ? api::FormatPercent(*view.fraction) : "-",
                                  LeftText(view),
                                  view.rate ? api::FormatRate(*view.rate, columns.units ? view.sample_unit : "") : "-",
                                  view.loss ? api::FormatFigure(*view.loss) : "-",
                                  MemoryText(view, !columns.memory_limit)};
  if (columns.tuning) row.push_back(StageOf(view));
  return row;
}

Table TableOf(const Fleet& fleet, const Columns& columns) {
  Table table;
  table.header = {"JOB", "PHASE", "SERVERS", "WORKERS", "DONE", "LEFT", "RATE", "LOSS", "MEMORY"};
  if (!columns.long_headers) table.header = {"JOB", "PHASE", "SRV", "WRK", "DONE", "LEFT", "RATE", "LOSS", "MEM"};
  if (columns.tuning) table.header.emplace_back("TUNING");
  if (fleet.with_namespace) table.header.insert(table.header.begin(), "NAMESPACE");
  for (const JobView& view : fleet.jobs) {
    std::vector<std::string> row = RowOf(view, columns);
    if (fleet.with_namespace) row.insert(row.begin(), ShortName(view.name_space, columns.name_max));
    table.rows.push_back(std::move(row));
  }
  return table;
}

int WidthOf(const std::vector<std::string>& lines) {
  int width = 0;
  for (const std::string& line : lines) width = std::max(width, DisplayWidth(line));
  return width;
}

// Heading first.
std::vector<std::string> RowsThatFit(const Fleet& fleet, const Screen& screen) {
  Columns columns;
  const auto fits = [&] { return WidthOf(FormatTable(TableOf(fleet, columns))) <= screen.width; };
  for (bool* part : {&columns.units, &columns.memory_limit, &columns.long_headers, &columns.tuning}) {
    if (fits()) break;
    *part = false;
  }
  constexpr int kNameMin = 8;
  for (columns.name_max = 40; columns.name_max > kNameMin && !fits();) --columns.name_max;
  columns.color = screen.color && fits();
  std::vector<std::string> rows = FormatTable(TableOf(fleet, columns));
  if (!columns.color) {
    for (std::string& row : rows) row = Line(screen).Add(row).text();
  }
  return rows;
}

struct Note {
  std::string text;
  Style style = Style::kDim;
};

std::vector<Note> NotesOf(const JobView& view, double now) {
  std::vector<Note> notes;
  if (const std::string trouble = TroubleText(view, now); !trouble.empty()) notes.push_back({trouble, Style::kBad});
  for (const std::string& error : view.errors) notes.push_back({OneLine(error), Style::kBad});
  if (const std::string tuning = OneLine(TuningText(view)); !tuning.empty()) notes.push_back({tuning, Style::kGood});
  if (const std::string last = LastDecision(view, now); !last.empty()) notes.push_back({"last: " + last, Style::kDim});
  return notes;
}

// How many notes each job shows: the first of every job before the second of any.
std::vector<size_t> ShareRows(const std::vector<std::vector<Note>>& notes, size_t rows) {
  std::vector<size_t> shown(notes.size(), 0);
  for (size_t round = 0; rows > 0; ++round) {
    bool any = false;
    for (size_t i = 0; i < notes.size() && rows > 0; ++i) {
      if (notes[i].size() <= round) continue;
      any = true;
      ++shown[i];
      --rows;
    }
    if (!any) break;
  }
  return shown;
}

std::string Heading(const Fleet& fleet, const Screen& screen, double now) {
  const auto running =
      std::count_if(fleet.jobs.begin(), fleet.jobs.end(), [](const JobView& v) { return !HasEnded(v); });
  const std::string jobs = std::to_string(fleet.jobs.size()) + (fleet.jobs.size() == 1 ? " job" : " jobs");
  Line line(screen);
  line.Add(ClockText(now) + "  ").Add(jobs, Style::kBold);
  if (static_cast<size_t>(running) != fleet.jobs.size()) line.Add(", " + std::to_string(running) + " not ended");
  line.Add("  q ends", Style::kDim);
  return line.Add(fleet.where.empty() ? "" : "  " + fleet.where, Style::kDim).text();
}

}  // namespace

void SortFleet(std::vector<JobView>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const JobView& a, const JobView& b) {
    return std::tuple(HasEnded(a), a.name_space, a.name) < std::tuple(HasEnded(b), b.name_space, b.name);
  });
}

std::vector<std::string> FleetLines(const Fleet& fleet, const Screen& screen, double now) {
  const size_t rows = static_cast<size_t>(std::max(screen.height - 1, 3));
  std::vector<std::string> lines = {Heading(fleet, screen, now)};
  if (!fleet.problem.empty()) Wrap(OneLine(fleet.problem), Style::kBad, screen, 2, lines);
  lines.emplace_back();
  if (fleet.jobs.empty()) {
    lines.push_back(Line(screen).Add("no jobs; `attune run FILE` starts one").text());
    return lines;
  }
  const std::vector<std::string> table = RowsThatFit(fleet, screen);
  const size_t room = rows > lines.size() + 1 ? rows - lines.size() - 1 : 0;  // below the table's heading
  const bool all = fleet.jobs.size() <= room;
  const size_t shown = all ? fleet.jobs.size() : room > 0 ? room - 1 : 0;
  std::vector<std::vector<Note>> notes;
  for (size_t i = 0; i < shown; ++i) notes.push_back(NotesOf(fleet.jobs[i], now));
  const std::vector<size_t> notes_shown = ShareRows(notes, all ? room - shown : 0);
  lines.push_back(Line(screen).Add(table.front(), Style::kDim).text());
  for (size_t i = 0; i < shown; ++i) {
    lines.push_back(table[i + 1]);
    for (size_t j = 0; j < notes_shown[i]; ++j) Wrap("  " + notes[i][j].text, notes[i][j].style, screen, 1, lines);
  }
  if (!all) {
    const std::string more = std::to_string(fleet.jobs.size() - shown);
    lines.push_back(Line(screen).Add("... and " + more + " more; -n NAME shows one namespace", Style::kDim).text());
  }
  if (lines.size() > rows) lines.resize(rows);
  return lines;
}

std::vector<std::string> FleetTable(const Fleet& fleet, double now) {
  Table table = TableOf(fleet, {});
  table.header.emplace_back("LAST CHANGE BY TUNING");
  table.header.emplace_back("TROUBLE");
  for (size_t i = 0; i < fleet.jobs.size(); ++i) {
    const std::string last = LastDecision(fleet.jobs[i], now);
    table.rows[i].push_back(last.empty() ? "-" : last);
    std::string trouble = TroubleText(fleet.jobs[i], now);
    for (const std::string& error : fleet.jobs[i].errors) trouble += (trouble.empty() ? "" : "; ") + OneLine(error);
    table.rows[i].push_back(trouble.empty() ? "-" : trouble);
  }
  return FormatTable(table);
}

}  // namespace attune::cli
