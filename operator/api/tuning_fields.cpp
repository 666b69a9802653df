// The table of fields: who looks for a better setting, and how far it may go.
#include "operator/api/field_binding.h"
#include "operator/tuner/space/knob.h"

namespace attune::api {
namespace {

// Range and meaning of a knob come from its record; `least` and `greatest` say what an absent bound means.
template <class PolicyLens>
void AddKnob(std::vector<Field>& fields, const std::string& name, const std::string& least, const std::string& greatest,
             PolicyLens policy) {
  const tuner::KnobRecord& knob = *tuner::FindKnob(name);
  const std::string path = "spec.tuning." + name;
  fields.push_back(Default(Object(path, std::string(knob.effect)), Json::object()));
  const auto add = [&](const char* member, const std::string& description, auto lens) {
    fields.push_back(Range(Bound(path + "." + member, description, lens), knob.low, knob.high));
  };
  add(
      "min", "Least value the tuner may choose; absent: " + least + ".", [policy](auto& job) -> auto& {
        return policy(job).min;
      });
  add(
      "max", "Greatest value the tuner may choose; absent: " + greatest + ".", [policy](auto& job) -> auto& {
        return policy(job).max;
      });
  add(
      "pinned", "Keep this value; the tuner looks for the best of the others.", [policy](auto& job) -> auto& {
        return policy(job).pinned;
      });
}

template <class PolicyLens>
void AddCpuKnob(std::vector<Field>& fields, const std::string& name, const std::string& role, PolicyLens policy) {
  const std::string path = "spec.tuning." + name;
  fields.push_back(Default(Object(path, "CPU limit of one " + role + "."), Json::object()));
  const auto add = [&](const char* member, const std::string& description, auto lens) {
    fields.push_back(BoundQuantity(path + "." + member, description, Unit::kMillicores, lens));
  };
  const std::string of_role = "; absent: that of spec." + role + "s.resources.cpu.";
  add(
      "min", "Least that the tuner may choose" + of_role, [policy](auto& job) -> auto& { return policy(job).min; });
  add(
      "max",
      "Most that the tuner may choose" + of_role + " Without either it chooses none.", [policy](auto& job) -> auto& {
        return policy(job).max;
      });
  add(
      "pinned", "Keep this amount; the tuner looks for the best of the others.", [policy](auto& job) -> auto& {
        return policy(job).pinned;
      });
}

// Absent is the first choice, and is written so: a policy's default is for jobs that state nothing.
Field OmitFirst(Field field) {
  field.get = [get = field.get, first = field.choices.front()](const TrainingJob& job) {
    Json value = get(job);
    return value == first ? Json() : value;
  };
  return field;
}

void AddObjective(std::vector<Field>& fields) {
  const std::string path = "spec.tuning.objective";
  fields.push_back(Default(Object(path, "What better means, and what cores and memory cost."), Json::object()));
  fields.push_back(OmitFirst(Bound(path + ".kind",
                                   "Time: the goal as soon as possible. Cost: at the least cost. TimeUnderBudget: as "
                                   "soon as possible for at most budget. Absent: Time, or as a policy says.",
                                   LENS(spec.tuning.objective.kind))));
  fields.push_back(Default(
      Bound(path + ".coreHour", "Price of a core for an hour, in any currency.", LENS(spec.tuning.objective.core_hour)),
      1));
  fields.push_back(Default(
      Bound(path + ".gibHour", "Price of a GiB of memory for an hour.", LENS(spec.tuning.objective.gib_hour)), 0));
  fields.push_back(Bound(path + ".budget",
                         "With TimeUnderBudget: what the whole job may cost. Where that cannot be kept, the least "
                         "cost is looked for.",
                         LENS(spec.tuning.objective.budget)));
}

}  // namespace

void AddTuning(std::vector<Field>& fields) {
  fields.push_back(
      Default(Object("spec.tuning", "Looks for the setting that finishes the running job soonest; docs/tuning.md."),
              Json::object()));
  fields.push_back(OmitFirst(
      Bound("spec.tuning.mode",
            "Off. Recommend: says what it would do and touches nothing. Initial: tries settings at the beginning, "
            "then leaves the job alone. InPlaceOnly: changes nothing that needs other pods. Auto: all. Absent: Off, or "
            "as a policy says.",
            LENS(spec.tuning.mode))));
  fields.push_back(Default(
      Bound("spec.tuning.paused", "Leave the setting as it is until this is false again.", LENS(spec.tuning.paused)),
      false));
  fields.push_back(
      Default(Bound("spec.tuning.writeTo",
                    "Where the operator keeps what it chooses. Spec: it changes the spec, as a user would. "
                    "Status: it leaves the spec to its owner, for instance a GitOps controller; what it "
                    "chooses is in status.settings, until the spec says something else there. ByOwner: "
                    "Status where another controller states the replicas, else Spec.",
                    LENS(spec.tuning.write_to)),
              "ByOwner"));
  fields.push_back(Range(Default(Bound("spec.tuning.windowSeconds",
                                       "Shortest time at a setting that is worth measuring; noisy jobs need more.",
                                       LENS(spec.tuning.window_seconds)),
                                 5),
                         2, 3600));
  AddObjective(fields);
  AddKnob(fields, "servers", "that of spec.servers", "that of spec.servers, and at most 16", LENS(spec.tuning.servers));
  AddKnob(fields, "workers", "that of spec.workers", "that of spec.workers, and at most 16", LENS(spec.tuning.workers));
  AddKnob(fields, "threads", "1", "what the program offers, and at most 16", LENS(spec.tuning.threads));
  AddKnob(fields, "slack", "0 if max is given, else the mode is not tuned",
          "1000000 (Async) if min is given, else the mode is not tuned", LENS(spec.tuning.slack));
  AddCpuKnob(fields, "workerCpu", "worker", LENS(spec.tuning.worker_cpu));
  AddCpuKnob(fields, "serverCpu", "server", LENS(spec.tuning.server_cpu));
  fields.push_back(Default(Object("spec.tuning.findings",
                                  "What follows when a part of the job has a problem. Act: the operator does something "
                                  "about it. Report: it is only reported. Off: neither. ByMode: as the mode allows."),
                           Json::object()));
  const auto add = [&](const char* name, const char* description, auto lens) {
    fields.push_back(Default(Bound(std::string("spec.tuning.findings.") + name, description, lens), "ByMode"));
  };
  add("memory",
      "Memory that grows towards its limit. Act: the limit is raised before it is reached, within "
      "resources.memory.max. ByMode: Act in the modes Auto and InPlaceOnly, else Report.",
      LENS(spec.tuning.findings.memory));
  add("straggler",
      "A worker that is slower than the others. Act: it is moved to another machine, if the job has pods on two. "
      "ByMode: Act in mode Auto, else Report.",
      LENS(spec.tuning.findings.straggler));
  add("network",
      "Workers that wait for rows although servers have cpu left. Act: a server that runs on a machine without workers "
      "is moved to one with workers, unless spec.placement says where servers are to be. ByMode: Act in mode Auto, "
      "else "
      "Report.",
      LENS(spec.tuning.findings.network));
  add("hotServer",
      "A server that answers more than the others and has no cpu left. The operator reports it, also with Act; Off "
      "silences it.",
      LENS(spec.tuning.findings.hot_server));
}

}  // namespace attune::api
