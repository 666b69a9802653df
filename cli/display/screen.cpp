#include "cli/display/screen.h"

#include <algorithm>

namespace attune::cli {

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) ++width;
  }
  return width;
}

size_t FittingBytes(std::string_view text, int columns) {
  size_t at = 0;
  for (int used = 0; at < text.size(); ++used) {
    if (used == columns) break;
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

std::vector<std::string> WrapText(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (!text.empty() && width > 0) {
    size_t end = FittingBytes(text, width);
    if (end < text.size() && text[end] != ' ') {
      const size_t space = text.substr(0, end).rfind(' ');
      if (space != std::string_view::npos && space > 0) end = space;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return lines;
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string AsAscii(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t size = std::max<size_t>(FittingBytes(text, 1), 1);
    const std::string_view character = text.substr(0, size);
    if (size == 1) {
      plain += character;
    } else {
      plain += character == "\u00b1" ? '~' : character == "\u2192" ? '>' : '?';  // plus or minus; an arrow
    }
    text.remove_prefix(size);
  }
  return plain;
}

std::string ShortPath(const std::string& path, const std::string& directory) {
  if (directory.size() < 2 || !path.starts_with(directory + "/")) return path;
  return path.substr(directory.size() + 1);
}

}  // namespace attune::cli
