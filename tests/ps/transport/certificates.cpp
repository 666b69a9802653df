#include "tests/ps/transport/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>

#include "base/check.h"

namespace attune::ps {
namespace {

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  ATTUNE_CHECK(extension != nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(const std::string& subject, EVP_PKEY* key, long from, long to) {
  static long serial = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
  return certificate;
}

template <typename Write>
void WritePem(const std::filesystem::path& path, Write write) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ATTUNE_CHECK(file != nullptr) << path;
  write(file);
  std::fclose(file);
}

}  // namespace

struct TestAuthority::Keys {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = nullptr;
};

TestAuthority::TestAuthority() : keys_(std::make_unique<Keys>()) {
  keys_->certificate = NewCertificate("test authority", keys_->key, -86400, 86400);
  X509_set_issuer_name(keys_->certificate, X509_get_subject_name(keys_->certificate));
  AddExtension(keys_->certificate, keys_->certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(keys_->certificate, keys_->key, EVP_sha256());
}

TestAuthority::~TestAuthority() {
  X509_free(keys_->certificate);
  EVP_PKEY_free(keys_->key);
}

void TestAuthority::Write(const std::filesystem::path& directory, const Certificate& wanted) const {
  std::filesystem::create_directories(directory);
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = NewCertificate("attune node", key, wanted.valid_from, wanted.valid_to);
  X509_set_issuer_name(certificate, X509_get_subject_name(keys_->certificate));
  AddExtension(certificate, keys_->certificate, NID_subject_alt_name, "DNS:" + wanted.name);
  AddExtension(certificate, keys_->certificate, NID_ext_key_usage, "serverAuth,clientAuth");
  X509_sign(certificate, keys_->key, EVP_sha256());
  WritePem(directory / "tls.crt", [&](std::FILE* file) { PEM_write_X509(file, certificate); });
  WritePem(directory / "tls.key",
           [&](std::FILE* file) { PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr); });
  WritePem(directory / "ca.crt", [&](std::FILE* file) { PEM_write_X509(file, keys_->certificate); });
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace attune::ps
