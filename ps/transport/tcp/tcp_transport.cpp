#include "ps/transport/tcp/tcp_transport.h"

#include <algorithm>
#include <future>
#include <utility>

#include "ps/transport/frame.h"
#include "ps/transport/tcp/tcp_links.h"

namespace attune::ps {
namespace {

constexpr Duration kStopTimeout = std::chrono::seconds(5);

class Tcp final : public TcpTransport {
 public:
  Tcp(EventLoop& loop, std::shared_ptr<TcpLinks> links) : loop_(loop), links_(std::move(links)) {}

  ~Tcp() override {
    // Links and timers live on the loop; what is in flight there ends before this returns.
    if (loop_.InLoop() || loop_.stopped()) {
      links_->Stop();
      return;
    }
    // The promise belongs to the task too: a loop that is very late may reach it after this has given up waiting.
    const auto stopped = std::make_shared<std::promise<void>>();
    loop_.Post([stopped, links = links_] {
      links->Stop();
      stopped->set_value();
    });
    stopped->get_future().wait_for(kStopTimeout);
  }

  void SetSelf(NodeId self) override { links_->SetSelf(self); }
  const std::string& address() const override { return links_->address(); }

  void Connect(NodeId peer, const std::string& address) override {
    loop_.Post([links = links_, peer, address] { links->Connect(peer, address); });
  }
  void Disconnect(NodeId peer) override {
    loop_.Post([links = links_, peer] { links->Disconnect(peer); });
  }

  Status Send(NodeId to, const Message& message, const LinkHeader& link) override {
    ASSIGN_OR_RETURN(OutgoingFrame frame, EncodeFrame(message));
    frame.header.core_sequence = link.sequence;
    frame.header.core_delivered = link.delivered;
    const std::shared_ptr<Peer> peer = links_->peers().Find(to);
    if (peer == nullptr) return Error(StatusCode::kUnavailable, "no link to node " + std::to_string(to.value()));
    return peer->Send(std::move(frame));
  }
  std::shared_ptr<void> Reserve(NodeId to, size_t bytes) override {
    const std::shared_ptr<Peer> peer = links_->peers().Find(to);
    return peer == nullptr ? nullptr : peer->Reserve(bytes);
  }
  void Unplace(std::span<const float> rows) override {
    for (const std::shared_ptr<Peer>& peer : links_->peers().All()) peer->Unplace(rows);
  }

  Counters counters() const override { return links_->counters(); }
  std::vector<LinkCounters> links(size_t links_max) const override {
    std::vector<LinkCounters> links;
    for (const std::shared_ptr<Peer>& peer : links_->peers().All()) links.push_back(peer->counters());
    const auto traffic = [](const LinkCounters& link) { return link.bytes_sent + link.bytes_received; };
    std::ranges::sort(links, std::greater<>(), traffic);
    links.resize(std::min(links.size(), links_max));
    return links;
  }

 private:
  EventLoop& loop_;
  const std::shared_ptr<TcpLinks> links_;
};

}  // namespace

StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options, EventLoop& loop,
                                                             Events events) {
  ASSIGN_OR_RETURN(std::shared_ptr<TcpLinks> links, TcpLinks::Start(options, loop, std::move(events)));
  return std::make_unique<Tcp>(loop, std::move(links));
}

}  // namespace attune::ps
