// The same training in one process: threads update shared arrays without locks (Niu et al. 2011, Hogwild). Its speed is
// what a parameter server is measured against.
#pragma once

#include "base/status.h"
#include "examples/word2vec/flags.h"

namespace attune::word2vec {

Status RunStandalone(const Flags& flags);

}  // namespace attune::word2vec
