// Names for what goes wrong below HTTP. cpprestsdk reports an error code and a text whose meaning depends on how far
// the exchange had come; this turns all of them into Status. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace attune::kube {

struct HttpFailure {
  int code = 0;               // as cpprestsdk reports it: errno, asio's misc codes, or an OpenSSL error
  std::string what;           // its text
  bool headers_seen = false;  // the status line had been received
};

// `server` is the base address, for the message.
Status ToStatus(const HttpFailure& failure, std::string_view server);

// The connection died before an answer began: most often a pooled connection whose server is gone. A request that may
// be repeated is sent again; one that creates something only if its body was not fully written.
bool IsWorthRepeating(const HttpFailure& failure, bool may_repeat);

}  // namespace attune::kube
