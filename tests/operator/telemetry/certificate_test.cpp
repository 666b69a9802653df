#include "operator/telemetry/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/kube/scripted_server.h"

namespace attune::telemetry::certificate_test {
namespace {

using testing::HasSubstr;

TEST(CertificateTest, OnlyACertificateWithItsOwnKeyServes) {
  const kube::TestCertificate one = kube::MakeTestCertificate(), other = kube::MakeTestCertificate();
  EXPECT_TRUE(CheckCertificate(one.certificate_pem, one.key_pem).ok());
  EXPECT_TRUE(CheckCertificate(one.certificate_pem + other.certificate_pem, one.key_pem).ok()) << "a chain";
  EXPECT_THAT(ToString(CheckCertificate(one.certificate_pem, other.key_pem)), HasSubstr("do not fit together"));
  EXPECT_THAT(ToString(CheckCertificate("a", one.key_pem)), HasSubstr("the certificate is not PEM"));
  EXPECT_THAT(ToString(CheckCertificate(one.certificate_pem, "b")), HasSubstr("the private key is not PEM"));
  EXPECT_EQ(CheckCertificate("", "").code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace attune::telemetry::certificate_test
