#include <cstdio>
#include <filesystem>

#include "base/os/output.h"
#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/failure.h"
#include "cli/launch/starter_manifest.h"
#include "cli/requests/tune_request.h"

namespace attune::cli {
namespace {

StatusOr<Starter> StarterOf(const InitArguments& arguments) {
  Starter starter;
  if (!arguments.name.empty() && arguments.name != "-") starter.name = arguments.name;
  if (!arguments.image.empty()) starter.image = arguments.image;
  if (!arguments.command.empty()) starter.command = arguments.command;
  starter.servers = arguments.servers;
  starter.workers = arguments.workers;
  starter.epochs = arguments.epochs;
  starter.steps = arguments.steps;
  starter.target_loss = arguments.target_loss;
  if (arguments.tune.empty()) return starter;
  starter.tuning = ParseTuningMode(arguments.tune);
  if (starter.tuning) return starter;
  return Error(StatusCode::kInvalidArgument,
               "--tune " + arguments.tune + ": write off, recommend, initial, inplaceonly or auto");
}

Status Write(const std::string& file, const std::string& text, bool force) {
  ASSIGN_OR_RETURN(const OutputPlace place, FindOutputPlace(file));
  std::error_code error;
  if (place.kind == OutputPlace::Kind::kFile && !force && std::filesystem::exists(place.path, error)) {
    return Error(StatusCode::kAlreadyExists, file + " exists; --force writes over it, and -o FILE writes another file");
  }
  return WriteOutput(place, text);
}

}  // namespace

int Init(const InitArguments& arguments) {
  const auto starter = StarterOf(arguments);
  if (!starter.ok()) return Fail(starter.status());
  const auto text = StarterManifest(*starter);
  if (!text.ok()) return Fail(text.status());
  const std::string file = arguments.name == "-"       ? "-"
                           : !arguments.output.empty() ? arguments.output
                                                       : starter->name + ".yaml";
  if (const Status status = Write(file, *text, arguments.force); !status.ok()) return Fail(status);
  if (file != "-") std::printf("wrote %s; `attune run %s` trains it on this machine\n", file.c_str(), file.c_str());
  return kExitOk;
}

}  // namespace attune::cli
