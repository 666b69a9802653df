// The wire form of a watch: JSON lines {"type": "ADDED", "object": {...}}. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "operator/kube/api.h"

namespace attune::kube {

// Cuts a stream of bytes into lines, wherever the pieces break.
class LineSplitter {
 public:
  explicit LineSplitter(size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}
  // Calls `on_line` (which returns false to stop) for every line completed by `bytes`. False: stopped, or a line is
  // longer than the limit (see too_long); the splitter must not be fed any more then.
  bool Feed(std::string_view bytes, const std::function<bool(std::string)>& on_line);
  bool too_long() const { return too_long_; }

 private:
  const size_t line_bytes_max_;
  std::string partial_;
  bool too_long_ = false;
};

// kBroken with DataLoss for a line that is no watch event. apiVersion and kind are filled in from `type`.
WatchSignal ParseWatchLine(std::string_view line, const ResourceType& type);

}  // namespace attune::kube
