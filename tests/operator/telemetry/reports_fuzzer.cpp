// Messages of sidecars, from the check at the entry to what controllers read. Whatever comes: what passes the check
// passes it again unchanged, and the sample is made of numbers.
#include <cmath>
#include <set>

#include "base/check.h"
#include "operator/telemetry/authenticator.h"
#include "operator/telemetry/job_store.h"
#include "operator/telemetry/plausible.h"
#include "tests/fuzz/fuzz_driver.h"
#include "tests/fuzz/random_message.h"

namespace attune::telemetry {
namespace {

v1::SidecarHello SomeHello(fuzz::Input& input) {
  v1::SidecarHello hello;
  hello.set_namespace_("default");
  hello.set_job("j");
  hello.set_job_uid(input.Below(4) == 0 ? "gone" : "uid");
  hello.set_role(input.Below(2) == 0 ? "server" : "worker");
  hello.set_index(static_cast<uint32_t>(input.Below(3)));
  hello.set_pod("pod-" + std::to_string(input.Below(4)));
  hello.set_pod_uid("pod-uid-" + std::to_string(input.Below(4)));
  return hello;
}

void Check(const JobSample& sample) {
  ATTUNE_CHECK(!sample.loss || std::isfinite(*sample.loss)) << *sample.loss;
  ATTUNE_CHECK(!sample.last_loss || std::isfinite(*sample.last_loss)) << *sample.last_loss;
  ATTUNE_CHECK(std::isfinite(sample.rate) && sample.rate >= 0) << sample.rate;
  ATTUNE_CHECK(std::isfinite(sample.mean_rate) && sample.mean_rate >= 0) << sample.mean_rate;
  ATTUNE_CHECK(std::isfinite(sample.loss_sum) && std::isfinite(sample.loss_weight)) << sample.loss_sum;
  ATTUNE_CHECK(sample.history.size() <= JobStore::kHistoryMax) << sample.history.size();
}

void Report(JobStore& store, const v1::SidecarHello& hello, fuzz::Input& input, MonotonicTime now) {
  v1::PodReport report;
  fuzz::Fill(report, input);
  KeepPlausible(hello, report);
  const std::string kept = report.SerializeAsString();
  const std::string again = KeepPlausible(hello, report);
  ATTUNE_CHECK(again.empty() && report.SerializeAsString() == kept) << again;
  store.Report(hello, report, now);
}

void Final(JobStore& store, const v1::SidecarHello& hello, fuzz::Input& input) {
  v1::FinalReport report;
  report.set_summary(fuzz::SomeText(input));
  report.set_model_path(fuzz::SomeText(input));
  for (uint64_t n = input.Below(6); n > 0; --n)
    (*report.mutable_metrics())[fuzz::SomeText(input)] = fuzz::SomeDouble(input);
  KeepPlausible(report);
  ATTUNE_CHECK(KeepPlausible(report).empty()) << report.ShortDebugString();
  store.Final(hello, report);
}

}  // namespace
}  // namespace attune::telemetry

namespace attune::fuzz {

// A list of operations: every byte means something.
std::vector<uint8_t> Example(uint64_t seed) {
  std::vector<uint8_t> bytes(2'000);
  for (uint8_t& byte : bytes)
    byte = static_cast<uint8_t>((seed = seed * 6364136223846793005ULL + 1442695040888963407ULL) >> 56);
  return bytes;
}

}  // namespace attune::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  using namespace attune::telemetry;
  fuzz::Input input(data, size);
  const auto store =
      JobStore::Create([](const JobId& job) { return job.uid == "uid" ? JobKnown::kYes : JobKnown::kNo; });
  MonotonicTime now{std::chrono::seconds(1000)};
  while (!input.empty()) {
    now += std::chrono::milliseconds(input.Take<uint16_t>());
    const v1::SidecarHello hello = SomeHello(input);
    switch (input.Below(8)) {
      case 0:
        store->Disconnected(hello, now);
        break;
      case 1:
        Final(*store, hello, input);
        break;
      case 2:
        store->Forget("default", "j");
        break;
      case 3:
        store->Answered(hello, fuzz::SomeText(input), {DirectiveAnswer::Outcome::kRefused, "no", now});
        break;
      case 4: {
        v1::SidecarHello any;
        fuzz::Fill(any, input);
        CheckHello(any).IgnoreError();
        break;
      }
      default:
        store->Connected(hello, now).IgnoreError();
        Report(*store, hello, input, now);
    }
    Check(store->Sample({"default", "j", "uid"}, now));
  }
  return 0;
}
