// Rows and links alone, from one seed in one thread: servers and workers as RowNodes, joined by links over a network
// that delays, reorders, loses, repeats and breaks; a script that publishes maps (homes move, backups are added, nodes
// crash or are taken for dead). Checkers look from outside:
//
//   OneOwner       a row is held by at most one member, or is on its way to one
//   AtMostOnce     no row and no copy contains a push twice
//   AckedPresent   what was acknowledged to its origin is in the row, or in a copy while the row is being recovered
//   OwnPushes      a pull shows every push of its worker issued before it
//   VersionsRise   what a worker sees of a row never falls
//   FilterSound    a push in a row or copy is recorded there until its origin knows of it
//   StateTravels   optimizer state is that of the same pushes
//   NoStaleWait    at rest nothing waits, is parked, held or unacknowledged, and every directory is right
//   CopiesEqual    at rest each copy equals its row
//   AllApplied     at rest every push of a living worker is applied once and acknowledged
// AckedPresent, OwnPushes, CopiesEqual and AllApplied spare rows that a crash took while they had no complete backup.
#pragma once

#include "tests/simulation/suite.h"

namespace attune::ps::simulation {

Suite RowSuite();

}  // namespace attune::ps::simulation
