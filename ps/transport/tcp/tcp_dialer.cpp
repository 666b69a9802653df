// Dialing, and the dialer's side of a handshake.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "ps/transport/tcp/connect/tcp_socket.h"
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
  if (it != dials.end() && it->second.exchange != nullptr) it->second.exchange->conversation->Cancel();
  dials[peer] = {.address = to};
  const std::shared_ptr<Peer> known = peers.FindOrAdd(peer);
  if (!known->connected()) DialNow(peer);
}

void TcpState::Disconnect(NodeId node) {
  if (const auto it = dials.find(node); it != dials.end()) {
    if (it->second.exchange != nullptr) it->second.exchange->conversation->Cancel();
    dials.erase(it);
  }
  const std::shared_ptr<Peer> peer = peers.Find(node);
  if (peer == nullptr) return;
  peers.Remove(node);
  if (peer->connected()) EndLink(peer, node, Error(StatusCode::kUnavailable, "disconnected by this node"));
}

void TcpState::DialNow(NodeId peer) {
  Dial& dial = dials.at(peer);
  auto exchange = std::make_shared<HandshakeExchange>();
  dial.exchange = exchange;
  dial.redial = nullptr;
  exchange->conversation = Conversation::Start(
      loop, kDialTimeout, [this, peer, raw = exchange.get()](const Status& status) { DialFailed(peer, raw, status); });
  std::string host, port;
  if (!SplitAddress(dial.address, host, port)) {
    return exchange->conversation->Fail(Error(StatusCode::kInvalidArgument, "'" + dial.address + "' is not host:port"));
  }
  exchange->conversation->Connect(host, port, names, [this, peer, exchange] { Dialed(peer, exchange); });
}

void TcpState::Dialed(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange) {
  FileDescriptor fd = exchange->conversation->TakeDescriptor();
  Tune(fd.get());
  if (tls == nullptr) {
    exchange->conversation->Use(Stream::Plain(std::move(fd)));
    return SendHello(peer, exchange);
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kDialer);
  if (!secured.ok()) return exchange->conversation->Fail(secured.status());
  exchange->conversation->Use(*std::move(secured));
  exchange->conversation->ShakeHands([this, peer, exchange] { SendHello(peer, exchange); });
}

void TcpState::SendHello(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange) {
  exchange->hello = MakeHello(FreshNonce());
  exchange->conversation->Write(&exchange->hello, sizeof exchange->hello, [this, peer, exchange] {
    exchange->conversation->Read(&exchange->challenge, sizeof exchange->challenge,
                                 [this, peer, exchange] { SendHandshake(peer, exchange); });
  });
}

void TcpState::SendHandshake(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange) {
  if (const Status status = CheckChallenge(*secret, exchange->hello, exchange->challenge); !status.ok()) {
    return exchange->conversation->Fail(status);
  }
  const std::shared_ptr<Peer> known = peers.FindOrAdd(peer);
  exchange->connection = RandomSeed() | 1;
  exchange->handshake = MakeHandshake(Identity(), peer, exchange->connection, known->memory());
  ProveHandshake(*secret, exchange->hello, exchange->challenge, exchange->handshake);
  exchange->conversation->Write(&exchange->handshake, sizeof exchange->handshake, [this, peer, exchange] {
    exchange->conversation->Read(&exchange->reply, sizeof exchange->reply,
                                 [this, peer, exchange] { OnReply(peer, exchange); });
  });
}

void TcpState::OnReply(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange) {
  if (const Status status = ReadReply(*secret, exchange->challenge, exchange->handshake, exchange->reply);
      !status.ok()) {
    return exchange->conversation->Fail(status);
  }
  exchange->end = {.magic = wire::kHandshakeMagic, .shared_memory = 0};
  const char* const place = exchange->reply.rendezvous;
  if (doorbell == nullptr || exchange->reply.shared_memory == 0) return EndDial(peer, exchange);
  std::memcpy(exchange->token.data(), exchange->reply.meeting_token, exchange->token.size());
  exchange->conversation->Rest();
  exchange->rendezvous = RendezvousClient::Start(
      loop, std::string(place, ::strnlen(place, sizeof exchange->reply.rendezvous)), exchange->token, doorbell->fd(),
      [this, peer, weak = std::weak_ptr<HandshakeExchange>(exchange)](StatusOr<SharedMemory> memory) {
        const auto visitor = weak.lock();
        if (visitor == nullptr || visitor->conversation->ended()) return;
        if (memory.ok()) visitor->memory = *std::move(memory);
        visitor->end.shared_memory = visitor->memory ? 1 : 0;
        EndDial(peer, visitor);
      });
}

void TcpState::EndDial(NodeId peer, const std::shared_ptr<HandshakeExchange>& exchange) {
  exchange->conversation->Write(&exchange->end, sizeof exchange->end, [this, peer, exchange] {
    const auto it = dials.find(peer);
    if (stopped || it == dials.end() || it->second.exchange != exchange) return exchange->conversation->Cancel();
    it->second.exchange = nullptr;
    it->second.connected_at = loop.time().Now();
    AddLink(peer, exchange, true);
  });
}

void TcpState::DialFailed(NodeId peer, const HandshakeExchange* exchange, const Status& status) {
  const auto it = dials.find(peer);
  if (stopped || it == dials.end() || it->second.exchange.get() != exchange) return;
  Dial& dial = it->second;
  dial.exchange = nullptr;
  const Status reason = Annotate(status, "node " + std::to_string(peer.value()) + " at " + dial.address);
  peers.FindOrAdd(peer)->SetDialError(reason);
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
    const auto known = peers.Find(peer);
    if (!stopped && dials.contains(peer) && (known == nullptr || !known->connected())) DialNow(peer);
  });
}

}  // namespace attune::ps
