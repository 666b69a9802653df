// Dialing, and the dialer's side of a handshake.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "ps/transport/tcp/tcp_socket.h"
#include "ps/transport/tcp/tcp_state.h"

namespace attune::ps {
namespace {

constexpr Duration kBackoffMax = std::chrono::seconds(2);
constexpr Duration kSameNewsAfter = std::chrono::minutes(1);  // the same refusal is said again
constexpr Duration kDialTimeout = std::chrono::seconds(5);
constexpr Duration kLastingLink = std::chrono::seconds(1);
constexpr Duration kBriefLinkBackoffMax = std::chrono::milliseconds(250);

}  // namespace

void TcpState::Connect(NodeId peer, const std::string& to) {
  if (stopped) return;
  const auto it = dials.find(peer);
  if (it != dials.end() && it->second.address == to) return;
  if (it != dials.end() && it->second.greeting != nullptr) it->second.greeting->conversation->Cancel();
  dials[peer] = {.address = to};
  const std::shared_ptr<Peer> known = FindOrAdd(peer);
  if (!known->connected()) DialNow(peer);
}

void TcpState::Disconnect(NodeId node) {
  if (const auto it = dials.find(node); it != dials.end()) {
    if (it->second.greeting != nullptr) it->second.greeting->conversation->Cancel();
    dials.erase(it);
  }
  const std::shared_ptr<Peer> peer = Find(node);
  if (peer == nullptr) return;
  {
    std::lock_guard lock(peers_mutex);
    peers.erase(node);
  }
  if (peer->connected()) EndLink(peer, node, Error(StatusCode::kUnavailable, "disconnected by this node"));
}

void TcpState::DialNow(NodeId peer) {
  Dial& dial = dials.at(peer);
  auto greeting = std::make_shared<Greeting>();
  dial.greeting = greeting;
  dial.redial = nullptr;
  greeting->conversation = Conversation::Start(
      loop, kDialTimeout, [this, peer, raw = greeting.get()](const Status& status) { DialFailed(peer, raw, status); });
  std::string host, port;
  if (!SplitAddress(dial.address, host, port)) {
    return greeting->conversation->Fail(Error(StatusCode::kInvalidArgument, "'" + dial.address + "' is not host:port"));
  }
  greeting->conversation->Connect(host, port, names, [this, peer, greeting] { Dialed(peer, greeting); });
}

void TcpState::Dialed(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  FileDescriptor fd = greeting->conversation->TakeDescriptor();
  Tune(fd.get());
  if (tls == nullptr) {
    greeting->conversation->Use(Stream::Plain(std::move(fd)));
    return SendHello(peer, greeting);
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kDialer);
  if (!secured.ok()) return greeting->conversation->Fail(secured.status());
  greeting->conversation->Use(*std::move(secured));
  greeting->conversation->ShakeHands([this, peer, greeting] { SendHello(peer, greeting); });
}

void TcpState::SendHello(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  greeting->hello = MakeHello(FreshNonce());
  greeting->conversation->Write(&greeting->hello, sizeof greeting->hello, [this, peer, greeting] {
    greeting->conversation->Read(&greeting->challenge, sizeof greeting->challenge,
                                 [this, peer, greeting] { SendHandshake(peer, greeting); });
  });
}

void TcpState::SendHandshake(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  if (const Status status = CheckChallenge(*secret, greeting->hello, greeting->challenge); !status.ok()) {
    return greeting->conversation->Fail(status);
  }
  const std::shared_ptr<Peer> known = FindOrAdd(peer);
  greeting->connection = RandomSeed() | 1;
  greeting->handshake = MakeHandshake(Identity(), peer, greeting->connection, known->memory());
  ProveHandshake(*secret, greeting->hello, greeting->challenge, greeting->handshake);
  greeting->conversation->Write(&greeting->handshake, sizeof greeting->handshake, [this, peer, greeting] {
    greeting->conversation->Read(&greeting->reply, sizeof greeting->reply,
                                 [this, peer, greeting] { OnReply(peer, greeting); });
  });
}

void TcpState::OnReply(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  if (const Status status = ReadReply(*secret, greeting->challenge, greeting->handshake, greeting->reply);
      !status.ok()) {
    return greeting->conversation->Fail(status);
  }
  greeting->end = {.magic = wire::kHandshakeMagic, .shared_memory = 0};
  const char* const place = greeting->reply.meeting_place;
  if (doorbell == nullptr || greeting->reply.shared_memory == 0) return EndDial(peer, greeting);
  std::memcpy(greeting->token.data(), greeting->reply.meeting_token, greeting->token.size());
  greeting->conversation->Rest();
  greeting->visit = Visit::Start(loop, std::string(place, ::strnlen(place, sizeof greeting->reply.meeting_place)),
                                 greeting->token, doorbell->fd(),
                                 [this, peer, weak = std::weak_ptr<Greeting>(greeting)](StatusOr<SharedMemory> memory) {
                                   const auto visitor = weak.lock();
                                   if (visitor == nullptr || visitor->conversation->ended()) return;
                                   if (memory.ok()) visitor->memory = *std::move(memory);
                                   visitor->end.shared_memory = visitor->memory ? 1 : 0;
                                   EndDial(peer, visitor);
                                 });
}

void TcpState::EndDial(NodeId peer, const std::shared_ptr<Greeting>& greeting) {
  greeting->conversation->Write(&greeting->end, sizeof greeting->end, [this, peer, greeting] {
    const auto it = dials.find(peer);
    if (stopped || it == dials.end() || it->second.greeting != greeting) return greeting->conversation->Cancel();
    it->second.greeting = nullptr;
    it->second.connected_at = loop.time().Now();
    AddLink(peer, greeting, true);
  });
}

void TcpState::DialFailed(NodeId peer, const Greeting* greeting, const Status& status) {
  const auto it = dials.find(peer);
  if (stopped || it == dials.end() || it->second.greeting.get() != greeting) return;
  Dial& dial = it->second;
  dial.greeting = nullptr;
  const Status reason = Annotate(status, "node " + std::to_string(peer.value()) + " at " + dial.address);
  FindOrAdd(peer)->SetDialError(reason);
  // Who answers there now may be another job that was given the address of a pod that is gone. Only the coordinator
  // knows what became of the peer: until it says so with a map, this node keeps asking.
  const bool refused = status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kAborted;
  const MonotonicTime now = loop.time().Now();
  if (refused && (dial.logged != status.code() || now >= dial.logged_at + kSameNewsAfter)) {
    dial.logged = status.code();
    dial.logged_at = now;
    log::Warn("a peer refuses this node; it is dialed again until the map says that it is gone", {{"reason", reason}});
  } else {
    log::Debug("cannot reach a peer yet", {{"reason", reason}});
  }
  DialLater(peer);
}

// A link that ends soon after it began may do so each time, because of what is said over it.
void TcpState::DialAfterBreak(NodeId peer) {
  Dial& dial = dials.at(peer);
  const bool lasted = loop.time().Now() >= dial.connected_at + kLastingLink;
  dial.backoff = lasted ? kDialBackoffFirst : std::min(dial.backoff, kBriefLinkBackoffMax);
  DialLater(peer);
}

// Between half and the whole of a backoff that doubles, so that many workers do not return in step.
void TcpState::DialLater(NodeId peer) {
  Dial& dial = dials.at(peer);
  const Duration wait =
      dial.backoff / 2 +
      Duration(static_cast<int64_t>(random.Below(static_cast<uint64_t>(dial.backoff.count() / 2 + 1))));
  dial.backoff = std::min(dial.backoff * 2, kBackoffMax);
  dial.redial = loop.NewTimer();
  dial.redial->SetAt(loop.time().Now() + wait, [this, peer] {
    const auto known = Find(peer);
    if (!stopped && dials.contains(peer) && (known == nullptr || !known->connected())) DialNow(peer);
  });
}

}  // namespace attune::ps
