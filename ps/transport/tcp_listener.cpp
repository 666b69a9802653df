// Accepting connections, and the listener's side of a handshake.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "ps/transport/tcp_socket.h"
#include "ps/transport/tcp_state.h"

namespace attune::ps {
namespace {

constexpr uint32_t kTlsHandshakeBytes = 0x03'16;  // how TLS begins: a handshake record of version 3.x
constexpr Duration kAcceptPause = std::chrono::milliseconds(200);

}  // namespace

Status TcpState::Open() {
  if (options.token.size() > TcpTransport::kTokenBytesMax) {
    return Error(StatusCode::kInvalidArgument, "the job's token has " + std::to_string(options.token.size()) +
                                                   " bytes; at most " + std::to_string(TcpTransport::kTokenBytesMax) +
                                                   " are allowed");
  }
  if (!options.tls_directory.empty()) {
    ASSIGN_OR_RETURN(tls, TlsContext::Create(options.tls_directory, options.job_uid));
  }
  if (!options.bind_address.empty()) {
    ASSIGN_OR_RETURN(ListeningSocket listening, ListenAt(options.bind_address, options.port));
    listener = std::move(listening.fd);
    address = std::move(listening.address);
  }
  loop.Post([state = shared_from_this()] {
    if (state->stopped) return;
    state->loop.SetParticipant(state.get());
    state->OpenMeetingPlace();
    if (!state->listener.valid()) return;
    state->accept_watch =
        state->loop.WatchFile(state->listener.get(), [state = state.get()](bool, bool) { state->Accept(); });
    state->accept_watch->Want(true, false);
  });
  return OkStatus();
}

void TcpState::OpenMeetingPlace() {
  if (!options.shared_memory) return;
  auto made = Doorbell::Create(loop);
  if (made.ok()) doorbell = *std::move(made);
  if (doorbell == nullptr || !listener.valid()) return;
  auto place = MeetingPlace::Open(
      loop, doorbell->fd(), [this](const MeetingToken& token) { return expected.contains(token); },
      [this](const MeetingToken& token, SharedMemory memory) {
        const auto it = expected.find(token);
        if (it == expected.end()) return;
        if (const auto greeting = it->second.lock()) greeting->memory = std::move(memory);
        expected.erase(it);
      });
  if (place.ok()) {
    meeting_place = *std::move(place);
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
    auto greeting = std::make_shared<Greeting>();
    greeting->conversation = Conversation::Start(
        loop, TcpTransport::kHandshakeTimeout, [this, weak = std::weak_ptr<Greeting>(greeting)](const Status& status) {
          const auto failed = weak.lock();
          if (failed == nullptr) return;
          // Port scanners and early dialers are no news; wrong certificates are.
          if (status.code() == StatusCode::kUnauthenticated) {
            log::Warn("refused a connection", {{"from", failed->conversation->peer_address()}, {"reason", status}});
          }
          accepting.erase(failed);
        });
    greeting->conversation->set_peer_address(TextOf(from, false));
    accepting.insert(greeting);
    Greet(greeting, std::move(fd));
  }
}

// The first bytes tell whether the dialer speaks TLS; who does not, where it is needed, is told in words it reads.
void TcpState::Greet(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd) {
  Tune(fd.get());
  greeting->conversation->Peek(std::move(fd), &greeting->first_bytes, sizeof greeting->first_bytes,
                               [this, greeting](FileDescriptor peeked) { Secure(greeting, std::move(peeked)); });
}

void TcpState::Secure(const std::shared_ptr<Greeting>& greeting, FileDescriptor fd) {
  const std::shared_ptr<Conversation>& conversation = greeting->conversation;
  if (tls == nullptr || greeting->first_bytes == wire::kHandshakeMagic) {
    conversation->Use(Stream::Plain(std::move(fd)));
    if (tls == nullptr && (greeting->first_bytes & 0xFFFF) == kTlsHandshakeBytes) {
      return Refuse(greeting,
                    Error(StatusCode::kFailedPrecondition, "the peer speaks TLS and this node has no certificates"));
    }
    return ReadHandshake(greeting);
  }
  auto secured = tls->Wrap(std::move(fd), TlsContext::kListener);
  if (!secured.ok()) {
    log::Error("cannot serve TLS", {{"reason", secured.status()}});
    return conversation->Fail(secured.status());
  }
  conversation->Use(*std::move(secured));
  conversation->ShakeHands([this, greeting] { ReadHandshake(greeting); });
}

void TcpState::ReadHandshake(const std::shared_ptr<Greeting>& greeting) {
  greeting->conversation->Read(&greeting->handshake, sizeof greeting->handshake,
                               [this, greeting] { Answer(greeting); });
}

void TcpState::Refuse(const std::shared_ptr<Greeting>& greeting, const Status& status) {
  // Early dialers are no news; a wrong job, release or secret is.
  const bool news = status.code() == StatusCode::kFailedPrecondition || status.code() == StatusCode::kUnauthenticated;
  log::Write(news ? log::Level::kWarn : log::Level::kDebug, "refused a connection",
             {{"from", greeting->conversation->peer_address()}, {"reason", status}});
  greeting->reply = MakeReply(status);
  greeting->conversation->Write(&greeting->reply, sizeof greeting->reply, [this, greeting] {
    greeting->conversation->Cancel();
    accepting.erase(greeting);
  });
}

void TcpState::Answer(const std::shared_ptr<Greeting>& greeting) {
  if (tls != nullptr && greeting->first_bytes == wire::kHandshakeMagic) {
    return Refuse(greeting, Error(StatusCode::kFailedPrecondition,
                                  "this job's nodes speak TLS only; give the dialing pod the job's certificates"));
  }
  if (const Status status = CheckHandshake(greeting->handshake, Identity()); !status.ok()) {
    return Refuse(greeting, status);
  }
  const NodeId node(greeting->handshake.node);
  if (node.value() == self) return Refuse(greeting, Error(StatusCode::kInvalidArgument, "a node dials itself"));
  // Nothing is kept of a dialer before its handshake is through.
  const std::shared_ptr<Peer> peer = Find(node);
  const bool connected = peer != nullptr && peer->connected();
  const auto dial = dials.find(node);
  const Status chosen = ChooseConnection(greeting->handshake, NodeId(self.load()),
                                         {.connected = connected,
                                          .connection = peer == nullptr ? 0 : peer->memory().connection,
                                          .dialing = dial != dials.end() && dial->second.greeting != nullptr});
  if (!chosen.ok()) return Refuse(greeting, chosen);
  // What the old connection still held is not handled any more: the answer says where the dialer goes on.
  if (connected) {
    EndLink(peer, node, Error(StatusCode::kUnavailable, "replaced by a newer connection of the same node"));
  }
  const LinkMemory memory = peer == nullptr ? LinkMemory() : peer->memory();
  greeting->reply = MakeReply(OkStatus());
  greeting->reply.incarnation = incarnation;
  greeting->reply.met = memory.peer_incarnation;
  const bool both_remember =
      memory.peer_incarnation == greeting->handshake.incarnation && greeting->handshake.met == incarnation;
  greeting->reply.delivered = both_remember ? memory.delivered : 0;
  if (meeting_place != nullptr) {
    const uint64_t secret[] = {RandomSeed(), RandomSeed()};
    std::memcpy(greeting->token.data(), secret, sizeof secret);
    expected[greeting->token] = greeting;
    greeting->reply.shared_memory = 1;
    meeting_place->name().copy(greeting->reply.meeting_place, sizeof greeting->reply.meeting_place - 1);
    std::memcpy(greeting->reply.meeting_token, secret, sizeof secret);
  }
  greeting->conversation->Write(&greeting->reply, sizeof greeting->reply, [this, greeting] {
    greeting->conversation->Read(&greeting->end, sizeof greeting->end, [this, greeting] { Accepted(greeting); });
  });
}

void TcpState::Accepted(const std::shared_ptr<Greeting>& greeting) {
  expected.erase(greeting->token);
  accepting.erase(greeting);
  const bool wants_memory = greeting->end.shared_memory != 0;
  if (greeting->end.magic != wire::kHandshakeMagic || (wants_memory && !greeting->memory)) {
    return greeting->conversation->Cancel();
  }
  if (!wants_memory) greeting->memory.reset();
  // This side may have dialed meanwhile; both have agreed on this connection.
  const NodeId node(greeting->handshake.node);
  if (const auto dial = dials.find(node); dial != dials.end()) {
    if (dial->second.greeting != nullptr) dial->second.greeting->conversation->Cancel();
    dial->second.greeting = nullptr;
    dial->second.redial = nullptr;
    dial->second.connected_at = loop.time().Now();
  }
  AddLink(node, greeting, false);
}

}  // namespace attune::ps
