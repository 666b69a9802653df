#include "tests/operator/kube/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "base/check.h"

namespace attune::kube {
namespace {

std::string PemOf(const std::function<int(BIO*)>& write) {
  BIO* memory = BIO_new(BIO_s_mem());
  ATTUNE_CHECK(write(memory) == 1);
  char* data = nullptr;
  long size = BIO_get_mem_data(memory, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(memory);
  return pem;
}

ssize_t ReadSome(int socket, SSL* tls, char* data, size_t size) {
  return tls != nullptr ? SSL_read(tls, data, static_cast<int>(size)) : recv(socket, data, size, 0);
}

// "Name:value" and "Name: value" mean the same; the latter is what tests look for.
std::string WithSpaces(std::string headers) {
  for (size_t line = headers.find("\r\n"); line != std::string::npos; line = headers.find("\r\n", line + 2)) {
    size_t colon = headers.find(':', line);
    if (colon != std::string::npos && headers[colon + 1] != ' ') headers.insert(colon + 1, " ");
  }
  return headers;
}

}  // namespace

TestCertificate MakeTestCertificate(const char* names, const char* common_name) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  for (auto [extension, value] :
       {std::pair{NID_basic_constraints, "critical,CA:TRUE"}, {NID_subject_alt_name, names}}) {
    X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, nullptr, extension, value);
    X509_add_ext(certificate, made, -1);
    X509_EXTENSION_free(made);
  }
  ATTUNE_CHECK(X509_sign(certificate, key, EVP_sha256()) > 0);
  TestCertificate made{PemOf([&](BIO* b) { return PEM_write_bio_X509(b, certificate); }), PemOf([&](BIO* b) {
                         return PEM_write_bio_PrivateKey(b, key, nullptr, nullptr, 0, nullptr, nullptr);
                       })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

void ScriptedServer::Exchange::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                   : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void ScriptedServer::Exchange::Reply(int status, std::string_view text, std::string_view type, std::string_view more) {
  Send("HTTP/1.1 " + std::to_string(status) + " Any\r\nContent-Type: " + std::string(type) +
       "\r\nContent-Length: " + std::to_string(text.size()) + "\r\n" + std::string(more) + "\r\n" + std::string(text));
}

void ScriptedServer::Exchange::BeginChunks() {
  Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void ScriptedServer::Exchange::Chunk(std::string_view bytes) {
  char size[32];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  Send(size + std::string(bytes) + "\r\n");
}

void ScriptedServer::Exchange::Close(bool reset) {
  if (reset) {
    linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  closed_ = true;
}

bool ScriptedServer::Exchange::WaitForClientClose() {
  pollfd waiting{.fd = socket_, .events = POLLIN | POLLRDHUP};
  closed_ = true;
  return poll(&waiting, 1, 20'000) == 1;
}

ScriptedServer::ScriptedServer(Script script, const TestCertificate* certificate, bool clients)
    : script_(std::move(script)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets without asking for silence
  if (certificate != nullptr) {
    tls_ = SSL_CTX_new(TLS_server_method());
    BIO* text = BIO_new_mem_buf(certificate->certificate_pem.data(), -1);
    X509* parsed = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(tls_, parsed);
    X509_free(parsed);
    BIO_free(text);
    text = BIO_new_mem_buf(certificate->key_pem.data(), -1);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(tls_, key);
    EVP_PKEY_free(key);
    BIO_free(text);
    if (clients) SSL_CTX_set_verify(tls_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  }
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof place;
  ATTUNE_CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&place), size) == 0);
  ATTUNE_CHECK(listen(listener_, 64) == 0);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
  port_ = ntohs(place.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (int open : sockets_) shutdown(open, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  if (tls_ != nullptr) SSL_CTX_free(tls_);
}

void ScriptedServer::DescribeClient(Exchange& exchange) {
  if (exchange.tls_ == nullptr) return;
  if (const char* name = SSL_get_servername(exchange.tls_, TLSEXT_NAMETYPE_host_name)) exchange.server_name = name;
  if (X509* shown = SSL_get1_peer_certificate(exchange.tls_)) {
    char name[64] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name, sizeof name);
    exchange.client_certificate = name;
    X509_free(shown);
  }
}

void ScriptedServer::Accept() {
  for (;;) {
    int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) return;
    std::lock_guard lock(mutex_);
    if (stopping_) return void(close(accepted));
    ++connections_;
    sockets_.push_back(accepted);
    threads_.emplace_back([this, accepted] { Serve(accepted); });
  }
}

void ScriptedServer::Serve(int socket) {
  SSL* tls = nullptr;
  bool usable = true;
  if (tls_ != nullptr) {
    tls = SSL_new(tls_);
    SSL_set_fd(tls, socket);
    usable = SSL_accept(tls) == 1;
  }
  std::string buffer;
  while (usable) {
    Exchange exchange(socket, tls);
    DescribeClient(exchange);
    if (!ReadRequest(exchange, buffer)) break;
    ++requests_;
    script_(exchange);
    usable = !exchange.closed_;
  }
  std::lock_guard lock(mutex_);
  std::erase(sockets_, socket);
  if (tls != nullptr) SSL_free(tls);
  close(socket);
}

bool ScriptedServer::ReadRequest(Exchange& exchange, std::string& buffer) {
  char piece[16384];
  size_t end = 0, length = 0;
  for (;;) {
    end = buffer.find("\r\n\r\n");
    if (end != std::string::npos) {
      exchange.headers = WithSpaces(buffer.substr(0, end + 2));
      size_t at = exchange.headers.find("\r\nContent-Length: ");
      length = at == std::string::npos ? 0 : std::stoul(exchange.headers.substr(at + 18));
      if (buffer.size() >= end + 4 + length) break;
    }
    ssize_t got = ReadSome(exchange.socket_, exchange.tls_, piece, sizeof piece);
    if (got <= 0) return false;
    buffer.append(piece, static_cast<size_t>(got));
  }
  exchange.body = buffer.substr(end + 4, length);
  buffer.erase(0, end + 4 + length);
  size_t first = exchange.headers.find(' '), second = exchange.headers.find(' ', first + 1);
  exchange.method = exchange.headers.substr(0, first);
  exchange.target = exchange.headers.substr(first + 1, second - first - 1);
  return true;
}

}  // namespace attune::kube
