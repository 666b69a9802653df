#include "ps/transport/security/job_authority.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "ps/transport/security/openssl_ptr.h"

namespace attune::ps {
namespace {

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OpenSslPtr<X509_EXTENSION> extension(::X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Valid from before any clock to after any (RFC 5280, 4.1.2.5).
OpenSslPtr<X509> NewCertificate(const char* subject, EVP_PKEY* key, uint64_t serial) {
  OpenSslPtr<X509> certificate(::X509_new());
  X509* const c = certificate.get();
  const bool made = c != nullptr && ::X509_set_version(c, 2) == 1 &&
                    ::ASN1_INTEGER_set_uint64(::X509_get_serialNumber(c), serial) == 1 &&
                    ::ASN1_TIME_set_string_X509(::X509_getm_notBefore(c), "19700101000000Z") == 1 &&
                    ::ASN1_TIME_set_string_X509(::X509_getm_notAfter(c), "99991231235959Z") == 1 &&
                    ::X509_set_pubkey(c, key) == 1 &&
                    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(c), "CN", MBSTRING_ASC,
                                                 reinterpret_cast<const unsigned char*>(subject), -1, -1, 0) == 1;
  if (!made) certificate.reset();
  return certificate;
}

template <typename Write>
std::string Pem(Write write) {
  const OpenSslPtr<BIO> bio(::BIO_new(::BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return "";
  char* text = nullptr;
  const long size = ::BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

Status Failed() {
  ::ERR_clear_error();
  return Error(StatusCode::kInternal, "OpenSSL cannot make this process a certificate of its job");
}

}  // namespace

StatusOr<TlsFiles> IssueCertificate(const JobSecret& secret) {
  if (!secret.has_token()) return Error(StatusCode::kFailedPrecondition, "a job without a token has no certificates");
  const KeyBytes& seed = secret.authority_seed();
  const OpenSslPtr<EVP_PKEY> authority_key(
      ::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  if (authority_key == nullptr) return Failed();
  const OpenSslPtr<X509> authority = NewCertificate("attune job authority", authority_key.get(), 1);
  if (authority == nullptr || ::X509_set_issuer_name(authority.get(), ::X509_get_subject_name(authority.get())) != 1 ||
      !AddExtension(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(authority.get(), authority.get(), NID_key_usage, "critical,keyCertSign") ||
      ::X509_sign(authority.get(), authority_key.get(), nullptr) == 0) {
    return Failed();
  }

  const OpenSslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed();
  uint64_t serial = 0;
  const KeyBytes random = FreshNonce();
  std::memcpy(&serial, random.data(), sizeof serial);
  const OpenSslPtr<X509> certificate = NewCertificate("attune node", key.get(), serial >> 1);
  if (certificate == nullptr ||
      ::X509_set_issuer_name(certificate.get(), ::X509_get_subject_name(authority.get())) != 1 ||
      !AddExtension(certificate.get(), authority.get(), NID_subject_alt_name, std::string("DNS:") + kSelfIssuedName) ||
      !AddExtension(certificate.get(), authority.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
      ::X509_sign(certificate.get(), authority_key.get(), nullptr) == 0) {
    return Failed();
  }

  TlsFiles files;
  files.certificate = Pem([&](BIO* bio) { return ::PEM_write_bio_X509(bio, certificate.get()); });
  files.key =
      Pem([&](BIO* bio) { return ::PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  files.authority = Pem([&](BIO* bio) { return ::PEM_write_bio_X509(bio, authority.get()); });
  if (files.certificate.empty() || files.key.empty() || files.authority.empty()) return Failed();
  return files;
}

}  // namespace attune::ps
