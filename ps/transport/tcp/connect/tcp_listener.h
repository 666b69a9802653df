// Accepts connections, and is the listener's side of their handshakes. Who dials may be anybody: until it has proved
// itself it gets one of a bounded number of places, little memory, little time and constant answers. What both sides
// have agreed on goes to the links.
//
// On the loop only, but for Listen and address. Nothing is reported once it has been stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "ps/transport/tcp/connect/handshake_exchange.h"
#include "ps/transport/tcp/connect/link_book.h"
#include "ps/transport/tcp/connect/local_node.h"
#include "ps/transport/tcp/connect/log_pace.h"
#include "ps/transport/tcp/connect/pending_handshakes.h"

namespace attune::ps {

class TcpListener {
 public:
  struct Limits {
    Duration handshake_timeout{};
    size_t strangers_per_source_max = 0, strangers_max = 0;  // see PendingHandshakes
    size_t links_max = 0;                                    // for the log; LinkBook::MakeRoom holds it
  };

  // `node` and `links` must outlive it.
  TcpListener(LocalNode& node, LinkBook& links, const Limits& limits)
      : node_(node),
        links_(links),
        limits_(limits),
        pending_(limits.strangers_per_source_max, limits.strangers_max),
        strangers_logged_(std::chrono::seconds(1)) {}

  // Any thread, before Start. Errors are ListenAt's.
  Status Listen(const std::string& bind_address, uint16_t port);
  // host:port really bound; empty: it does not listen, and Start does nothing.
  const std::string& address() const { return address_; }

  // Accepts from now on; where the node has a doorbell, it also offers to share memory.
  void Start();
  void Stop();

 private:
  struct Visitor : HandshakeExchange {
    uint64_t id = 0;
    uint32_t first_bytes = 0;
  };

  void OpenRendezvous();
  void Accept();
  void Pause();
  void Admit(FileDescriptor fd, const std::string& source);
  void Dismiss(uint64_t id);
  void LogStranger(const std::string& source, const Status& reason);
  void Secure(const std::shared_ptr<Visitor>& visitor, FileDescriptor fd);
  void ReadHello(const std::shared_ptr<Visitor>& visitor);
  void OnHello(const std::shared_ptr<Visitor>& visitor);
  void OnHandshake(const std::shared_ptr<Visitor>& visitor);
  void RefuseUnheard(const std::shared_ptr<Visitor>& visitor, const Status& reason);
  void Refuse(const std::shared_ptr<Visitor>& visitor, const Status& status);
  void EndRefused(const std::shared_ptr<Visitor>& visitor);
  void Answer(const std::shared_ptr<Visitor>& visitor);
  void OfferMemory(const std::shared_ptr<Visitor>& visitor);
  void OnEnd(const std::shared_ptr<Visitor>& visitor);

  LocalNode& node_;
  LinkBook& links_;
  const Limits limits_;
  FileDescriptor socket_;
  std::string address_;
  std::unique_ptr<EventLoop::Watch> accept_watch_;
  std::unique_ptr<EventLoop::Timer> accept_again_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::map<RendezvousToken, std::weak_ptr<Visitor>> expected_;  // at the rendezvous
  uint64_t last_visitor_ = 0;
  std::unordered_map<uint64_t, std::shared_ptr<Visitor>> visitors_;  // by id; their handshakes are in flight
  PendingHandshakes pending_;                                        // of these, the ones that have proved nothing yet
  LogPace strangers_logged_;
};

}  // namespace attune::ps
