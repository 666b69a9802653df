#include "ps/transport/tcp/connect/tcp_listener.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/os/file.h"
#include "ps/transport/tcp/connect/tcp_socket.h"

namespace attune::ps {
namespace {

constexpr uint32_t kTlsHandshakeBytes = 0x03'16;  // how TLS begins: a handshake record of version 3.x
constexpr Duration kAcceptPause = std::chrono::milliseconds(200);

}  // namespace

Status TcpListener::Listen(const std::string& bind_address, uint16_t port) {
  ASSIGN_OR_RETURN(ListeningSocket listening, ListenAt(bind_address, port));
  socket_ = std::move(listening.fd);
  address_ = std::move(listening.address);
  return OkStatus();
}

void TcpListener::Start() {
  if (!socket_.valid()) return;
  if (node_.doorbell != nullptr) OpenRendezvous();
  accept_watch_ = node_.loop.WatchFile(socket_.get(), [this](bool, bool) { Accept(); });
  accept_watch_->Want(true, false);
}

void TcpListener::Stop() {
  accept_watch_.reset();
  accept_again_.reset();
  rendezvous_.reset();
  socket_.Close();
  for (const auto& [id, visitor] : std::exchange(visitors_, {})) visitor->conversation->Cancel();
}

void TcpListener::OpenRendezvous() {
  auto place = Rendezvous::Open(
      node_.loop, node_.doorbell->fd(), [this](const RendezvousToken& token) { return expected_.contains(token); },
      [this](const RendezvousToken& token, SharedMemory memory) {
        const auto it = expected_.find(token);
        if (it == expected_.end()) return;
        if (const auto visitor = it->second.lock()) visitor->memory = std::move(memory);
        expected_.erase(it);
      });
  if (place.ok()) {
    rendezvous_ = *std::move(place);
  } else {
    log::Debug("no shared memory with other processes", {{"reason", place.status()}});
  }
}

// --- accepting

void TcpListener::Accept() {
  for (;;) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    FileDescriptor fd(
        ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      log::Warn("cannot accept a connection", {{"reason", ErrnoText(errno)}});
      return Pause();
    }
    if (!links_.MakeRoom(visitors_.size())) {
      log::Warn("a connection was closed because there are too many; look who dials this port",
                {{"from", TextOf(from, false)}, {"links", limits_.links_max}});
      continue;
    }
    Admit(std::move(fd), TextOf(from, false));
  }
}

// Out of descriptors, most likely: the loop must not spin meanwhile.
void TcpListener::Pause() {
  accept_watch_->Want(false, false);
  accept_again_ = node_.loop.NewTimer();
  accept_again_->SetAt(node_.loop.time().Now() + kAcceptPause, [this] { accept_watch_->Want(true, false); });
}

void TcpListener::Admit(FileDescriptor fd, const std::string& source) {
  auto visitor = std::make_shared<Visitor>();
  visitor->id = ++last_visitor_;
  if (const auto shed = pending_.Begin(visitor->id, source)) {
    const auto slow = visitors_.find(*shed);
    LogStranger(source,
                Error(StatusCode::kResourceExhausted, "too many connections without a handshake; the oldest of " +
                                                          slow->second->conversation->peer_address() + " is closed"));
    slow->second->conversation->Cancel();
    visitors_.erase(slow);
  }
  visitor->conversation =
      Conversation::Start(node_.loop, limits_.handshake_timeout, [this, id = visitor->id](const Status& status) {
        const auto failed = visitors_.find(id);
        if (failed == visitors_.end()) return;
        // Port scanners and early dialers are no news; wrong certificates are.
        if (status.code() == StatusCode::kUnauthenticated) {
          LogStranger(failed->second->conversation->peer_address(), status);
        }
        Dismiss(id);
      });
  visitor->conversation->set_peer_address(source);
  visitors_[visitor->id] = visitor;
  NoDelay(fd.get());
  // The first bytes show whether the dialer speaks TLS.
  visitor->conversation->Peek(std::move(fd), &visitor->first_bytes, sizeof visitor->first_bytes,
                              [this, visitor](FileDescriptor peeked) { Secure(visitor, std::move(peeked)); });
}

void TcpListener::Dismiss(uint64_t id) {
  const auto it = visitors_.find(id);
  if (it == visitors_.end()) return;
  pending_.End(id);
  expected_.erase(it->second->token);
  visitors_.erase(it);
}

// At most a line each second, whatever strangers do.
void TcpListener::LogStranger(const std::string& source, const Status& reason) {
  if (const auto passed_over = strangers_logged_.Next(node_.loop.time().Now())) {
    log::Warn("refused a connection", {{"from", source}, {"reason", reason}, {"not_logged_before", *passed_over}});
  }
}

// --- a handshake, step by step

void TcpListener::Secure(const std::shared_ptr<Visitor>& visitor, FileDescriptor fd) {
  const std::shared_ptr<Conversation>& conversation = visitor->conversation;
  const bool plain = visitor->first_bytes == wire::kHandshakeMagic;
  if (node_.tls == nullptr || plain) {
    conversation->Use(Stream::Plain(std::move(fd)));
    if (plain) return ReadHello(visitor);
    const bool speaks_tls = (visitor->first_bytes & 0xFFFF) == kTlsHandshakeBytes;
    return RefuseUnheard(visitor, Error(StatusCode::kInvalidArgument,
                                        speaks_tls ? "the peer speaks TLS and this node's rows are not encrypted"
                                                   : "the peer does not speak Attune's row protocol"));
  }
  auto secured = node_.tls->Wrap(std::move(fd), TlsContext::kListener);
  if (!secured.ok()) {
    log::Error("cannot serve TLS", {{"reason", secured.status()}});
    return conversation->Fail(secured.status());
  }
  conversation->Use(*std::move(secured));
  conversation->ShakeHands([this, visitor] { ReadHello(visitor); });
}

void TcpListener::ReadHello(const std::shared_ptr<Visitor>& visitor) {
  visitor->conversation->Read(&visitor->hello, sizeof visitor->hello, [this, visitor] { OnHello(visitor); });
}

void TcpListener::OnHello(const std::shared_ptr<Visitor>& visitor) {
  if (node_.tls != nullptr && visitor->first_bytes == wire::kHandshakeMagic) {
    return RefuseUnheard(visitor,
                         Error(StatusCode::kFailedPrecondition,
                               "this job's rows are encrypted and the peer's are not; give all pods of the job "
                               "the same settings"));
  }
  if (const Status status = CheckHello(visitor->hello); !status.ok()) return RefuseUnheard(visitor, status);
  visitor->challenge = MakeChallenge(node_.secret, visitor->hello, FreshNonce());
  visitor->conversation->Write(&visitor->challenge, sizeof visitor->challenge, [this, visitor] {
    visitor->conversation->Read(&visitor->handshake, sizeof visitor->handshake,
                                [this, visitor] { OnHandshake(visitor); });
  });
}

void TcpListener::OnHandshake(const std::shared_ptr<Visitor>& visitor) {
  if (const Status status = CheckProof(node_.secret, visitor->hello, visitor->challenge, visitor->handshake);
      !status.ok()) {
    LogStranger(visitor->conversation->peer_address(), status);
    visitor->reply = RefuseUnproved();
    return EndRefused(visitor);
  }
  pending_.End(visitor->id);
  Answer(visitor);
}

// Nothing is kept of a dialer before its handshake is through.
void TcpListener::Answer(const std::shared_ptr<Visitor>& visitor) {
  if (const Status status = CheckHandshake(visitor->handshake, node_.Identity()); !status.ok()) {
    return Refuse(visitor, status);
  }
  const NodeId node(visitor->handshake.node);
  const Status chosen = ChooseConnection(visitor->handshake, NodeId(node_.self.load()), links_.Present(node));
  if (!chosen.ok()) return Refuse(visitor, chosen);
  // What the old connection still held is not handled any more: the answer says where the dialer continues.
  const LinkMemory memory = links_.Replace(node);
  visitor->reply = MakeReply(OkStatus());
  visitor->reply.incarnation = node_.incarnation;
  visitor->reply.met = memory.peer_incarnation;
  const bool both_remember =
      memory.peer_incarnation == visitor->handshake.incarnation && visitor->handshake.met == node_.incarnation;
  visitor->reply.delivered = both_remember ? memory.delivered : 0;
  if (rendezvous_ != nullptr) OfferMemory(visitor);
  ProveReply(node_.secret, visitor->challenge, visitor->handshake, visitor->reply);
  visitor->conversation->Write(&visitor->reply, sizeof visitor->reply, [this, visitor] {
    visitor->conversation->Read(&visitor->end, sizeof visitor->end, [this, visitor] { OnEnd(visitor); });
  });
}

void TcpListener::OfferMemory(const std::shared_ptr<Visitor>& visitor) {
  const uint64_t meeting_token[] = {RandomSeed(), RandomSeed()};
  std::memcpy(visitor->token.data(), meeting_token, sizeof meeting_token);
  expected_[visitor->token] = visitor;
  visitor->reply.shared_memory = 1;
  rendezvous_->name().copy(visitor->reply.rendezvous, sizeof visitor->reply.rendezvous - 1);
  std::memcpy(visitor->reply.meeting_token, meeting_token, sizeof meeting_token);
}

void TcpListener::OnEnd(const std::shared_ptr<Visitor>& visitor) {
  Dismiss(visitor->id);
  const bool wants_memory = visitor->end.shared_memory != 0;
  if (visitor->end.magic != wire::kHandshakeMagic || (wants_memory && !visitor->memory)) {
    return visitor->conversation->Cancel();
  }
  if (!wants_memory) visitor->memory.reset();
  const wire::Handshake& handshake = visitor->handshake;
  links_.Add(NodeId(handshake.node), {.dialed = false,
                                      .incarnation = handshake.incarnation,
                                      .remembers = handshake.met == node_.incarnation,
                                      .delivered = handshake.delivered,
                                      .connection = handshake.connection,
                                      .stream = visitor->conversation->Take(),
                                      .memory = std::move(visitor->memory)});
}

// --- refusals

// A constant for all that may be wrong; the log has the reason.
void TcpListener::RefuseUnheard(const std::shared_ptr<Visitor>& visitor, const Status& reason) {
  LogStranger(visitor->conversation->peer_address(), reason);
  visitor->challenge = RefuseStranger();
  visitor->conversation->Write(&visitor->challenge, sizeof visitor->challenge, [this, visitor] {
    visitor->conversation->Cancel();
    Dismiss(visitor->id);
  });
}

// To a node of the job, in words.
void TcpListener::Refuse(const std::shared_ptr<Visitor>& visitor, const Status& status) {
  // Early dialers are no news.
  const bool news = status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kAborted;
  log::Write(news ? log::Level::kWarn : log::Level::kDebug, "refused a connection of a node of the job",
             {{"from", visitor->conversation->peer_address()}, {"reason", status}});
  visitor->reply = MakeReply(status);
  ProveReply(node_.secret, visitor->challenge, visitor->handshake, visitor->reply);
  EndRefused(visitor);
}

void TcpListener::EndRefused(const std::shared_ptr<Visitor>& visitor) {
  visitor->conversation->Write(&visitor->reply, sizeof visitor->reply, [this, visitor] {
    visitor->conversation->Cancel();
    Dismiss(visitor->id);
  });
}

}  // namespace attune::ps
