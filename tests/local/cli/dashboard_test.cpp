// `attune run --dashboard` with a real run behind it: who gets its page and its metrics, and what becomes of them when
// the run ends. Shell scripts are in the roles of workers and servers.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/os/file.h"
#include "tests/local/cli/job_run.h"

namespace attune::dashboard_local_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Manifest(const std::string& worker) {
  return "apiVersion: attune.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: toy}\n"
         "spec:\n  runPolicy: {backoffLimit: 0, drainSeconds: 1}\n  servers:\n    template:\n      spec:\n"
         "        terminationGracePeriodSeconds: 1\n        containers:\n"
         "        - {name: server, image: none, command: [/bin/sh, -c, 'exec sleep 600'],\n"
         "           readinessProbe: {exec: {command: [/bin/true]}, periodSeconds: 1}}\n"
         "  workers:\n    template:\n      spec:\n        terminationGracePeriodSeconds: 1\n        containers:\n"
         "        - {name: worker, image: none, command: [/bin/sh, -c], args: ['" +
         worker + "']}\n";
}

// A server's answer; "" when nothing listens there.
std::string Exchange(uint16_t port, const std::string& request) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{30, 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string answer;
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    send(client, request.data(), request.size(), MSG_NOSIGNAL);
    char piece[4096];
    for (ssize_t got = 0; (got = recv(client, piece, sizeof piece, 0)) > 0;)
      answer.append(piece, static_cast<size_t>(got));
  }
  close(client);
  return answer;
}

class DashboardLocalTest : public JobRun {
 protected:
  // Reads the address from what a run said.
  bool FindAddress(const std::string& said) {
    constexpr char kBegin[] = "http://127.0.0.1:";
    const size_t begin = said.find(kBegin);
    const size_t token = said.find("/?token=", begin);
    if (begin == std::string::npos || token == std::string::npos) return false;
    port_ = static_cast<uint16_t>(std::stoi(said.substr(begin + sizeof kBegin - 1)));
    const size_t from = token + std::string("/?token=").size();
    token_ = said.substr(from, said.find_first_not_of("0123456789abcdef", from) - from);
    return true;
  }
  // Of the run, once it has shown its job: the address is in the file by which other commands find the run.
  bool AwaitAddress() {
    if (!run_->AwaitOutput("\"phase\":")) return false;
    const auto instance = ReadFile(directory_ / "attune" / (std::to_string(run_->process_id()) + ".json"));
    return instance.ok() && FindAddress(*instance);
  }
  std::string Get(const std::string& path, const std::string& headers = "Host: localhost\r\n") const {
    return Exchange(port_, "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  }
  std::string Bearer() const { return "Host: localhost\r\nAuthorization: Bearer " + token_ + "\r\n"; }

  uint16_t port_ = 0;
  std::string token_;
};

TEST_F(DashboardLocalTest, ShowsARunToWhoeverHasItsTokenAndToNobodyElse) {
  StartRun("toy", Manifest("exec sleep 600"), {"--dashboard"});
  ASSERT_TRUE(AwaitAddress());
  // A phase that the operator has written: before it has seen the job, its page has no series of it.
  ASSERT_TRUE(run_->AwaitOutput("\"phase\":\"Starting\""));
  for (const char* path : {"/", "/data", "/metrics", "/healthz", "/?token=", "/?token=0123"})
    EXPECT_THAT(Get(path), StartsWith("HTTP/1.1 403 ")) << path;
  EXPECT_THAT(Get("/?token=" + token_, "Host: evil.example\r\n"), StartsWith("HTTP/1.1 403 "));

  const std::string page = Get("/?token=" + token_);
  EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("<h1>toy</h1>"), HasSubstr("<script>")));
  const std::string cookie = "attune-dashboard-" + std::to_string(port_) + "=" + token_;
  EXPECT_THAT(page, HasSubstr("Set-Cookie: " + cookie + "; Path=/; HttpOnly; SameSite=Strict\r\n"));
  EXPECT_THAT(Get("/data", "Host: localhost\r\nCookie: " + cookie + "\r\n"),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("<h1>toy</h1>"), Not(HasSubstr("<script>"))));
  EXPECT_THAT(Get("/metrics", Bearer()),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("attune_job_phase{"), HasSubstr("job=\"toy\"")));
  EXPECT_THAT(Get("/healthz", Bearer()), StartsWith("HTTP/1.1 200 "));

  EXPECT_EQ(Attune({"stop", "toy"}).code, 0);
  const Outcome ended = run_->AwaitEnd();
  EXPECT_THAT(ended.output, HasSubstr("{\"type\":\"dashboard\",\"url\":\"http://127.0.0.1:" + std::to_string(port_) +
                                      "/?token=" + token_ + "\"}\n"));
  EXPECT_EQ(Get("/healthz", Bearer()), "") << "the port ends with the run";
  for (const auto& entry : fs::recursive_directory_iterator(directory_ / "attune-runs")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(*ReadFile(entry.path()), Not(HasSubstr(token_))) << entry.path();
  }
}

TEST_F(DashboardLocalTest, AnOpenPageSeesHowTheJobEnded) {
  StartRun("toy", Manifest("exit 3"), {"--dashboard"});
  ASSERT_TRUE(AwaitAddress());
  std::string last;
  for (std::string answer = Get("/data", Bearer()); !answer.empty(); answer = Get("/data", Bearer())) last = answer;
  EXPECT_THAT(last, HasSubstr("Failed"));
  EXPECT_EQ(run_->AwaitEnd().code, 1);
}

TEST_F(DashboardLocalTest, APortThatIsTakenStartsNothing) {
  StartRun("toy", Manifest("exec sleep 600"), {"--dashboard", "--name", "first"});
  ASSERT_TRUE(AwaitAddress());
  const std::string port = "--dashboard=" + std::to_string(port_);
  const Outcome second = Attune({"run", (directory_ / "job.yaml").string(), "--name", "second", port});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.output, AllOf(HasSubstr("127.0.0.1:" + std::to_string(port_)), HasSubstr("choose another port")));
  EXPECT_FALSE(fs::exists(directory_ / "attune-runs" / "second"));
  EXPECT_THAT(Get("/healthz", Bearer()), StartsWith("HTTP/1.1 200 ")) << "the first is not disturbed";
}

TEST_F(DashboardLocalTest, ARunInTheBackgroundSaysItsAddressAndKeepsItToItsOwner) {
  std::ofstream(directory_ / "job.yaml") << Manifest("exec sleep 600");
  const Outcome started = Attune({"run", (directory_ / "job.yaml").string(), "-d", "--dashboard", "--name", "behind"});
  ASSERT_EQ(started.code, 0) << started.output;
  ASSERT_TRUE(FindAddress(started.output)) << started.output;
  EXPECT_THAT(Get("/", Bearer()), HasSubstr("<h1>toy</h1>"));
  struct stat output {};
  ASSERT_EQ(stat((directory_ / "attune-runs" / "behind" / "output.log").c_str(), &output), 0);
  EXPECT_EQ(output.st_mode & 0777U, 0600U);
  EXPECT_EQ(Attune({"stop", "toy"}).code, 0);
}

}  // namespace
}  // namespace attune::dashboard_local_test
