// How fields of a part of the status that may be absent are tied to their members. Internal to this room.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "operator/api/field_binding.h"

namespace attune::api {

// An optional part of the status: made when first written to, a constant one when only read.
template <class Part>
auto PartLens(std::optional<Part> TrainingJobStatus::*part) {
  return [part](auto& job) -> auto& {
    if constexpr (std::is_const_v<std::remove_reference_t<decltype(job)>>) {
      static const Part kNone;
      return job.status.*part ? *(job.status.*part) : kNone;
    } else {
      return job.status.*part ? *(job.status.*part) : (job.status.*part).emplace();
    }
  };
}

template <class Part>
Field PartObject(std::string path, std::string description, std::optional<Part> TrainingJobStatus::*part) {
  Field field = Object(std::move(path), std::move(description));
  field.present = [part](const TrainingJob& job) { return (job.status.*part).has_value(); };
  return field;
}

template <class Part, class Member>
Field PartMember(std::string path, std::string description, std::optional<Part> TrainingJobStatus::*part,
                 Member Part::*member) {
  return Bound(
      std::move(path), std::move(description),
      [ of = PartLens(part), member ](auto& job) -> auto& { return of(job).*member; });
}

void AddTuningStatus(std::vector<Field>& fields);

}  // namespace attune::api
