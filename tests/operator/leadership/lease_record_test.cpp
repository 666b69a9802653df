// The Lease as a value and back: what other programs see of it, and what can be in one that was edited by hand.
#include "operator/leadership/election/lease_record.h"

#include <gtest/gtest.h>

namespace attune::leadership::lease_record_test {
namespace {

using kube::Json;
using std::chrono::seconds;

const kube::ObjectKey kKey{"system", "attune-operator"};

TEST(LeaseRecordTest, WhatIsWrittenIsReadAgain) {
  const LeaseRecord record{.holder = "pod-a_1f", .duration = seconds(15), .transitions = 4};
  const Json lease = LeaseToCreate(kKey, record, "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(lease["apiVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(kube::KeyOf(lease), kKey);
  EXPECT_EQ(lease["spec"], Json({{"holderIdentity", "pod-a_1f"},
                                 {"leaseDurationSeconds", 15},
                                 {"leaseTransitions", 4},
                                 {"acquireTime", "2026-01-02T03:04:05.000006Z"},
                                 {"renewTime", "2026-01-02T03:04:05.000006Z"}}));
  EXPECT_EQ(ParseLease(lease), record);
}

TEST(LeaseRecordTest, APatchNamesWhatItReplacesAndKeepsTheTimeOfAcquisition) {
  const LeaseRecord before{.holder = "a", .duration = seconds(15), .transitions = 4, .uid = "u", .version = "17"};
  const Json patch = LeasePatch(before, before, false, "t");
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "17");
  EXPECT_EQ(patch["metadata"]["uid"], "u");
  EXPECT_FALSE(patch["spec"].contains("acquireTime"));
  EXPECT_TRUE(patch["metadata"]["annotations"][kAnnotationReleasedBy].is_null()) << "a mark of the last release goes";
  EXPECT_EQ(LeasePatch(before, before, true, "t")["spec"]["acquireTime"], "t");
}

TEST(LeaseRecordTest, AReleaseHasNoHolderAndSaysWhoseItWas) {
  const LeaseRecord before{.holder = "a", .duration = seconds(15), .transitions = 4, .uid = "u", .version = "17"};
  LeaseRecord released = before;
  released.holder.clear();
  released.released = true;
  const Json patch = LeasePatch(released, before, false, "t");
  EXPECT_TRUE(patch["spec"]["holderIdentity"].is_null());
  EXPECT_EQ(patch["metadata"]["annotations"][kAnnotationReleasedBy], "a");
}

TEST(LeaseRecordTest, WhatAHandHasWrittenIsReadAsFarAsItMakesSense) {
  const Json odd = {{"metadata", {{"annotations", "none"}}},
                    {"spec", {{"holderIdentity", 7}, {"leaseDurationSeconds", -5}, {"leaseTransitions", "many"}}}};
  for (const Json& lease : {odd, Json::object(), Json({{"spec", nullptr}}), Json()}) {
    EXPECT_EQ(ParseLease(lease), LeaseRecord()) << lease;
  }
  const Json endless = {{"spec", {{"leaseDurationSeconds", INT64_MAX}}}};
  EXPECT_GT(ParseLease(endless).duration, Duration::zero());
}

}  // namespace
}  // namespace attune::leadership::lease_record_test
