#include "cli/doctor/finding.h"

#include <algorithm>
#include <utility>

#include "cli/display/job/screen_line.h"

namespace attune::cli {
namespace {

const char* NameOf(Finding::Level level) {
  switch (level) {
    case Finding::Level::kOk:
      return "ok";
    case Finding::Level::kWarning:
      return "warning";
    case Finding::Level::kProblem:
      return "problem";
  }
  return "";
}

Style StyleOf(Finding::Level level) {
  if (level == Finding::Level::kProblem) return Style::kBad;
  return level == Finding::Level::kWarning ? Style::kAccent : Style::kGood;
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

size_t Count(const Findings& findings, Finding::Level level) {
  return static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.level == level; }));
}

std::string Counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Finding Ok(std::string subject, std::string seen) {
  return {Finding::Level::kOk, std::move(subject), std::move(seen), ""};
}
Finding Warning(std::string subject, std::string seen, std::string mend) {
  return {Finding::Level::kWarning, std::move(subject), std::move(seen), std::move(mend)};
}
Finding Problem(std::string subject, std::string seen, std::string mend) {
  return {Finding::Level::kProblem, std::move(subject), std::move(seen), std::move(mend)};
}

bool HasProblem(const Findings& findings) { return Count(findings, Finding::Level::kProblem) > 0; }

std::vector<std::string> FindingLines(const Findings& findings, const std::string& what, const Screen& screen) {
  std::vector<std::string> lines = {what, ""};
  size_t subjects = 0;
  for (const Finding& finding : findings) subjects = std::max(subjects, finding.subject.size());
  constexpr size_t kLevelWidth = 7, kBetween = 2;
  const size_t indent = kLevelWidth + kBetween + subjects + kBetween;
  constexpr int kTextMin = 30;  // below, lines are longer than the screen
  const int room = std::max(screen.width - static_cast<int>(indent), kTextMin);
  for (const Finding& finding : findings) {
    const std::string level = Padded(NameOf(finding.level), kLevelWidth);
    std::string begin = (screen.color ? InStyle(level, StyleOf(finding.level)) : level) + std::string(kBetween, ' ') +
                        Padded(finding.subject, subjects + kBetween);
    const auto add = [&](const std::string& text) {
      for (const std::string& line : WrapText(OneLine(text), room)) {
        lines.push_back(begin + line);
        begin = std::string(indent, ' ');
      }
    };
    add(finding.seen);
    if (!finding.mend.empty()) add("-> " + finding.mend);
  }
  lines.emplace_back();
  lines.push_back(Counted(Count(findings, Finding::Level::kProblem), "problem") + ", " +
                  Counted(Count(findings, Finding::Level::kWarning), "warning") + ", " +
                  std::to_string(Count(findings, Finding::Level::kOk)) + " ok");
  return lines;
}

kube::Json FindingsJson(const Findings& findings, const std::string& what) {
  kube::Json object = {{"checked", what},
                       {"problems", Count(findings, Finding::Level::kProblem)},
                       {"warnings", Count(findings, Finding::Level::kWarning)},
                       {"findings", kube::Json::array()}};
  for (const Finding& finding : findings) {
    kube::Json entry = {{"level", NameOf(finding.level)}, {"subject", finding.subject}, {"seen", finding.seen}};
    if (!finding.mend.empty()) entry["mend"] = finding.mend;
    object["findings"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace attune::cli
