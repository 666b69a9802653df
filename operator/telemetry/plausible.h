// Reports come from pods a user controls. They are checked once, here, where they enter: what cannot be true is taken
// out and named, what is left may be used without another look. Every field is judged, those of later releases by their
// type: numbers are finite and not negative (a loss may be negative) and counts small enough to be added up, texts are
// short and carry no control characters for a terminal, lists and enumerations have known bounds. Pure.
#pragma once

#include <string>

#include "attune/v1/telemetry.pb.h"

namespace attune::telemetry {

// A part (worker, server, job, usage) with a number that cannot be true goes as a whole, and so does one that does not
// fit the role the sidecar said it has. Returns what was taken out, for people; "": nothing.
std::string KeepPlausible(const v1::SidecarHello& hello, v1::PodReport& report);
// Metrics that are no numbers and texts that are too long go.
std::string KeepPlausible(v1::FinalReport& report);

// Control characters become spaces, except line ends and tabs; at most `bytes_max`, cut at a character.
std::string CleanText(const std::string& text, size_t bytes_max);

}  // namespace attune::telemetry
