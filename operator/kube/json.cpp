// The one instantiation of JSON values, which object.h promises to every file that includes it.
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<>;
