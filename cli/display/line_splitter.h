// Pieces of text in, whole lines out. Bounded: a line without end comes in parts.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace attune::cli {

class LineSplitter {
 public:
  static constexpr size_t kLineMax = 64 << 10;

  // `on_line` gets each line with its newline.
  explicit LineSplitter(std::function<void(std::string_view)> on_line) : on_line_(std::move(on_line)) {}

  void Add(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      const size_t room = kLineMax - pending_.size();
      const std::string_view part = text.substr(0, std::min(end == std::string_view::npos ? text.size() : end, room));
      pending_ += part;
      const bool complete = end != std::string_view::npos && end == part.size();
      text.remove_prefix(part.size() + (complete ? 1 : 0));
      if (complete || pending_.size() == kLineMax) Emit();
    }
  }
  // The rest, when the text does not end with a newline.
  void Finish() {
    if (!pending_.empty()) Emit();
  }

 private:
  void Emit() {
    pending_ += '\n';
    on_line_(pending_);
    pending_.clear();
  }

  std::function<void(std::string_view)> on_line_;
  std::string pending_;
};

}  // namespace attune::cli
