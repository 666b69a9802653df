// The command line of `attune-sidecar files`, as plain values. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"

namespace attune::sidecar {

struct ReaderOptions {
  std::string directory;
  uint16_t port = 0;                 // 0: any, which is for tests
  std::string token_sha256;          // of the token that every request begins with
  Duration idle = Duration::zero();  // it ends after so long without a request that has the token

  // `arguments`: what follows "files". InvalidArgument says what is wrong with which option.
  static StatusOr<ReaderOptions> Parse(const std::vector<std::string>& arguments);
};

}  // namespace attune::sidecar
