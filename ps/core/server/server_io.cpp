#include "ps/core/server/server_io.h"

namespace attune::ps {

void ServerOutputs::Clear() {
  send.clear();
  connect.clear();
  disconnect.clear();
  load.clear();
  restore.clear();
  rows_restored = rows_begun_anew = 0;
  write_snapshot.reset();
  call_off_snapshot = false;
  coordinator.reset();
  rejected.clear();
  finished = false;
  lost.reset();
}

}  // namespace attune::ps
