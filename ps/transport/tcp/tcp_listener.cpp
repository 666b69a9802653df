// Accepting connections, and the listener's side of a handshake.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/os/file.h"
#include "ps/transport/security/job_authority.h"
#include "ps/transport/tcp/connect/tcp_socket.h"
#include "ps/transport/tcp/listen_rule.h"
#include "ps/transport/tcp/tcp_state.h"

namespace attune::ps {
namespace {

constexpr uint32_t kTlsHandshakeBytes = 0x03'16;  // how TLS begins: a handshake record of version 3.x
constexpr Duration kAcceptPause = std::chrono::milliseconds(200);

}  // namespace

Status TcpState::Open() {
  ASSIGN_OR_RETURN(secret, JobSecret::Create(options.job_uid, options.token));
  if (!options.tls_directory.empty()) {
    ASSIGN_OR_RETURN(tls, TlsContext::Create(options.tls_directory, options.job_uid));
  } else if (options.encrypted) {
    ASSIGN_OR_RETURN(const TlsFiles own, IssueCertificate(*secret));
    ASSIGN_OR_RETURN(tls, TlsContext::Create(own, kSelfIssuedName));
  }
  if (!options.bind_address.empty()) {
    RETURN_IF_ERROR(CheckListenAddress(options.bind_address, options.token, options.tls_directory));
    ASSIGN_OR_RETURN(ListeningSocket listening, ListenAt(options.bind_address, options.port));
    listener = std::move(listening.fd);
    address = std::move(listening.address);
  }
  loop.Post([state = shared_from_this()] {
    if (state->stopped) return;
    state->loop.SetParticipant(&state->rounds);
    state->OpenRendezvous();
    if (!state->listener.valid()) return;
    state->accept_watch =
        state->loop.WatchFile(state->listener.get(), [state = state.get()](bool, bool) { state->Accept(); });
    state->accept_watch->Want(true, false);
  });
  return OkStatus();
}

void TcpState::OpenRendezvous() {
  if (!options.shared_memory) return;
  auto made = Doorbell::Create(loop);
  if (made.ok()) doorbell = *std::move(made);
  if (doorbell == nullptr || !listener.valid()) return;
  auto place = Rendezvous::Open(
      loop, doorbell->fd(), [this](const RendezvousToken& token) { return expected.contains(token); },
      [this](const RendezvousToken& token, SharedMemory memory) {
        const auto it = expected.find(token);
        if (it == expected.end()) return;
        if (const auto exchange = it->second.lock()) exchange->memory = std::move(memory);
        expected.erase(it);
      });
  if (place.ok()) {
    rendezvous = *std::move(place);
  } else {
    log::Debug("no shared memory with other processes", {{"reason", place.status()}});
  }
}

void TcpState::Accept() {
  for (;;) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    FileDescriptor fd(
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // Out of descriptors, most likely: a pause, so that the loop does not spin.
      log::Warn("cannot accept a connection", {{"reason", ErrnoText(errno)}});
      accept_watch->Want(false, false);
      accept_again = loop.NewTimer();
      accept_again->SetAt(loop.time().Now() + kAcceptPause, [this] { accept_watch->Want(true, false); });
      return;
    }
    if (!RoomForAnother()) {
      log::Warn("a connection was closed because there are too many; look who dials this port",
                {{"from", TextOf(from, false)}, {"links", TcpTransport::kLinksMax}});
      continue;
    }
    Admit(std::move(fd), TextOf(from, false));
  }
}

// Who dials may be anybody: until it has proved itself it gets one of a bounded number of places, little memory and
// little time.
void TcpState::Admit(FileDescriptor fd, const std::string& source) {
  auto exchange = std::make_shared<HandshakeExchange>();
  exchange->id = ++last_exchange;
  if (const auto shed = pending.Begin(exchange->id, source)) {
    const auto slow = accepting.find(*shed);
    LogStranger(source,
                Error(StatusCode::kResourceExhausted, "too many connections without a handshake; the oldest of " +
                                                          slow->second->conversation->peer_address() + " is closed"));
    slow->second->conversation->Cancel();
    accepting.erase(slow);
  }
  exchange->conversation =
      Conversation::Start(loop, TcpTransport::kHandshakeTimeout, [this, id = exchange->id](const Status& status) {
        const auto failed = accepting.find(id);
        if (failed == accepting.end()) return;
        // Port scanners and early dialers are no news; wrong certificates are.
        if (status.code() == StatusCode::kUnauthenticated) {
          LogStranger(failed->second->conversation->peer_address(), status);
        }
        Dismiss(id);
      });
  exchange->conversation->set_peer_address(source);
  accepting[exchange->id] = exchange;
  NoDelay(fd.get());
  // The first bytes show whether the dialer speaks TLS.
  exchange->conversation->Peek(std::move(fd), &exchange->first_bytes, sizeof exchange->first_bytes,
                               [this, exchange](FileDescriptor peeked) { Secure(exchange, std::move(peeked)); });
}

void TcpState::Dismiss(uint64_t id) {
  const auto it = accepting.find(id);
  if (it == accepting.end()) return;
  pending.End(id);
  expected.erase(it->second->token);
  accepting.erase(it);
}

// At most a line each second, whatever strangers do.
void TcpState::LogStranger(const std::string& source, const Status& reason) {
  if (const auto passed_over = strangers_logged.Next(loop.time().Now())) {
    log::Warn("refused a connection", {{"from", source}, {"reason", reason}, {"not_logged_before", *passed_over}});
  }
}

void TcpState::Secure(const std::shared_ptr<HandshakeExchange>& exchange, FileDescriptor fd) {
  const std::shared_ptr<Conversation>& conversation = exchange->conversation;
  const bool plain = exchange->first_bytes == wire::kHandshakeMagic;
  if (tls == nullptr || plain) {
    conversation->Use(Stream::Plain(std::move(fd)));
    if (plain) return ReadHello(exchange);
    const bool speaks_tls = (exchange->first_bytes & 0xFFFF) == kTlsHandshakeBytes;
    return RefuseUnheard(exchange, Error(StatusCode::kInvalidArgument,
                                         speaks_tls ? "the peer speaks TLS and this node's rows are not encrypted"
                                                    : "the peer does not speak Attune's row protocol"));
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kListener);
  if (!secured.ok()) {
    log::Error("cannot serve TLS", {{"reason", secured.status()}});
    return conversation->Fail(secured.status());
  }
  conversation->Use(*std::move(secured));
  conversation->ShakeHands([this, exchange] { ReadHello(exchange); });
}

// A constant for all that may be wrong; the log has the reason.
void TcpState::RefuseUnheard(const std::shared_ptr<HandshakeExchange>& exchange, const Status& reason) {
  LogStranger(exchange->conversation->peer_address(), reason);
  exchange->challenge = RefuseStranger();
  exchange->conversation->Write(&exchange->challenge, sizeof exchange->challenge, [this, exchange] {
    exchange->conversation->Cancel();
    Dismiss(exchange->id);
  });
}

void TcpState::ReadHello(const std::shared_ptr<HandshakeExchange>& exchange) {
  exchange->conversation->Read(&exchange->hello, sizeof exchange->hello, [this, exchange] { OnHello(exchange); });
}

void TcpState::OnHello(const std::shared_ptr<HandshakeExchange>& exchange) {
  if (tls != nullptr && exchange->first_bytes == wire::kHandshakeMagic) {
    return RefuseUnheard(exchange,
                         Error(StatusCode::kFailedPrecondition,
                               "this job's rows are encrypted and the peer's are not; give all pods of the job "
                               "the same settings"));
  }
  if (const Status status = CheckHello(exchange->hello); !status.ok()) return RefuseUnheard(exchange, status);
  exchange->challenge = MakeChallenge(*secret, exchange->hello, FreshNonce());
  exchange->conversation->Write(&exchange->challenge, sizeof exchange->challenge, [this, exchange] {
    exchange->conversation->Read(&exchange->handshake, sizeof exchange->handshake,
                                 [this, exchange] { OnHandshake(exchange); });
  });
}

void TcpState::OnHandshake(const std::shared_ptr<HandshakeExchange>& exchange) {
  if (const Status status = CheckProof(*secret, exchange->hello, exchange->challenge, exchange->handshake);
      !status.ok()) {
    LogStranger(exchange->conversation->peer_address(), status);
    exchange->reply = RefuseUnproved();
    return EndRefused(exchange);
  }
  pending.End(exchange->id);
  Answer(exchange);
}

// To a node of the job, in words.
void TcpState::Refuse(const std::shared_ptr<HandshakeExchange>& exchange, const Status& status) {
  // Early dialers are no news.
  const bool news = status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kAborted;
  log::Write(news ? log::Level::kWarn : log::Level::kDebug, "refused a connection of a node of the job",
             {{"from", exchange->conversation->peer_address()}, {"reason", status}});
  exchange->reply = MakeReply(status);
  ProveReply(*secret, exchange->challenge, exchange->handshake, exchange->reply);
  EndRefused(exchange);
}

void TcpState::EndRefused(const std::shared_ptr<HandshakeExchange>& exchange) {
  exchange->conversation->Write(&exchange->reply, sizeof exchange->reply, [this, exchange] {
    exchange->conversation->Cancel();
    Dismiss(exchange->id);
  });
}

void TcpState::Answer(const std::shared_ptr<HandshakeExchange>& exchange) {
  if (const Status status = CheckHandshake(exchange->handshake, Identity()); !status.ok()) {
    return Refuse(exchange, status);
  }
  const NodeId node(exchange->handshake.node);
  // Nothing is kept of a dialer before its handshake is through.
  const std::shared_ptr<Peer> peer = peers.Find(node);
  const bool connected = peer != nullptr && peer->connected();
  const auto dial = dials.find(node);
  const Status chosen = ChooseConnection(exchange->handshake, NodeId(self.load()),
                                         {.connected = connected,
                                          .connection = peer == nullptr ? 0 : peer->memory().connection,
                                          .dialing = dial != dials.end() && dial->second.exchange != nullptr});
  if (!chosen.ok()) return Refuse(exchange, chosen);
  // What the old connection still held is not handled any more: the answer says where the dialer continues.
  if (connected) {
    EndLink(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  const LinkMemory memory = peer == nullptr ? LinkMemory() : peer->memory();
  exchange->reply = MakeReply(OkStatus());
  exchange->reply.incarnation = incarnation;
  exchange->reply.met = memory.peer_incarnation;
  const bool both_remember =
      memory.peer_incarnation == exchange->handshake.incarnation && exchange->handshake.met == incarnation;
  exchange->reply.delivered = both_remember ? memory.delivered : 0;
  if (rendezvous != nullptr) {
    const uint64_t meeting_token[] = {RandomSeed(), RandomSeed()};
    std::memcpy(exchange->token.data(), meeting_token, sizeof meeting_token);
    expected[exchange->token] = exchange;
    exchange->reply.shared_memory = 1;
    rendezvous->name().copy(exchange->reply.rendezvous, sizeof exchange->reply.rendezvous - 1);
    std::memcpy(exchange->reply.meeting_token, meeting_token, sizeof meeting_token);
  }
  ProveReply(*secret, exchange->challenge, exchange->handshake, exchange->reply);
  exchange->conversation->Write(&exchange->reply, sizeof exchange->reply, [this, exchange] {
    exchange->conversation->Read(&exchange->end, sizeof exchange->end, [this, exchange] { Accepted(exchange); });
  });
}

void TcpState::Accepted(const std::shared_ptr<HandshakeExchange>& exchange) {
  Dismiss(exchange->id);
  const bool wants_memory = exchange->end.shared_memory != 0;
  if (exchange->end.magic != wire::kHandshakeMagic || (wants_memory && !exchange->memory)) {
    return exchange->conversation->Cancel();
  }
  if (!wants_memory) exchange->memory.reset();
  // This side may have dialed meanwhile; both have agreed on this connection.
  const NodeId node(exchange->handshake.node);
  if (const auto dial = dials.find(node); dial != dials.end()) {
    if (dial->second.exchange != nullptr) dial->second.exchange->conversation->Cancel();
    dial->second.exchange = nullptr;
    dial->second.redial = nullptr;
    dial->second.connected_at = loop.time().Now();
  }
  AddLink(node, exchange, false);
}

}  // namespace attune::ps
