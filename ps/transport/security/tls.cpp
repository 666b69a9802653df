#include "ps/transport/security/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/os/file.h"
#include "ps/transport/security/openssl_ptr.h"

namespace attune::ps {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 20;
constexpr size_t kReadAheadBytes = 256 << 10;  // records read with one call of the system
constexpr size_t kRecordBytes = 16 << 10;      // the most that one holds

std::string OpenSslText() {
  std::string text;
  while (const unsigned long code = ::ERR_get_error()) {
    std::array<char, 256> line;
    ::ERR_error_string_n(code, line.data(), line.size());
    if (!text.empty()) text += "; ";
    text += line.data();
  }
  return text.empty() ? "no reason given" : text;
}

// Records that are to be sent. OpenSSL's own memory BIO clears all of its memory whenever it has been emptied, which
// cost more than the encryption.
class RecordBuffer {
 public:
  void Append(const char* bytes, size_t size) {
    if (end_ + size > memory_.size()) memory_.resize(std::max(memory_.size() * 2, end_ + size));
    std::memcpy(memory_.data() + end_, bytes, size);
    end_ += size;
  }
  std::span<const char> left() const { return std::span(memory_).subspan(begin_, end_ - begin_); }
  void Sent(size_t size) {
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // A BIO that appends to `buffer`, which must outlive it; null when there is no memory.
  static BIO* NewBio(RecordBuffer* buffer) {
    static BIO_METHOD* const method = NewMethod();
    BIO* const bio = method == nullptr ? nullptr : ::BIO_new(method);
    if (bio == nullptr) return nullptr;
    ::BIO_set_data(bio, buffer);
    ::BIO_set_init(bio, 1);
    return bio;
  }

 private:
  static BIO_METHOD* NewMethod() {
    BIO_METHOD* const method = ::BIO_meth_new(::BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "records");
    if (method == nullptr) return nullptr;
    ::BIO_meth_set_write_ex(method, [](BIO* bio, const char* bytes, size_t size, size_t* written) {
      static_cast<RecordBuffer*>(::BIO_get_data(bio))->Append(bytes, size);
      *written = size;
      return 1;
    });
    ::BIO_meth_set_ctrl(method, [](BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1L : 0L; });
    return method;
  }

  std::vector<char> memory_;
  size_t begin_ = 0, end_ = 0;
};

class TlsStream final : public Stream {
 public:
  // The SSL object reads from the socket itself and writes into memory, which goes to the socket in one piece.
  TlsStream(FileDescriptor fd, std::shared_ptr<SSL_CTX> context, OpenSslPtr<SSL> ssl)
      : Stream(std::move(fd)), context_(std::move(context)), ssl_(std::move(ssl)) {
    ::SSL_set_bio(ssl_.get(), ::BIO_new_socket(this->fd(), BIO_NOCLOSE), RecordBuffer::NewBio(&to_));  // owns both
  }

  bool encrypted() const override { return true; }

  IoResult ShakeHands() override {
    const MutexLock lock(mutex_);
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    const int why = ::SSL_get_error(ssl_.get(), result);
    const std::string text = result == 1 || why == SSL_ERROR_WANT_READ ? "" : HandshakeError(why);
    IoResult flushed = FlushLocked();
    if (result == 1) return flushed;
    if (why == SSL_ERROR_WANT_READ) {
      if (flushed.outcome != IoResult::kEnded) flushed.outcome = IoResult::kAgain;
      return flushed;
    }
    // Certificates are wrong until they are changed; a connection that just ends may be a process that starts.
    const bool refused = why == SSL_ERROR_SSL;
    return {.outcome = IoResult::kEnded,
            .error = Error(refused ? StatusCode::kUnauthenticated : StatusCode::kUnavailable, text)};
  }

  IoResult Read(std::span<iovec> parts) override {
    const MutexLock lock(mutex_);
    IoResult result;
    for (const iovec& part : parts) {
      auto* to = static_cast<char*>(part.iov_base);
      for (size_t left = part.iov_len; left > 0;) {
        size_t n = 0;
        ::ERR_clear_error();
        if (::SSL_read_ex(ssl_.get(), to, left, &n) != 1) {
          const int why = ::SSL_get_error(ssl_.get(), 0);
          if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
            result.outcome = IoResult::kAgain;
            return result;
          }
          result.outcome = IoResult::kEnded;
          result.error = ReadError(why);
          return result;
        }
        result.bytes += n;
        to += n;
        left -= n;
      }
    }
    return result;
  }

  IoResult Write(std::span<iovec> parts) override {
    const MutexLock lock(mutex_);
    if (IoResult flushed = FlushLocked(); flushed.outcome != IoResult::kDone) return flushed;
    size_t taken = 0;
    for (size_t i = 0; i < parts.size();) {
      // Small parts share a record: each costs some hundred nanoseconds on either side.
      const char* from = static_cast<const char*>(parts[i].iov_base);
      size_t left = parts[i].iov_len;
      ++i;
      if (left < kRecordBytes) {
        size_t gathered = 0;
        const auto gather = [&](const char* bytes, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          std::memcpy(gathered_.data() + gathered, bytes, size);
          gathered += size;
        };
        gather(from, left);
        for (; i < parts.size() && gathered + parts[i].iov_len <= kRecordBytes; ++i) {
          gather(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        }
        from = gathered_.data();
        left = gathered;
      }
      for (size_t n = 0; left > 0; taken += n, from += n, left -= n) {
        ::ERR_clear_error();
        if (::SSL_write_ex(ssl_.get(), from, left, &n) == 1) continue;
        return {.outcome = IoResult::kEnded,
                .bytes = taken,
                .error = Error(StatusCode::kUnavailable, "TLS: " + OpenSslText())};
      }
    }
    IoResult flushed = FlushLocked();
    flushed.bytes = taken;
    return flushed;
  }

  bool wants_write() override {
    const MutexLock lock(mutex_);
    return !to_.left().empty();
  }

 private:
  IoResult FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!to_.left().empty()) {
      const std::span<const char> left = to_.left();
      const ssize_t n = ::send(fd(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {.outcome = IoResult::kAgain};
      if (n < 0) {
        return {.outcome = IoResult::kEnded,
                .error = Error(StatusCode::kUnavailable, "cannot write: " + ErrnoText(errno))};
      }
      to_.Sent(static_cast<size_t>(n));
    }
    return {};
  }

  // In TLS 1.3 the dialer learns only here that the listener does not accept its certificate.
  static Status ReadError(int why) {
    if (why != SSL_ERROR_SSL) return Error(StatusCode::kUnavailable, "the peer closed the connection");
    if (ERR_GET_REASON(::ERR_peek_error()) >= SSL_AD_REASON_OFFSET) {
      return Error(StatusCode::kUnauthenticated, "the peer refuses this node's certificate: " + OpenSslText());
    }
    return Error(StatusCode::kUnavailable, "TLS: " + OpenSslText());
  }

  std::string HandshakeError(int why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const long verdict = ::SSL_get_verify_result(ssl_.get());
    if (verdict != X509_V_OK) {
      std::string text =
          std::string("the peer's certificate is not accepted: ") + ::X509_verify_cert_error_string(verdict);
      if (verdict == X509_V_ERR_HOSTNAME_MISMATCH) text += " (it is not of this job: its names lack the job's uid)";
      return text;
    }
    if (why == SSL_ERROR_SYSCALL || why == SSL_ERROR_ZERO_RETURN) return "the peer ended the TLS handshake";
    const std::string text = OpenSslText();
    if (text.find("wrong version number") != std::string::npos) {
      return "the peer does not speak TLS; give all pods of the job the same certificates (" + text + ")";
    }
    return "TLS handshake: " + text;
  }

  const std::shared_ptr<SSL_CTX> context_;
  Mutex mutex_;  // an SSL object serves one thread at a time
  std::array<char, kRecordBytes> gathered_ ABSL_GUARDED_BY(mutex_);
  RecordBuffer to_ ABSL_GUARDED_BY(mutex_);
  const OpenSslPtr<SSL> ssl_ ABSL_GUARDED_BY(mutex_);  // writes into to_
};

Status Unusable(const std::filesystem::path& directory, const char* what) {
  return Error(StatusCode::kFailedPrecondition,
               "certificates in " + directory.string() + ": " + what + " (" + OpenSslText() + ")");
}

class JobTls final : public TlsContext {
 public:
  JobTls(std::filesystem::path directory, std::string job_uid)
      : directory_(std::move(directory)), job_uid_(std::move(job_uid)) {}

  StatusOr<std::unique_ptr<Stream>> Wrap(FileDescriptor fd, Side side) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<SSL_CTX> context, Current());
    OpenSslPtr<SSL> ssl(::SSL_new(context.get()));
    if (ssl == nullptr) return Unusable(directory_, "no memory for a connection");
    ::SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
    if (::SSL_set1_host(ssl.get(), job_uid_.c_str()) != 1) return Unusable(directory_, "the job's uid is no name");
    if (side == kDialer) {
      ::SSL_set_connect_state(ssl.get());
    } else {
      ::SSL_set_accept_state(ssl.get());
    }
    return std::make_unique<TlsStream>(std::move(fd), context, std::move(ssl));
  }

  Status Use(const TlsFiles& files) {
    const MutexLock lock(mutex_);
    ASSIGN_OR_RETURN(context_, Load(files));
    return OkStatus();
  }

  // The files as they are now. While new ones cannot be used (half written by a rotation), the old ones serve.
  StatusOr<std::shared_ptr<SSL_CTX>> Current() {
    const MutexLock lock(mutex_);
    if (directory_.empty()) return context_;
    const auto files = ReadTlsFiles(directory_);
    if (!files.ok()) return context_ != nullptr ? StatusOr<std::shared_ptr<SSL_CTX>>(context_) : files.status();
    if (context_ != nullptr && files->certificate == files_.certificate && files->key == files_.key &&
        files->authority == files_.authority) {
      return context_;
    }
    auto loaded = Load(*files);
    if (!loaded.ok()) return context_ != nullptr ? StatusOr<std::shared_ptr<SSL_CTX>>(context_) : loaded.status();
    files_ = *files;
    context_ = *std::move(loaded);
    return context_;
  }

 private:
  StatusOr<std::shared_ptr<SSL_CTX>> Load(const TlsFiles& files) const {
    ::ERR_clear_error();
    std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(::TLS_method()), OpenSslFree());
    if (context == nullptr) return Unusable(directory_, "OpenSSL does not start");
    SSL_CTX* const c = context.get();
    SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
    // The cheapest first; all of TLS 1.3 are fine.
    ::SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
    ::SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_num_tickets(c, 0);
    SSL_CTX_set_read_ahead(c, 1);
    ::SSL_CTX_set_default_read_buffer_len(c, kReadAheadBytes);
    RETURN_IF_ERROR(UseCertificate(c, files.certificate));
    const OpenSslPtr<BIO> key_bio(::BIO_new_mem_buf(files.key.data(), static_cast<int>(files.key.size())));
    const OpenSslPtr<EVP_PKEY> key(::PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
    if (key == nullptr || ::SSL_CTX_use_PrivateKey(c, key.get()) != 1 || ::SSL_CTX_check_private_key(c) != 1) {
      return Unusable(directory_, "tls.key is no key of tls.crt");
    }
    const OpenSslPtr<BIO> bio(::BIO_new_mem_buf(files.authority.data(), static_cast<int>(files.authority.size())));
    int authorities = 0;
    while (const OpenSslPtr<X509> authority{::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
      if (::X509_STORE_add_cert(::SSL_CTX_get_cert_store(c), authority.get()) == 1) ++authorities;
      ::SSL_CTX_add_client_CA(c, authority.get());
    }
    if (authorities == 0) return Unusable(directory_, "ca.crt holds no certificate");
    ::ERR_clear_error();
    return context;
  }

  // The first is the node's own, the others lead to the authority.
  Status UseCertificate(SSL_CTX* context, const std::string& pem) const {
    const OpenSslPtr<BIO> bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    const OpenSslPtr<X509> own(::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (own == nullptr || ::SSL_CTX_use_certificate(context, own.get()) != 1) {
      return Unusable(directory_, "tls.crt is no certificate");
    }
    while (X509* const next = ::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
      if (SSL_CTX_add_extra_chain_cert(context, next) != 1) ::X509_free(next);
    }
    return OkStatus();
  }

  const std::filesystem::path directory_;  // empty: certificates of memory
  const std::string job_uid_;
  Mutex mutex_;
  TlsFiles files_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<SSL_CTX> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<TlsFiles> ReadTlsFiles(const std::filesystem::path& directory) {
  TlsFiles files;
  for (auto& [name, content] : {std::pair<const char*, std::string&>{"tls.crt", files.certificate},
                                {"tls.key", files.key},
                                {"ca.crt", files.authority}}) {
    auto read = ReadFile(directory / name, kFileBytesMax);
    if (!read.ok()) {
      return Error(StatusCode::kFailedPrecondition, std::string(attune::Message(read.status())) +
                                                        "; the directory must hold tls.crt, tls.key and ca.crt");
    }
    content = *std::move(read);
  }
  return files;
}

StatusOr<std::unique_ptr<TlsContext>> TlsContext::Create(const std::filesystem::path& directory, std::string job_uid) {
  auto context = std::make_unique<JobTls>(directory, std::move(job_uid));
  if (auto first = context->Current(); !first.ok()) return first.status();
  return context;
}

StatusOr<std::unique_ptr<TlsContext>> TlsContext::Create(const TlsFiles& files, std::string name) {
  auto context = std::make_unique<JobTls>(std::filesystem::path(), std::move(name));
  RETURN_IF_ERROR(context->Use(files));
  return context;
}

}  // namespace attune::ps
