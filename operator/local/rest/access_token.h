// The token that every request to the local API carries: in a header, or in the path for programs that keep tokens to
// themselves without TLS.
#pragma once

#include <string_view>

#include "operator/local/rest/rest_request.h"

namespace attune::local {

// The value of an Authorization header: "Bearer <token>".
bool IsBearer(std::string_view authorization, std::string_view token);
// "/token/<token>/..." authorizes too: kubectl sends no bearer token without TLS, but keeps the path of its server.
// Leaves what follows it in `target`; false, and no change, for other paths.
bool TakeTokenFromPath(RestTarget& target, std::string_view token);

}  // namespace attune::local
