// The parameter server's program: reads flags and environment, serves until the job is over, ends with 0 when all went
// well.
#include "ps/server/server_command.h"

int main(int argc, char** argv) {
  attune::ps::ServerCommand command;
  if (const auto exit_code = command.Parse(argc, argv)) return *exit_code;
  return command.Run();
}
