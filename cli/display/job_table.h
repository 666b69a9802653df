// The table of `attune get`: the columns kubectl shows (operator/api/crd.cpp).
#pragma once

#include <vector>

#include "cli/display/table.h"
#include "operator/kube/object.h"

namespace attune::cli {

Table JobTable(const std::vector<kube::Json>& jobs, bool with_namespace, double now);

}  // namespace attune::cli
