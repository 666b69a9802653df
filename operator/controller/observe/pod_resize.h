// Cpu and memory of the container that does a role's work: what its pod asks for, what its machine gives it, and how
// far a resize has come. As read from a pod's object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time_source.h"
#include "operator/kube/object.h"

namespace attune::controller {

// Of one resource: millicores, or bytes. Absent: not stated.
struct ResourceFigures {
  std::optional<int64_t> request, limit;

  bool any() const { return request || limit; }
  // What is shown: the limit, without one the request.
  std::optional<int64_t> shown() const { return limit ? limit : request; }
  friend bool operator==(const ResourceFigures&, const ResourceFigures&) = default;
};

struct ContainerFigures {
  ResourceFigures cpu, memory;
  friend bool operator==(const ContainerFigures&, const ContainerFigures&) = default;
};

// One figure of each, as they are shown.
struct Amounts {
  std::optional<int64_t> cpu, memory;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};
inline Amounts ShownOf(const ContainerFigures& figures) { return {figures.cpu.shown(), figures.memory.shown()}; }
// "cpu 500m, memory 1Gi"; "nothing" of what states neither.
std::string Describe(const Amounts& amounts);

// Of the member "resources" of a container or of its status. What is limited and not requested is requested by default.
ContainerFigures FiguresOf(const kube::Json& resources);

// The last resize of a pod, in its annotation attune.dev/resize: written before the API server is asked, so that a new
// operator knows what was begun and what has been reported of it. Also on pods that were created with figures of the
// spec.
struct ResizeRecord {
  Amounts from, to;  // of what was asked for
  bool done = false;
  bool reported_deferred = false, reported_infeasible = false;  // by Event

  bool any() const { return to.cpu || to.memory; }
  friend bool operator==(const ResizeRecord&, const ResizeRecord&) = default;
};
std::string ToText(const ResizeRecord& record);
ResizeRecord ParseResizeRecord(std::string_view text);  // what is not one reads as none

enum class ResizeState {
  kNone,
  kDeferred,    // no room on the machine now
  kInfeasible,  // never on this machine
  kInProgress,
  kError,  // in progress, and it did not succeed so far
};

struct PodResize {
  ContainerFigures asked;                  // the pod's spec
  std::optional<ContainerFigures> actual;  // absent: not reported
  ResizeState state = ResizeState::kNone;
  std::string message;            // the kubelet's
  std::optional<WallTime> since;  // of the state
  ResizeRecord record;
};
PodResize ReadResize(const kube::Json& pod, std::string_view container);

// The machine has given what the pod asks for, as far as both are known.
bool IsSettled(const PodResize& resize);

}  // namespace attune::controller
