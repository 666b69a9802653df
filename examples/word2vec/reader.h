// Reads a model that servers have saved (--save-tables) and judges it, without training.
#pragma once

#include "base/status.h"
#include "examples/word2vec/flags.h"

namespace attune::word2vec {

// Prints neighbors and held-out loss. The text must be the one the model was trained on.
Status RunReader(const Flags& flags);

}  // namespace attune::word2vec
