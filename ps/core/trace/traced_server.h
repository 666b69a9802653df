// A ServerCore whose handling of one row can be looked at: its steps pass by a RowTrace. Everything else is the core's.
//
// Pure; externally synchronized like the core.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time_source.h"
#include "ps/core/protocol/ids.h"
#include "ps/core/server/server_core.h"
#include "ps/core/trace/row_trace.h"

namespace attune::ps {

class TracedServer {
 public:
  explicit TracedServer(ServerOptions options) : core_(std::move(options)) {}

  // See ServerCore.
  void Step(ServerInput input, MonotonicTime now, ServerOutputs& out);

  // What happens to a row from now on, until the lines are taken. NotFound: there is no such table here.
  Status BeginTrace(const std::string& table, Key key, MonotonicTime now);
  std::vector<std::string> EndTrace() { return trace_.End(core_.map()); }

  ServerCore* operator->() { return &core_; }
  const ServerCore* operator->() const { return &core_; }

 private:
  ServerCore core_;
  RowTrace trace_;
};

}  // namespace attune::ps
