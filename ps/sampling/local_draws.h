// Draws restricted to rows at hand (SamplingMode::kLocal), by rejection: candidates come from the distribution, and one
// that is not at hand is passed over as long as most of them are. So what is drawn has exactly the distribution given
// that the row is at hand, and the share of candidates that are says how far that is from the whole.
//
// Pure. Externally synchronized.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ps/types/key.h"

namespace attune::ps {

class LocalDraws {
 public:
  // Of candidates; the share is that of about so many last ones.
  static constexpr uint64_t kRemembered = 1024;
  static constexpr double kRestrictsAbove = 0.5;
  // Candidates that are passed over in a row before one that is not at hand is taken after all: with half of them at
  // hand, that is one draw of 2^33.
  static constexpr int kPassedOverMax = 32;

  struct Drawn {
    Key key = 0;
    bool at_hand = false;
  };
  // `draw()` gives a candidate; `at_hand(key)`: its row is here, and has been read.
  template <typename Draw, typename AtHand>
  Drawn Next(Draw&& draw, AtHand&& at_hand) {
    const bool restricts = share() > kRestrictsAbove;
    if (restricts) {
      ++restricted_;
      distance_ += 1 - share();
    }
    for (int passed_over = 0;; ++passed_over) {
      const Key key = draw();
      const bool here = at_hand(key);
      Count(here);
      if (here || !restricts || passed_over == kPassedOverMax) return {.key = key, .at_hand = here};
    }
  }

  // Of the distribution, at hand. 0 before the first hundred candidates: they are not restricted.
  double share() const { return tried_ < kKnownAfter ? 0 : static_cast<double>(found_) / static_cast<double>(tried_); }
  uint64_t restricted() const { return restricted_; }  // draws
  // The sum over all draws of the total variation distance that restricting has made.
  double distance() const { return distance_; }

 private:
  static constexpr uint64_t kKnownAfter = 100;

  void Count(bool here) {
    ++tried_;
    found_ += here ? 1 : 0;
    if (tried_ < 2 * kRemembered) return;
    tried_ /= 2;
    found_ /= 2;
  }

  uint64_t tried_ = 0, found_ = 0;
  uint64_t restricted_ = 0;
  double distance_ = 0;
};

}  // namespace attune::ps
