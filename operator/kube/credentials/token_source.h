// The bearer token of a client: fixed, or from a file that is rotated under us (service-account tokens live an hour).
#pragma once

#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time_source.h"

namespace attune::kube {

// `text` without surrounding white space; "" stays "". Other spaces and control characters are InvalidArgument: they
// would become headers of their own. `where` it comes from is for the message.
StatusOr<std::string> CheckedToken(std::string_view text, std::string_view where);

// Thread-safe. `time` must outlive it.
class TokenSource {
 public:
  // `token_file` "" = always `token` (which may be "").
  TokenSource(std::string token, std::string token_file, const TimeSource& time);

  // The token without surrounding white space. The file is read again every minute; when that fails, the last token is
  // used until the next minute. Checked as above.
  StatusOr<std::string> Get();
  // The server refused the token (401): the next Get reads the file. True when there is a file to read.
  bool Invalidate();

 private:
  const std::string token_file_;
  const TimeSource& time_;
  Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
  MonotonicTime read_at_ ABSL_GUARDED_BY(mutex_){};
  bool is_fresh_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace attune::kube
