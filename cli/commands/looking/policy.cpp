// `attune policy`: the policies of a cluster listed, explained for a job, and tried before they are applied.
#include <cstdio>
#include <utility>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/connection.h"
#include "cli/display/object_text.h"
#include "cli/failure.h"
#include "cli/policies/manifest_lines.h"
#include "cli/policies/policy_explanation.h"
#include "cli/policies/policy_preview.h"
#include "cli/policies/policy_sources.h"
#include "cli/policies/policy_table.h"
#include "cli/requests/bad_request.h"
#include "cli/requests/manifest_file.h"
#include "cli/runs/jobs.h"
#include "operator/api/manifest/manifest.h"

namespace attune::cli {
namespace {

void PrintJson(const kube::Json& value) { std::fputs(JsonText(value).c_str(), stdout); }

// What another action takes would be without effect.
Status CheckWords(const PolicyArguments& arguments) {
  const bool lists = arguments.action == "list";
  if (!lists && arguments.all_namespaces) return BadRequest("-A goes with the list only: attune policy list -A");
  if (!lists && arguments.output == "yaml")
    return BadRequest("yaml goes with the list only: attune policy list -o yaml; " + arguments.action + " has -o json");
  if (lists && !arguments.what.empty())
    return BadRequest("the list takes no name; write attune policy explain " + arguments.what +
                      " for a job, or kubectl get tp,ctp -o yaml for one policy");
  if (arguments.action == "test" && arguments.what.empty())
    return BadRequest(
        "no file is named; write attune policy test FILE, with the policies to be tried (- for standard input)");
  return OkStatus();
}

Status NoneHere(const JobConnection& connection) {
  return Error(StatusCode::kFailedPrecondition,
               connection.key.name + " is a job of this machine (" + connection.description +
                   "), where no policy holds: it is tuned as its manifest says (attune explain " + connection.key.name +
                   "); policies are objects of a cluster: name one with --kubeconfig FILE or --context NAME");
}

void PrintObjects(std::vector<kube::Json> objects, const std::string& format) {
  for (kube::Json& object : objects) kube::DropManagedFields(object);
  const kube::Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(objects)}};
  std::fputs(ObjectText(list, format).c_str(), stdout);
}

Status List(const PolicyArguments& arguments, const Target& target) {
  ASSIGN_OR_RETURN(const Connection connection, ConnectToPolicies(target));
  const std::string name_space = arguments.all_namespaces ? "" : connection.name_space;
  ASSIGN_OR_RETURN(const StoredPolicies stored, ReadPolicies(*connection.api, {name_space}));
  if (!arguments.output.empty()) {
    PrintObjects(stored.objects, arguments.output);
  } else if (stored.objects.empty()) {
    const std::string in = name_space.empty() ? "" : " for namespace " + name_space;
    std::fprintf(stderr, "no policies%s at %s: jobs are tuned as their manifests say\n", in.c_str(),
                 connection.description.c_str());
  } else {
    const double now = ToUnixSeconds(SystemTime().WallNow());
    for (const std::string& line : FormatTable(PolicyTable(stored.objects, now))) std::puts(line.c_str());
    for (const std::string& line : PolicyComplaints(stored.objects)) std::puts(line.c_str());
  }
  for (const std::string& note : stored.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  return OkStatus();
}

Status ExplainJob(const PolicyArguments& arguments, const Target& target) {
  ASSIGN_OR_RETURN(const JobConnection connection, ConnectToJob(target, arguments.what, Purpose::kLook));
  if (connection.instance || connection.ended) return NoneHere(connection);
  kube::Api& api = *connection.api;
  ASSIGN_OR_RETURN(const kube::Json job, GetJob(api, connection.key));
  ASSIGN_OR_RETURN(StoredPolicies stored, ReadPolicies(api, {connection.key.name_space}));
  const std::vector<api::Policy> policies = stored.Values();
  const std::string& name_space = connection.key.name_space;
  const NamespaceLabels labels = ReadNamespaceLabels(api, {name_space}, policies, stored.notes);
  const WallTime now = SystemTime().WallNow();
  const PolicyExplanation explanation =
      ExplainPolicies(job, policies, LabelsIn(labels, name_space), std::move(stored.notes), now);
  if (arguments.output == "json") {
    PrintJson(ToJson(explanation));
  } else {
    std::fputs(ToText(explanation, now).c_str(), stdout);
  }
  return OkStatus();
}

struct PolicyFile {
  std::vector<kube::Json> objects;
  std::vector<std::string> advice;
};

// Problems are what was asked for, and go to standard output as those of `attune validate` do.
StatusOr<PolicyFile> ReadPolicyFile(const std::string& file, bool json) {
  const std::string name = file == "-" ? kStandardInput : file;
  const auto text = ReadManifestText(file);
  if (!text.ok()) return BadRequest(std::string(Message(text.status())));
  ASSIGN_OR_RETURN(const std::vector<api::Manifest> manifests,
                   api::ParseManifests(*text, name, api::ManifestKinds::kPolicies));
  PolicyFile read;
  size_t problems = 0;
  for (const api::Manifest& manifest : manifests) {
    for (const api::FieldProblem& problem : manifest.problems) std::puts(ProblemLine(manifest, problem, json).c_str());
    problems += manifest.problems.size();
    read.objects.push_back(manifest.object);
    for (std::string& line : AdviceLines(manifest, /*json=*/false)) read.advice.push_back(std::move(line));
  }
  if (problems == 0) return read;
  return BadRequest(name + " has " + std::to_string(problems) + (problems == 1 ? " problem" : " problems") +
                    "; nothing was compared");
}

// The policies of the file, each in the namespace that kubectl would apply it to.
std::vector<api::Policy> ProposedBy(const PolicyFile& file, const std::string& name_space) {
  std::vector<api::Policy> policies;
  for (kube::Json object : file.objects) {
    const bool namespaced = kube::StringAt(object, {"kind"}) == kube::kTuningPolicies.kind;
    if (namespaced && kube::Namespace(object).empty()) object["metadata"]["namespace"] = name_space;
    policies.push_back(api::ParsePolicy(object).policy);
  }
  return policies;
}

Status Test(const PolicyArguments& arguments, const Target& target) {
  const bool json = arguments.output == "json";
  ASSIGN_OR_RETURN(const PolicyFile file, ReadPolicyFile(arguments.what, json));
  ASSIGN_OR_RETURN(const Connection connection, ConnectToPolicies(target));
  const WallTime now = SystemTime().WallNow();
  ASSIGN_OR_RETURN(const PolicyPreview preview,
                   TryPolicies(*connection.api, ProposedBy(file, connection.name_space), connection.name_space, now));
  if (json) {
    kube::Json object = ToJson(preview);
    object["advice"] = file.advice;
    PrintJson(object);
  } else {
    for (const std::string& line : file.advice) std::puts(line.c_str());
    std::fputs(ToText(preview, now).c_str(), stdout);
  }
  return OkStatus();
}

}  // namespace

int Policy(const PolicyArguments& arguments, const Target& target) {
  const Status fits = CheckWords(arguments);
  const Status status = !fits.ok()                      ? fits
                        : arguments.action == "explain" ? ExplainJob(arguments, target)
                        : arguments.action == "test"    ? Test(arguments, target)
                                                        : List(arguments, target);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace attune::cli
