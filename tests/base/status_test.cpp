#include "base/status.h"

#include <gtest/gtest.h>

namespace attune::status_test {
namespace {

StatusOr<int> Half(int x) {
  if (x % 2 != 0) return Error(StatusCode::kInvalidArgument, "odd");
  return x / 2;
}

StatusOr<int> Quarter(int x) {
  ASSIGN_OR_RETURN(const int half, Half(x));
  return Half(half);
}

TEST(StatusTest, AssignOrReturnPassesErrorsOn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().code(), StatusCode::kInvalidArgument);
}

TEST(StatusTest, WhatWasDoneIsSaidOnce) {
  const Status status = Annotate(Error(StatusCode::kNotFound, "creating Pod a/b: no namespace a"), "creating Pod a/b");
  EXPECT_EQ(Message(status), "creating Pod a/b: no namespace a");
  EXPECT_EQ(Message(Annotate(status, "creating Pod a/bc")), "creating Pod a/bc: creating Pod a/b: no namespace a");
}

TEST(StatusTest, AnnotateKeepsTheCodeAndPutsTheActionInFront) {
  const Status status = Annotate(Error(StatusCode::kNotFound, "no such row"), "pulling");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(Message(status), "pulling: no such row");
}

}  // namespace
}  // namespace attune::status_test
