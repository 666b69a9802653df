// How the parsing library's help looks.
#pragma once

namespace CLI {
class App;
}

namespace attune::cli {

void SetHelpText(CLI::App& app);

}  // namespace attune::cli
