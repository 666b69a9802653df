#include "cli/dashboard/dashboard_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <regex>

#include "cli/report/report_page.h"
#include "operator/kube/base64.h"

namespace attune::cli::dashboard_page_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const RunHistory> Seen(const std::string& name, int seconds) {
  RunRecorder recorder;
  for (int at = 0; at < seconds; ++at) {
    JobView view;
    view.name = name;
    view.name_space = "default";
    view.phase = "Running";
    view.started = 1'800'000'000;
    view.loss = 9.0 / (1 + at);
    view.servers_ready = view.workers_ready = 1;
    view.steps = 10 * at;
    view.epochs_done = at / 5.0;
    recorder.Add(view, view.started + at);
  }
  return std::make_shared<const RunHistory>(recorder.history());
}

// What lies between the first <tag> and its end.
std::string Inside(const std::string& page, const std::string& tag) {
  const size_t begin = page.find("<" + tag + ">") + tag.size() + 2;
  return page.substr(begin, page.find("</" + tag + ">", begin) - begin);
}

std::string Hash(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  return "'sha256-" + kube::Base64Encode({reinterpret_cast<const char*>(digest), size}) + "'";
}

TEST(DashboardPage, ShowsTheReportOfTheRunSoFar) {
  const auto history = Seen("word2vec", 20);
  const std::string page = DashboardPage({history}, 0);
  EXPECT_THAT(page, HasSubstr("<title>word2vec - attune</title>"));
  EXPECT_THAT(page, HasSubstr(DashboardPart({history}, 0)));
  EXPECT_THAT(page, HasSubstr("training loss now"));
  EXPECT_THAT(page, Not(HasSubstr("<nav>"))) << "there is one job";
  EXPECT_THAT(ReportPage(*history), HasSubstr(Inside(DashboardPart({history}, 0), "main")))
      << "the same as `attune report` shows";
}

TEST(DashboardPage, BeforeAnythingIsSeenItSaysSo) {
  EXPECT_THAT(DashboardPage({}, 0), HasSubstr("The run is starting"));
  EXPECT_THAT(DashboardPage({Seen("word2vec", 0)}, 0), Not(HasSubstr("The run is starting")));
}

TEST(DashboardPage, JobsOfOneRunLeadToEachOther) {
  const std::string page = DashboardPage({Seen("first", 3), Seen("second", 3)}, 1);
  EXPECT_THAT(page, HasSubstr("<a href=\"/?job=default/first\">first</a>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"/?job=default/second\" aria-current=\"page\">second</a>"));
  EXPECT_THAT(page, HasSubstr("<h1>second</h1>"));
}

TEST(DashboardPage, ItsPolicyAllowsItsOwnStyleAndScriptAndNothingElse) {
  const std::string policy = DashboardPolicy();
  for (const Histories& jobs : {Histories{}, {Seen("word2vec", 1)}, {Seen("word2vec", 50)}}) {
    const std::string page = DashboardPage(jobs, 0);
    EXPECT_THAT(policy, HasSubstr("script-src " + Hash(Inside(page, "script")) + ";"));
    EXPECT_THAT(policy, HasSubstr("style-src " + Hash(Inside(page, "style")) + ";"))
        << "the style stays while the content changes";
  }
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
}

TEST(DashboardPage, NeedsNothingFromElsewhere) {
  const std::regex names_of_formats(" xmlns=\"http://www.w3.org/2000/svg\"");  // nothing is fetched from there
  const std::string page = std::regex_replace(DashboardPage({Seen("word2vec", 50)}, 0), names_of_formats, "");
  for (const char* text : {"src=", "http:", "https:", "@import", "url(", " onclick", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(text)));
}

TEST(DashboardPage, ItsStyleKnowsEveryChoiceThatAReportOffers) {
  const std::string page = DashboardPage({Seen("word2vec", 50)}, 0);
  const std::string style = Inside(page, "style");
  const std::regex choice("<input class=\"choice\"[^>]* id=\"([a-z-]+)\"");
  int choices = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), choice), end; at != end; ++at, ++choices)
    EXPECT_THAT(style, HasSubstr("#" + (*at)[1].str() + ":checked~main"));
  EXPECT_EQ(choices, 5) << "three axes and two scales";
}

TEST(DashboardPage, NamesAreTextAndNoMarkup) {
  auto history = std::make_shared<RunHistory>();
  history->name = "<script>alert(1)</script>";
  history->name_space = "\"onload=";
  EXPECT_THAT(DashboardPage({history, history}, 0), Not(HasSubstr("<script>alert")));
  EXPECT_THAT(DashboardPage({history, history}, 0), Not(HasSubstr("\"\"onload")));
}

}  // namespace
}  // namespace attune::cli::dashboard_page_test
