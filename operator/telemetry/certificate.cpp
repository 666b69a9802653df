#include "operator/telemetry/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace attune::telemetry {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Bio Reader(const std::string& text) { return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free}; }

// A key that asks for a passphrase is of no use to a server, and no user is there to type it.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

Status CheckCertificate(const std::string& chain, const std::string& private_key) {
  const Bio chain_reader = Reader(chain), key_reader = Reader(private_key);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(chain_reader.get(), nullptr, &NoPassphrase, nullptr), &X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_reader.get(), nullptr, &NoPassphrase, nullptr), &EVP_PKEY_free);
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();  // what others of this thread find there is theirs
  if (fits) return OkStatus();
  const char* const what = !certificate ? "the certificate is not PEM"
                           : !key       ? "the private key is not PEM, or asks for a passphrase"
                                        : "the certificate and its key do not fit together";
  return Error(StatusCode::kFailedPrecondition, std::string(what) + "; write both again, from one request");
}

}  // namespace attune::telemetry
