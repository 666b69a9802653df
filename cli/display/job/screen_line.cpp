#include "cli/display/job/screen_line.h"

namespace attune::cli {
namespace {

const char* Code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kAccent:
      return "\x1b[36m";
  }
  return "";
}

}  // namespace

std::string InStyle(std::string_view text, Style style) { return Code(style) + std::string(text) + "\x1b[0m"; }

Line& Line::Add(std::string_view text, Style style) {
  const std::string_view shown = text.substr(0, FittingBytes(text, left_));
  left_ -= DisplayWidth(shown);
  if (color_ && style != Style::kPlain && !shown.empty()) {
    text_ += InStyle(shown, style);
  } else {
    text_ += shown;
  }
  return *this;
}

void Wrap(std::string_view text, Style style, const Screen& screen, size_t most, std::vector<std::string>& lines) {
  std::vector<std::string> wrapped = WrapText(text, screen.width);
  if (wrapped.size() > most) {
    wrapped.resize(most);
    if (!wrapped.empty() && screen.width > 3) {
      std::string& last = wrapped.back();
      last.resize(FittingBytes(last, screen.width - 3));
      last += "...";
    }
  }
  for (const std::string& line : wrapped) lines.push_back(Line(screen).Add(line, style).text());
}

void Flow(const Parts& parts, Style style, const Screen& screen, std::vector<std::string>& lines) {
  constexpr std::string_view kBetween = "   ";
  Line line(screen);
  bool first = true;
  for (const auto& [name, value] : parts) {
    const int width = DisplayWidth(name) + DisplayWidth(value);
    if (width > screen.width) {
      if (!first) lines.push_back(line.text());
      line = Line(screen);
      first = true;
      Wrap(name + value, style, screen, 2, lines);
      continue;
    }
    if (!first && width + static_cast<int>(kBetween.size()) > line.left()) {
      lines.push_back(line.text());
      line = Line(screen);
      first = true;
    }
    if (!first) line.Add(kBetween);
    line.Add(name, style).Add(value, Style::kBold);
    first = false;
  }
  if (!first) lines.push_back(line.text());
}

}  // namespace attune::cli
