// An HTTP server on loopback whose every answer is written by the test, byte by byte: well-formed, late, cut off or
// garbage.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace attune::kube {

// A self-signed certificate that is its own authority. `names` as OpenSSL writes them: "IP:127.0.0.1,DNS:a.example".
struct TestCertificate {
  std::string certificate_pem, key_pem;
};
TestCertificate MakeTestCertificate(const char* names = "IP:127.0.0.1", const char* common_name = "test");

class ScriptedServer {
 public:
  class Exchange {
   public:
    Exchange(int socket, ssl_st* tls) : socket_(socket), tls_(tls) {}
    std::string method, target, headers, body;
    std::string server_name;         // that the client asked for in its TLS handshake
    std::string client_certificate;  // common name of the client's; "" = it has shown none
    bool HasHeader(std::string_view line) const {
      return headers.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
    }
    void Send(std::string_view bytes);
    // A whole answer; `more` are extra header lines, each ending in "\r\n".
    void Reply(int status, std::string_view body, std::string_view type = "application/json",
               std::string_view more = "");
    // Head of an answer without length, then chunks.
    void BeginChunks();
    void Chunk(std::string_view bytes);
    void EndChunks() { Chunk(""); }
    // Ends the connection after this request; with `reset`, rudely.
    void Close(bool reset = false);
    // Blocks until the client closes the connection, or 20 s.
    bool WaitForClientClose();

   private:
    friend class ScriptedServer;
    int socket_;
    ssl_st* tls_;
    bool closed_ = false;
  };
  using Script = std::function<void(Exchange&)>;

  // `script` is called on a thread per connection. With a certificate the server speaks TLS.
  // With `clients` it asks for a certificate of theirs, and takes any.
  explicit ScriptedServer(Script script, const TestCertificate* certificate = nullptr, bool clients = false);
  ~ScriptedServer();
  std::string address() const {
    return (tls_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  int port() const { return port_; }
  int requests() const { return requests_; }
  int connections() const { return connections_; }

 private:
  void Accept();
  void Serve(int socket);
  static void DescribeClient(Exchange& exchange);
  bool ReadRequest(Exchange& exchange, std::string& buffer);

  Script script_;
  ssl_ctx_st* tls_ = nullptr;
  int listener_ = -1, port_ = 0;
  std::atomic<int> requests_{0}, connections_{0};
  std::mutex mutex_;
  std::vector<int> sockets_;        // open ones; guarded by mutex_
  bool stopping_ = false;           // guarded by mutex_
  std::list<std::thread> threads_;  // by the accepting thread, then the destructor
  std::thread acceptor_;
};

}  // namespace attune::kube
