#include "ps/transport/tcp/connect/tcp_dialer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "ps/transport/tcp/connect/tcp_socket.h"

namespace attune::ps {
namespace {

constexpr Duration kSameNewsAfter = std::chrono::minutes(1);  // the same refusal is said again
constexpr Duration kDialTimeout = std::chrono::seconds(5);

}  // namespace

void TcpDialer::Connect(NodeId peer, const std::string& address) {
  if (stopped_) return;
  const auto it = dials_.find(peer);
  if (it != dials_.end() && it->second.address == address) return;
  if (it != dials_.end() && it->second.attempt != nullptr) it->second.attempt->conversation->Cancel();
  dials_[peer] = {.address = address};
  links_.Expect(peer);
  if (!links_.Present(peer).connected) DialNow(peer);
}

void TcpDialer::Disconnect(NodeId peer) {
  const auto it = dials_.find(peer);
  if (it == dials_.end()) return;
  if (it->second.attempt != nullptr) it->second.attempt->conversation->Cancel();
  dials_.erase(it);
}

void TcpDialer::Yield(NodeId peer) {
  const auto it = dials_.find(peer);
  if (it == dials_.end()) return;
  Dial& dial = it->second;
  if (dial.attempt != nullptr) dial.attempt->conversation->Cancel();
  dial.attempt = nullptr;
  dial.redial = nullptr;
  dial.connected_at = node_.loop.time().Now();
}

bool TcpDialer::IsDialing(NodeId peer) const {
  const auto it = dials_.find(peer);
  return it != dials_.end() && it->second.attempt != nullptr;
}

void TcpDialer::Stop() {
  stopped_ = true;
  for (auto& [peer, dial] : dials_) {
    if (dial.attempt != nullptr) dial.attempt->conversation->Cancel();
  }
  dials_.clear();
}

// --- an attempt, step by step

void TcpDialer::DialNow(NodeId peer) {
  Dial& dial = dials_.at(peer);
  auto attempt = std::make_shared<Attempt>();
  dial.attempt = attempt;
  dial.redial = nullptr;
  attempt->conversation = Conversation::Start(
      node_.loop, kDialTimeout, [this, peer, raw = attempt.get()](const Status& status) { Failed(peer, raw, status); });
  std::string host, port;
  if (!SplitAddress(dial.address, host, port)) {
    return attempt->conversation->Fail(Error(StatusCode::kInvalidArgument, "'" + dial.address + "' is not host:port"));
  }
  attempt->conversation->Connect(host, port, names_, [this, peer, attempt] { Dialed(peer, attempt); });
}

void TcpDialer::Dialed(NodeId peer, const std::shared_ptr<Attempt>& attempt) {
  FileDescriptor fd = attempt->conversation->TakeDescriptor();
  Tune(fd.get());
  if (node_.tls == nullptr) {
    attempt->conversation->Use(Stream::Plain(std::move(fd)));
    return SendHello(peer, attempt);
  }
  auto secured = node_.tls->Wrap(std::move(fd), TlsContext::kDialer);
  if (!secured.ok()) return attempt->conversation->Fail(secured.status());
  attempt->conversation->Use(*std::move(secured));
  attempt->conversation->ShakeHands([this, peer, attempt] { SendHello(peer, attempt); });
}

void TcpDialer::SendHello(NodeId peer, const std::shared_ptr<Attempt>& attempt) {
  attempt->hello = MakeHello(FreshNonce());
  attempt->conversation->Write(&attempt->hello, sizeof attempt->hello, [this, peer, attempt] {
    attempt->conversation->Read(&attempt->challenge, sizeof attempt->challenge,
                                [this, peer, attempt] { SendHandshake(peer, attempt); });
  });
}

void TcpDialer::SendHandshake(NodeId peer, const std::shared_ptr<Attempt>& attempt) {
  if (const Status status = CheckChallenge(node_.secret, attempt->hello, attempt->challenge); !status.ok()) {
    return attempt->conversation->Fail(status);
  }
  attempt->handshake = MakeHandshake(node_.Identity(), peer, RandomSeed() | 1, links_.MemoryOf(peer));
  ProveHandshake(node_.secret, attempt->hello, attempt->challenge, attempt->handshake);
  attempt->conversation->Write(&attempt->handshake, sizeof attempt->handshake, [this, peer, attempt] {
    attempt->conversation->Read(&attempt->reply, sizeof attempt->reply,
                                [this, peer, attempt] { OnReply(peer, attempt); });
  });
}

void TcpDialer::OnReply(NodeId peer, const std::shared_ptr<Attempt>& attempt) {
  if (const Status status = ReadReply(node_.secret, attempt->challenge, attempt->handshake, attempt->reply);
      !status.ok()) {
    return attempt->conversation->Fail(status);
  }
  attempt->end = {.magic = wire::kHandshakeMagic, .shared_memory = 0};
  const char* const place = attempt->reply.rendezvous;
  if (node_.doorbell == nullptr || attempt->reply.shared_memory == 0) return SendEnd(peer, attempt);
  std::memcpy(attempt->token.data(), attempt->reply.meeting_token, attempt->token.size());
  attempt->conversation->Rest();
  attempt->rendezvous = RendezvousClient::Start(
      node_.loop, std::string(place, ::strnlen(place, sizeof attempt->reply.rendezvous)), attempt->token,
      node_.doorbell->fd(), [this, peer, weak = std::weak_ptr<Attempt>(attempt)](StatusOr<SharedMemory> memory) {
        const auto visitor = weak.lock();
        if (visitor == nullptr || visitor->conversation->ended()) return;
        if (memory.ok()) visitor->memory = *std::move(memory);
        visitor->end.shared_memory = visitor->memory ? 1 : 0;
        SendEnd(peer, visitor);
      });
}

void TcpDialer::SendEnd(NodeId peer, const std::shared_ptr<Attempt>& attempt) {
  attempt->conversation->Write(&attempt->end, sizeof attempt->end, [this, peer, attempt] {
    const auto it = dials_.find(peer);
    if (it == dials_.end() || it->second.attempt != attempt) return attempt->conversation->Cancel();
    it->second.attempt = nullptr;
    it->second.connected_at = node_.loop.time().Now();
    const wire::HandshakeReply& reply = attempt->reply;
    links_.Add(peer, {.dialed = true,
                      .incarnation = reply.incarnation,
                      .remembers = reply.met == node_.incarnation,
                      .delivered = reply.delivered,
                      .connection = attempt->handshake.connection,
                      .stream = attempt->conversation->Take(),
                      .memory = std::move(attempt->memory)});
  });
}

void TcpDialer::Failed(NodeId peer, const Attempt* attempt, const Status& status) {
  const auto it = dials_.find(peer);
  if (it == dials_.end() || it->second.attempt.get() != attempt) return;
  Dial& dial = it->second;
  dial.attempt = nullptr;
  const Status reason = Annotate(status, "node " + std::to_string(peer.value()) + " at " + dial.address);
  links_.SetDialError(peer, reason);
  // Who answers there now may be another job that was given the address of a pod that is gone. Only the coordinator
  // knows what became of the peer: until it says so with a map, this node keeps asking.
  const bool refused = status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kAborted;
  const MonotonicTime now = node_.loop.time().Now();
  if (refused && (dial.logged != status.code() || now >= dial.logged_at + kSameNewsAfter)) {
    dial.logged = status.code();
    dial.logged_at = now;
    log::Warn("a peer refuses this node; it is dialed again until the map says that it is gone", {{"reason", reason}});
  } else {
    log::Debug("cannot reach a peer yet", {{"reason", reason}});
  }
  Redial(peer);
}

// --- when to dial again

void TcpDialer::RedialAfterBreak(NodeId peer) {
  Dial& dial = dials_.at(peer);
  const bool lasted = node_.loop.time().Now() >= dial.connected_at + kLastingLink;
  dial.backoff = lasted ? kBackoffFirst : std::min(dial.backoff, kBriefLinkBackoffMax);
  Redial(peer);
}

// Between half and the whole of a backoff that doubles, so that many workers do not return in step.
void TcpDialer::Redial(NodeId peer) {
  Dial& dial = dials_.at(peer);
  const Duration wait =
      dial.backoff / 2 +
      Duration(static_cast<int64_t>(random_.Below(static_cast<uint64_t>(dial.backoff.count() / 2 + 1))));
  dial.backoff = std::min(dial.backoff * 2, kBackoffMax);
  dial.redial = node_.loop.NewTimer();
  dial.redial->SetAt(node_.loop.time().Now() + wait, [this, peer] {
    if (dials_.contains(peer) && !links_.Present(peer).connected) DialNow(peer);
  });
}

}  // namespace attune::ps
