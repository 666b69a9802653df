#include "operator/kube/client/http_target.h"

// cpprestsdk defines macros U and others that collide with Eigen and fmt.
#define _TURN_OFF_PLATFORM_STRING  // NOLINT: the library's name
#include <cpprest/base_uri.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <boost/asio/ssl.hpp>
#include <stdexcept>

#include "operator/kube/credentials/proxy.h"

namespace attune::kube {
namespace {

Status Invalid(const std::string& what) { return Error(StatusCode::kInvalidArgument, what); }

// cpprestsdk asks for and verifies the host of the address, or of the Host header, which has to stay what it is. Both
// are set here instead: the name is part of what OpenSSL verifies, and it is put into the handshake as it begins.
int VerifyWithName(X509_STORE_CTX* store, void* /*unused*/) {
  // The callback that cpprestsdk has set compares with the host of the address.
  X509_STORE_CTX_set_verify_cb(store, [](int preverified, X509_STORE_CTX*) { return preverified; });
  return X509_verify_cert(store);
}

void AskForName(const SSL* ssl, int where, int /*result*/) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  auto* mutable_ssl = const_cast<SSL*>(ssl);
  // An address is never asked for by name.
  const char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(mutable_ssl), 0);
  if (name != nullptr) SSL_set_tlsext_host_name(mutable_ssl, name);
}

void SetServerName(SSL_CTX* context, const std::string& name) {
  X509_VERIFY_PARAM* param = SSL_CTX_get0_param(context);
  if (X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) != 1 &&
      X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size()) != 1) {
    throw std::runtime_error("tls-server-name is no host name");
  }
  ERR_clear_error();  // of the attempt to read it as an address
  SSL_CTX_set_cert_verify_callback(context, VerifyWithName, nullptr);
  SSL_CTX_set_info_callback(context, AskForName);
}

Status CheckHeaders(const HttpTarget& target) {
  for (const auto& [name, value] : target.headers) {
    if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 127; })) {
      return Invalid("header " + name + " for " + target.server + " has line breaks or other control characters in it");
    }
  }
  return OkStatus();
}

}  // namespace

void ConfigureTls(boost::asio::ssl::context& context, const HttpTarget& target) {
  using boost::asio::buffer;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  if (!target.tls_server_name.empty()) SetServerName(context.native_handle(), target.tls_server_name);
  if (!target.ca_pem.empty()) {
    // Adding an authority alone would leave the system's authorities trusted too.
    SSL_CTX_set_cert_store(context.native_handle(), X509_STORE_new());
    context.add_certificate_authority(buffer(target.ca_pem));
  }
  if (!target.client_certificate_pem.empty()) {
    context.use_certificate_chain(buffer(target.client_certificate_pem));
    context.use_private_key(buffer(target.client_key_pem), boost::asio::ssl::context::pem);
    if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
      ERR_clear_error();
      throw std::runtime_error("the client key does not belong to the client certificate");
    }
  }
}

Status CheckTarget(const HttpTarget& target) {
  const bool tls = target.server.starts_with("https://");
  if (!tls && !target.server.starts_with("http://")) {
    return Invalid("API server address \"" + target.server + "\" must begin with https:// or http://");
  }
  if (target.server.find("//[") != std::string::npos) {
    return Invalid("API server address " + target.server +
                   ": IPv6 literals are not supported; use a host name that resolves to it");
  }
  if (target.client_certificate_pem.empty() != target.client_key_pem.empty()) {
    return Invalid("credentials for " + target.server + ": a client certificate and its key must be given together");
  }
  RETURN_IF_ERROR(CheckProxy(target.proxy_url));
  RETURN_IF_ERROR(CheckHeaders(target));
  try {
    const web::uri uri(target.server);
    if (uri.host().empty()) return Invalid("API server address \"" + target.server + "\" has no host");
    [[maybe_unused]] const web::uri proxy(target.proxy_url);  // throws for one that is none
    if (tls) {
      boost::asio::ssl::context context(boost::asio::ssl::context::tls_client);
      ConfigureTls(context, target);
    }
  } catch (const std::exception& e) {
    return Invalid("API server " + target.server + ": address or TLS credentials cannot be used (" + e.what() +
                   "); check certificate authority, client certificate and key");
  }
  return OkStatus();
}

}  // namespace attune::kube
