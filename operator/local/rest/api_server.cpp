#include "operator/local/rest/api_server.h"

#include <boost/asio.hpp>

#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/os/file_descriptor.h"
#include "operator/local/rest/api_session.h"

namespace attune::local {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr int kThreads = 3;
constexpr std::chrono::seconds kCloseTimeout{5};        // for connections to end when the server does
constexpr std::chrono::milliseconds kAcceptPause{100};  // after a failed accept: descriptors may be short

// A loopback address and its port.
StatusOr<tcp::endpoint> ParseAddress(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  int port = 0;
  ErrorCode error;
  const asio::ip::address address = asio::ip::make_address(listen.substr(0, colon), error);
  if (colon == std::string::npos || error || !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return Error(StatusCode::kInvalidArgument,
                 "\"" + listen + "\" is no address to listen at; write it like 127.0.0.1:8001");
  }
  if (!address.is_loopback()) {
    return Error(StatusCode::kFailedPrecondition,
                 "not listening at " + listen +
                     ": other machines can reach it, and this API carries its token and Secrets in the clear; listen "
                     "at a loopback address such as 127.0.0.1:8001");
  }
  return tcp::endpoint(address, static_cast<uint16_t>(port));
}

class Server final : public ApiServer {
 public:
  Server(const ApiServerOptions& options, kube::Api& api)
      : shared_(std::make_shared<SharedByConnections>(options, api)), acceptor_(context_) {}

  Status Listen() {
    const std::string& listen = shared_->options.listen;
    ASSIGN_OR_RETURN(const tcp::endpoint endpoint, ParseAddress(listen));
    ErrorCode error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error(StatusCode::kUnavailable,
                   "cannot listen at " + listen + ": " + error.message() + "; choose another port");
    Accept();
    const MutexLock lock(mutex_);
    threads_running_ = kThreads;
    for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Run(); });
    return OkStatus();
  }

  ~Server() override {
    shared_->stopping = true;
    asio::post(context_, [this] {
      ErrorCode ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
    {
      const MutexLock lock(mutex_);
      for (const auto& [id, weak] : sessions_) {
        if (const auto session = weak.lock()) session->Close();
      }
    }
    shared_->followers.Join();  // each asks between two looks at its log whether the server stops
    // The threads end when the last connection has; should one not end in time, they end after what they do now.
    work_.reset();
    {
      const MutexLock lock(mutex_);
      const bool ended = thread_ended_.WaitFor(
          mutex_, kCloseTimeout, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return threads_running_ == 0; });
      if (!ended) log::Warn("connections to the local API did not close in time; they are cut", {});
    }
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  std::string url() const override {
    ErrorCode error;
    const tcp::endpoint endpoint = acceptor_.local_endpoint(error);
    return "http://" + endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
  }

 private:
  void Run() {
    context_.run();
    const MutexLock lock(mutex_);
    --threads_running_;
    thread_ended_.NotifyAll();
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(context_), [this](ErrorCode error, tcp::socket socket) {
      if (shared_->stopping || error == asio::error::operation_aborted) return;
      if (!error) {
        Admit(std::move(socket));
        return Accept();
      }
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([this](ErrorCode stopped) {
        if (!stopped && !shared_->stopping) Accept();
      });
    });
  }

  void Admit(tcp::socket socket) {
    ErrorCode gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (gone) return;
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    const uint64_t id = ++last_id_;
    FileDescriptor descriptor(socket.release(ignored));
    if (!descriptor.valid()) return;
    const auto session = ApiSession::Open(id, std::move(descriptor), peer.address().is_v6(), context_, shared_);
    if (session == nullptr) return;
    std::optional<uint64_t> victim;
    {
      const MutexLock lock(shared_->mutex);
      victim = shared_->unproven.Enter(id, peer.address().to_string());
    }
    std::shared_ptr<ApiSession> closed;  // outlives the lock: its end takes locks as well
    {
      const MutexLock lock(mutex_);
      std::erase_if(sessions_, [](const auto& entry) { return entry.second.expired(); });
      if (victim.has_value() && sessions_.contains(*victim)) closed = sessions_[*victim].lock();
      sessions_[id] = session;
    }
    if (closed != nullptr) closed->Close();
    session->Run();
    if (shared_->stopping) session->Close();
  }

  const std::shared_ptr<SharedByConnections> shared_;
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  uint64_t last_id_ = 0;  // by the accepting handler
  Mutex mutex_;
  CondVar thread_ended_;
  std::map<uint64_t, std::weak_ptr<ApiSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  int threads_running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(const ApiServerOptions& options, kube::Api& api) {
  if (options.token.empty()) return Error(StatusCode::kInvalidArgument, "the API is only served with a token; set one");
  auto server = std::make_unique<Server>(options, api);
  RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace attune::local
