// Owning pointers to OpenSSL's objects. Internal to this room.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace attune::ps {

struct OpenSslFree {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(X509* certificate) const { ::X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { ::X509_EXTENSION_free(extension); }
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
  void operator()(EVP_KDF* kdf) const { ::EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { ::EVP_KDF_CTX_free(context); }
  void operator()(EVP_MAC* mac) const { ::EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { ::EVP_MAC_CTX_free(context); }
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { ::SSL_free(ssl); }
};

template <typename T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

}  // namespace attune::ps
