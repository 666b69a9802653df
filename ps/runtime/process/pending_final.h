// A process's final report until its sidecar has it: it is kept until the kernel holds all of it, so that a lost
// connection means another try. Externally synchronized.
#pragma once

#include <string>
#include <utility>

namespace attune::ps {

class PendingFinal {
 public:
  // `report`: serialized.
  void Put(std::string report) {
    report_ = std::move(report);
    on_its_way_ = false;  // an earlier one that was given up may be: this one is another
    delivered_ = false;
  }
  // The caller waits for it no longer.
  void GiveUp() { report_.clear(); }
  // It is there, and not on its way.
  bool Waits() const { return !report_.empty() && !on_its_way_; }
  bool delivered() const { return delivered_; }

  // Sends what waits. True: all of it has just been delivered. `Socket` as in unix_socket.h.
  template <typename Socket>
  bool Send(Socket& socket) {
    if (report_.empty() || !socket.connected()) return false;
    if (!on_its_way_) on_its_way_ = socket.Send(report_).ok();
    if (!socket.connected()) on_its_way_ = false;
    if (!on_its_way_ || socket.has_unsent()) return false;
    report_.clear();
    on_its_way_ = false;
    delivered_ = true;
    return true;
  }
  void OnConnectionLost() { on_its_way_ = false; }

 private:
  std::string report_;  // empty: none
  bool on_its_way_ = false;
  bool delivered_ = false;
};

}  // namespace attune::ps
