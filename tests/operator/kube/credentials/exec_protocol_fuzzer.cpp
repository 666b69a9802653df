// Any output of a program that gives credentials: a credential without anything that could become a header of its own,
// or an error; and any errors of it become one bounded line.
#include "operator/kube/credentials/exec_protocol.h"

#include <algorithm>

#include "base/check.h"
#include "tests/fuzz/fuzz_driver.h"

namespace attune::fuzz {

std::vector<uint8_t> Example(uint64_t seed) {
  constexpr std::string_view kOutputs[] = {
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"abc"}})",
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
          "status":{"token":"a","expirationTimestamp":"2023-11-14T22:13:20Z","clientKeyData":"K"}})",
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
          "status":{"clientCertificateData":"C","clientKeyData":"K","expirationTimestamp":"0000-00-00"}})",
      "error: token k8s-aws-v1.aHR0cHM6Ly9zdHMuY29t has expired\n\x1b[0m"};
  const std::string_view output = kOutputs[seed % std::size(kOutputs)];
  return {output.begin(), output.end()};
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view output(reinterpret_cast<const char*>(data), size);
  const attune::kube::ExecPlugin plugin{
      .api_version = "client.authentication.k8s.io/v1", .command = "x", .environment = {"A_TOKEN=abcd"}};
  const auto is_plain = [](unsigned char c) { return c > ' ' && c < 127; };
  if (const auto credential = attune::kube::ParseExecCredential(output, plugin); credential.ok()) {
    ATTUNE_CHECK(std::all_of(credential->token.begin(), credential->token.end(), is_plain));
    ATTUNE_CHECK(credential->certificate_pem.empty() == credential->key_pem.empty());
    ATTUNE_CHECK(!credential->token.empty() || !credential->key_pem.empty());
  }
  const std::string shown = attune::kube::ShownErrors(output, plugin);
  ATTUNE_CHECK(shown.size() <= 603);
  ATTUNE_CHECK(shown.find("abcd") == std::string::npos);
  ATTUNE_CHECK(std::none_of(shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 127; }));
  return 0;
}
