// The final report of the training process. It is sent once on every stream until one has ended cleanly after it,
// for the operator ends its side cleanly only after it has read ours to the end. Pure; not thread-safe.
#pragma once

#include <optional>
#include <utility>

#include "attune/v1/telemetry.pb.h"

namespace attune::sidecar {

class FinalDelivery {
 public:
  void Set(v1::FinalReport report) {
    report_ = std::move(report);
    sent_ = delivered_ = false;
  }
  // There is one, and the operator may not have it.
  bool pending() const { return report_.has_value() && !delivered_; }
  // What is to be sent on this stream now; counted as sent.
  std::optional<v1::FinalReport> TakeUnsent() {
    if (!pending() || std::exchange(sent_, true)) return std::nullopt;
    return report_;
  }
  // The operator has read all of this stream.
  void OnReadToTheEnd() { delivered_ = delivered_ || sent_; }
  void OnStreamGone() { sent_ = false; }

 private:
  std::optional<v1::FinalReport> report_;
  bool sent_ = false;  // on the present stream
  bool delivered_ = false;
};

}  // namespace attune::sidecar
