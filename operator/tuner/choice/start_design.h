// Where a job that nothing is known of looks first: a setting of medium size with every knob turned, which is safe and
// shows the use of memory. More first looks cost short jobs more than they teach, the prior being informed. A plain
// value: how many looks were taken.
#pragma once

#include <optional>

#include "operator/tuner/belief/view.h"

namespace attune::tuner {

class StartDesign {
 public:
  // The next look, which may be at the present setting; nothing when the design is done, or not needed.
  std::optional<int> Next(const Evidence& evidence, const View& view);

  size_t taken() const { return taken_; }
  void Load(size_t taken) { taken_ = taken; }

 private:
  size_t taken_ = 0;
};

// Not expected to be so much slower than the present setting that it teaches too little for it: by what such jobs are
// like and by the present setting's speed. The prior knows that one worker does not become faster by three times the
// servers.
bool IsBearable(const View& view, int setting);

}  // namespace attune::tuner
