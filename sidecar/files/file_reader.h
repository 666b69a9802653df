// `attune-sidecar files`: shows the files below one directory to the caller that knows its token, until no more
// requests come. It reads only, and is no part of a job: `attune pull-model` starts it in a pod of its own.
#pragma once

#include <functional>
#include <memory>

#include "base/net/http_endpoint.h"
#include "base/status.h"
#include "base/time_source.h"
#include "sidecar/files/reader_options.h"

namespace attune::sidecar {

class FileReader {
 public:
  // Listens from now on. `time` must outlive it.
  static StatusOr<std::unique_ptr<FileReader>> Start(const ReaderOptions& options, const TimeSource& time);
  virtual ~FileReader() = default;

  virtual uint16_t port() const = 0;
  // Since the last request with the token, or since the start.
  virtual Duration idle() const = 0;
};

// "/TOKEN/REQUEST" -> what `answer` says to REQUEST, as a page; `answer` is not called without the token. All other
// paths get the same 404.
HttpPage AnswerWithToken(const HttpRequest& request, const std::string& token_sha256,
                         const std::function<StatusOr<std::string>(std::string_view request)>& answer);

// Reads until it was idle for as long as the options say, or `is_ending` says so; an exit code.
int RunFileReader(const ReaderOptions& options, const TimeSource& time,
                  const std::function<bool(Duration wait)>& is_ending);

}  // namespace attune::sidecar
