// Who may talk to whom: the fixed messages in front of every connection (layout: proto/frame.h) as pure functions.
//
// Both sides prove that they know the job's secret, by challenge and response, before either says anything about the
// job. Each proof covers everything said before it, in both directions, so nothing can be replayed (both nonces are
// fresh), reflected (dialer and listener prove differently) or exchanged (node ids, incarnations and counts are covered
// too). Who has not proved anything learns nothing: the refusals it gets are constants.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "proto/frame.h"
#include "ps/core/protocol/ids.h"
#include "ps/transport/security/job_secret.h"

namespace attune::ps {

// What a node knows of the link to a peer, over all connections of the pair.
struct LinkMemory {
  uint64_t peer_incarnation = 0;  // 0: never met
  uint64_t connection = 0;        // the present one, or the last; 0: none yet
  uint64_t delivered = 0;         // the peer's frames handled here
};

struct HandshakeIdentity {
  NodeId self;  // 0 while this node has not been given its id
  uint64_t incarnation = 0;
};

// --- the messages, in their order

wire::Hello MakeHello(const KeyBytes& nonce);
// What is wrong with a dialer's first words, for the log of the listener.
Status CheckHello(const wire::Hello& hello);

wire::Challenge MakeChallenge(const JobSecret& secret, const wire::Hello& hello, const KeyBytes& nonce);
wire::Challenge RefuseStranger();
// Unauthenticated: refused, or the process that answers does not know the job's secret. InvalidArgument: it is no node
// at all.
Status CheckChallenge(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge);

wire::Handshake MakeHandshake(const HandshakeIdentity& identity, NodeId peer, uint64_t connection,
                              const LinkMemory& memory);
// To be called when nothing of the message changes any more.
void ProveHandshake(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge,
                    wire::Handshake& handshake);
// Unauthenticated: the dialer does not know the job's secret, and gets RefuseUnproved.
Status CheckProof(const JobSecret& secret, const wire::Hello& hello, const wire::Challenge& challenge,
                  const wire::Handshake& handshake);
// What is wrong with a dialer that belongs to the job. It is answered in words.
Status CheckHandshake(const wire::Handshake& handshake, const HandshakeIdentity& identity);

// Both ends of a pair may dial at the same time; one connection must remain, and both must choose the same. The
// listener decides. Aborted: it keeps what it has or is about to get.
struct PresentLink {
  bool connected = false;   // an established connection...
  uint64_t connection = 0;  // ...of this name
  bool dialing = false;
};
Status ChooseConnection(const wire::Handshake& handshake, NodeId self, const PresentLink& present);

wire::HandshakeReply MakeReply(const Status& status);
wire::HandshakeReply RefuseUnproved();
// To be called when nothing of the message changes any more.
void ProveReply(const JobSecret& secret, const wire::Challenge& challenge, const wire::Handshake& handshake,
                wire::HandshakeReply& reply);
// The listener's verdict. Unauthenticated: it does not believe this node, or is none of the job itself.
Status ReadReply(const JobSecret& secret, const wire::Challenge& challenge, const wire::Handshake& handshake,
                 const wire::HandshakeReply& reply);

}  // namespace attune::ps
