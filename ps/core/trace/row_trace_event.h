// The kinds of what RowTrace sees, and their words.
#pragma once

#include <cstdint>

namespace attune::ps {

enum class RowTraceEvent : uint8_t {
  // The program, at a worker.
  kAnnounced,
  kRead,
  kPushed,
  // A worker and the row's home or owner.
  kAskedFor,
  kFetchedAhead,
  kCame,
  kAnnouncedTo,
  kWithdrawnTo,
  kCopyCame,
  kCopyRefreshed,
  kCopyTakenBack,
  kFoldSent,
  kPushSent,
  // The other side of these.
  kAskedForBy,
  kAnnouncedBy,
  kWithdrawnBy,
  kCopySent,
  kCopyRecalled,
  kFoldCame,
  kPushCame,
  // Owners and backups.
  kWantedBy,
  kWantedHere,
  kMoveOrdered,
  kMoveOrderCame,
  kHandedOver,
  kHandedHere,
  kBackedUp,
  kBackupCame,
};

// "%" stands for the other node.
constexpr const char* WordsOf(RowTraceEvent event) {
  switch (event) {
    case RowTraceEvent::kAnnounced:
      return "announced by the program";
    case RowTraceEvent::kRead:
      return "read by the program";
    case RowTraceEvent::kPushed:
      return "pushed to by the program";
    case RowTraceEvent::kAskedFor:
      return "asked for at %, by a pull that waits for it";
    case RowTraceEvent::kFetchedAhead:
      return "fetched ahead from %";
    case RowTraceEvent::kCame:
      return "values came from %";
    case RowTraceEvent::kAnnouncedTo:
      return "announced to its home, %";
    case RowTraceEvent::kWithdrawnTo:
      return "announced no more to its home, %";
    case RowTraceEvent::kCopyCame:
      return "a copy came from its home, %";
    case RowTraceEvent::kCopyRefreshed:
      return "the copy was refreshed by %";
    case RowTraceEvent::kCopyTakenBack:
      return "the copy was taken back by %";
    case RowTraceEvent::kFoldSent:
      return "pushes to the copy went to %, added up";
    case RowTraceEvent::kPushSent:
      return "a push went to %";
    case RowTraceEvent::kAskedForBy:
      return "asked for by %";
    case RowTraceEvent::kAnnouncedBy:
      return "announced by %";
    case RowTraceEvent::kWithdrawnBy:
      return "announced no more by %";
    case RowTraceEvent::kCopySent:
      return "values went to %, for its copy";
    case RowTraceEvent::kCopyRecalled:
      return "the copy at % was taken back";
    case RowTraceEvent::kFoldCame:
      return "pushes to the copy at % came, added up";
    case RowTraceEvent::kPushCame:
      return "a push of % came";
    case RowTraceEvent::kWantedBy:
      return "wanted as its own by %";
    case RowTraceEvent::kWantedHere:
      return "its home, %, was asked for it as an own row";
    case RowTraceEvent::kMoveOrdered:
      return "% was ordered to hand it over";
    case RowTraceEvent::kMoveOrderCame:
      return "its home, %, ordered it to be handed over";
    case RowTraceEvent::kHandedOver:
      return "handed over to %";
    case RowTraceEvent::kHandedHere:
      return "handed over by %";
    case RowTraceEvent::kBackedUp:
      return "a push went to the backup, %";
    case RowTraceEvent::kBackupCame:
      return "a push came for the backup here, from %";
  }
  return "";
}

// After it, what is seen begins another line: where the row is has changed.
constexpr bool ChangesPlace(RowTraceEvent event) {
  return event == RowTraceEvent::kCopyCame || event == RowTraceEvent::kCopyTakenBack ||
         event == RowTraceEvent::kCopyRecalled || event == RowTraceEvent::kHandedOver ||
         event == RowTraceEvent::kHandedHere;
}

}  // namespace attune::ps
