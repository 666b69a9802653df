// What the port of `attune run --dashboard` answers: who may look, and which page is where. A function of the request,
// of the token and of what has been seen of the run. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/net/http_endpoint.h"
#include "cli/dashboard/dashboard_page.h"

namespace attune::cli {

struct DashboardAccess {
  std::string token;
  uint16_t port = 0;  // part of the cookie's name: browsers send cookies to every port of a host
};

struct DashboardSight {
  Histories jobs;
  // The operator's page for Prometheus; nothing while no operator is there.
  std::function<std::optional<std::string>()> metrics;
};

// "http://127.0.0.1:8080/?token=...": what a user opens.
std::string DashboardUrl(const DashboardAccess& access);

// Requests for a name other than those of loopback are refused (a web site can give its own name this address), and
// then those without the token: in the query, in the cookie that a query leaves, or as a bearer token.
HttpPage AnswerDashboard(const HttpRequest& request, const DashboardAccess& access, const DashboardSight& sight);

}  // namespace attune::cli
