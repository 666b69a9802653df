#include "operator/api/status/row_trace_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/fields.h"

namespace attune::api::row_trace_status_test {
namespace {

using testing::HasSubstr;

TEST(RowTraceRequest, IsReadAsItWasWritten) {
  for (const RowTraceRequest& request :
       {RowTraceRequest{.id = "7-12", .seconds = 10, .table = "input", .key = 17},
        RowTraceRequest{.id = "x", .seconds = 0.5, .table = "a table: of rows", .key = ~uint64_t{0}}}) {
    const auto read = ParseRowTraceRequest(ToString(request));
    ASSERT_TRUE(read.ok()) << Message(read.status());
    EXPECT_EQ(read->id, request.id);
    EXPECT_EQ(read->seconds, request.seconds);
    EXPECT_EQ(read->table, request.table);
    EXPECT_EQ(read->key, request.key);
  }
}

TEST(RowTraceRequest, WhatIsNoneIsRefusedWithWhatIsPossible) {
  for (const char* text : {"", "id= seconds=1 row=a:1", "seconds=1 row=a:1", "id=1 seconds=x row=a:1",
                           "id=1 seconds=-1 row=a:1", "id=1 seconds=1e9 row=a:1", "id=1 seconds=1", "id=1"}) {
    EXPECT_THAT(std::string(Message(ParseRowTraceRequest(text).status())), HasSubstr("id=ID seconds=SECONDS")) << text;
  }
  std::string table;
  uint64_t key = 0;
  for (const char* text :
       {"", "input", ":", ":1", "input:", "input:x", "input:-1", "input:1.5", "input:18446744073709551616"}) {
    EXPECT_THAT(std::string(Message(ParseRow(text, table, key))), HasSubstr("input:17")) << text;
  }
}

TEST(RowTraceStatus, IsReadAsItWasWritten) {
  TrainingJob job;
  job.status.row_trace = {.request = "id=7 seconds=1 row=a:1",
                          .time = "2026-11-21T12:00:01Z",
                          .message = "4 processes more of the job were not asked",
                          .pods = {{.pod = "a-server-0", .message = "", .events = {"0.001 s  read", "0.002 s  pushed"}},
                                   {.pod = "a-worker-0", .message = "its sidecar is away", .events = {}}}};
  const Json written = {{"apiVersion", "attune.dev/v1alpha1"},
                        {"kind", "TrainingJob"},
                        {"metadata", {{"name", "a"}}},
                        {"status", ToJson(job.status)}};
  const TrainingJob read = ParseTrainingJob(written).job;
  ASSERT_TRUE(read.status.row_trace.has_value());
  EXPECT_EQ(read.status.row_trace->request, job.status.row_trace->request);
  EXPECT_EQ(read.status.row_trace->time, job.status.row_trace->time);
  EXPECT_EQ(read.status.row_trace->message, job.status.row_trace->message);
  EXPECT_EQ(read.status.row_trace->pods, job.status.row_trace->pods);
}

}  // namespace
}  // namespace attune::api::row_trace_status_test
