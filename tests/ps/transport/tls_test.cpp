#include "ps/transport/security/tls.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>

#include "ps/transport/tcp/tcp_transport.h"
#include "tests/ps/transport/certificates.h"
#include "tests/ps/transport/node.h"

namespace attune::ps::tls_test {
namespace {

constexpr NodeId kServer(1), kWorker(2);

class TlsTest : public testing::Test {
 protected:
  TlsTest() : root_(std::filesystem::temp_directory_path() / ("attune-tls-" + std::to_string(::getpid()))) {
    authority_.Write(root_ / "server", {});
    authority_.Write(root_ / "worker", {});
  }
  ~TlsTest() override { std::filesystem::remove_all(root_); }

  TcpOptions Options(NodeId self, const std::string& certificates) {
    return {.job_uid = "uid",
            .self = self,
            .bind_address = self == kServer ? "127.0.0.1" : "",
            .tls_directory = certificates.empty() ? "" : (root_ / certificates).string(),
            .shared_memory = false};
  }
  // What a worker with these certificates is answered.
  Status RefusalOf(const std::string& certificates) {
    TestNode server(Options(kServer, "server")), worker(Options(kWorker, certificates));
    EXPECT_TRUE(server.status().ok()) << server.status();
    EXPECT_TRUE(worker.status().ok()) << worker.status();
    worker.transport().Connect(kServer, server.transport().address());
    const Status reason = worker.AwaitRefusal(kServer);
    EXPECT_EQ(server.connects_, 0);
    return reason;
  }

  const std::filesystem::path root_;
  TestAuthority authority_;
};

TEST_F(TlsTest, NodesOfOneJobTalk) {
  TestNode server(Options(kServer, "server")), worker(Options(kWorker, "worker"));
  worker.transport().Connect(kServer, server.transport().address());
  ASSERT_TRUE(worker.AwaitConnected(kServer));
  ASSERT_TRUE(server.AwaitConnected(kWorker));
  for (uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(worker.transport().Send(kServer, SomePush(i, 200, 64)).ok());
  ASSERT_TRUE(server.Await([&] { return server.received_.size() == 100; }));
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_TRUE(server.received_[i - 1] == Message(SomePush(i, 200, 64)));
  const std::vector<LinkCounters> links = server.transport().links(8);
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].path, LinkCounters::kTls);
}

TEST_F(TlsTest, WrongCertificatesAreRefusedWithTheReason) {
  TestAuthority stranger;
  stranger.Write(root_ / "stranger", {});
  authority_.Write(root_ / "expired", {.valid_from = -7200, .valid_to = -3600});
  authority_.Write(root_ / "not yet valid", {.valid_from = 3600, .valid_to = 7200});
  authority_.Write(root_ / "other job", {.name = "another-uid"});
  authority_.Write(root_ / "wildcard", {.name = "*"});
  for (const char* const certificates : {"stranger", "expired", "not yet valid", "other job", "wildcard"}) {
    const Status reason = RefusalOf(certificates);
    EXPECT_EQ(reason.code(), StatusCode::kUnauthenticated) << certificates << ": " << reason;
    EXPECT_NE(attune::Message(reason).find("certificate"), std::string_view::npos) << certificates << ": " << reason;
  }
}

TEST_F(TlsTest, ServerOfAnotherJobIsNotBelieved) {
  authority_.Write(root_ / "server", {.name = "another-uid"});
  const Status reason = RefusalOf("worker");
  EXPECT_EQ(reason.code(), StatusCode::kUnauthenticated);
  EXPECT_NE(attune::Message(reason).find("not of this job"), std::string_view::npos) << reason;
}

TEST_F(TlsTest, PlainDialerIsRefusedWithAHint) {
  const Status reason = RefusalOf("");
  EXPECT_EQ(reason.code(), StatusCode::kUnauthenticated);
  EXPECT_NE(attune::Message(reason).find("encrypted"), std::string_view::npos) << reason;
}

TEST_F(TlsTest, ListenerWithoutTlsIsNamed) {
  TestNode server(Options(kServer, "")), worker(Options(kWorker, "worker"));
  worker.transport().Connect(kServer, server.transport().address());
  const Status reason = worker.AwaitRefusal(kServer);
  EXPECT_EQ(reason.code(), StatusCode::kUnauthenticated);
  EXPECT_NE(attune::Message(reason).find("does not speak TLS"), std::string_view::npos) << reason;
}

TEST_F(TlsTest, OlderTlsIsRefused) {
  TestNode server(Options(kServer, "server"));
  SSL_CTX* const context = ::SSL_CTX_new(::TLS_client_method());
  SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  ::SSL_CTX_use_certificate_file(context, (root_ / "worker/tls.crt").c_str(), SSL_FILETYPE_PEM);
  ::SSL_CTX_use_PrivateKey_file(context, (root_ / "worker/tls.key").c_str(), SSL_FILETYPE_PEM);
  SSL* const ssl = ::SSL_new(context);
  BareSocket socket(server.transport().address());
  ::SSL_set_fd(ssl, socket.fd());
  EXPECT_NE(::SSL_connect(ssl), 1);
  ::SSL_free(ssl);
  ::SSL_CTX_free(context);
}

TEST_F(TlsTest, RotatedCertificatesServeTheNextConnection) {
  TestNode server(Options(kServer, "server"));
  {
    TestNode worker(Options(kWorker, "worker"));
    worker.transport().Connect(kServer, server.transport().address());
    ASSERT_TRUE(worker.AwaitConnected(kServer));
  }
  ASSERT_TRUE(server.Await([&] { return server.disconnects_ == 1; }));
  TestAuthority next;
  next.Write(root_ / "server", {});
  next.Write(root_ / "worker", {});
  TestNode worker(Options(NodeId(3), "worker"));
  worker.transport().Connect(kServer, server.transport().address());
  EXPECT_TRUE(worker.AwaitConnected(kServer));
}

TEST_F(TlsTest, UnusableFilesAreNamed) {
  std::filesystem::remove(root_ / "worker/tls.key");
  TestNode without_key(Options(kWorker, "worker"));
  EXPECT_EQ(without_key.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(attune::Message(without_key.status()).find("tls.key"), std::string_view::npos) << without_key.status();
  std::filesystem::copy_file(root_ / "server/tls.key", root_ / "worker/tls.key");
  TestNode mixed(Options(kWorker, "worker"));
  EXPECT_EQ(mixed.status().code(), StatusCode::kFailedPrecondition) << "the key of another certificate";
}

}  // namespace
}  // namespace attune::ps::tls_test
