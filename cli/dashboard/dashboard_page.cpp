#include "cli/dashboard/dashboard_page.h"

#include <string_view>

#include "base/sha256.h"
#include "cli/display/chart.h"
#include "cli/report/page.h"
#include "cli/report/report_page.h"
#include "operator/kube/base64.h"

namespace attune::cli {
namespace {

// Looks every two seconds, or every five where a look takes long, so that it costs the training little and sees the end
// of the run, which waits a little longer than that for it. A page in the background does not look, and one whose text
// is being selected is left alone. The token leaves the address at once: it is in a cookie by then.
constexpr char kScript[] = R"("use strict";
(() => {
  const least = 2000, most = 5000, share = 20;
  const page = document.getElementById("page"), note = document.getElementById("note");
  const address = new URL(location.href);
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  const chosen = new Map();
  let shown = "", timer = 0, looking = false;

  page.addEventListener("change", (event) => {
    if (event.target.matches("input.choice")) chosen.set(event.target.name, event.target.id);
  });

  function show(text) {
    if (text === shown) return;
    const open = Array.from(page.querySelectorAll("details"), (each) => each.open);
    const focused = document.activeElement ? document.activeElement.id : "";
    page.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    for (const id of chosen.values()) {
      const input = document.getElementById(id);
      if (input) input.checked = true;
    }
    page.querySelectorAll("details").forEach((each, i) => { if (i in open) each.open = open[i]; });
    if (focused) document.getElementById(focused)?.focus({preventScroll: true});
    shown = text;
  }

  async function look() {
    clearTimeout(timer);
    if (looking) return;
    looking = true;
    const began = performance.now();
    let failed = false;
    if (!document.hidden && getSelection().isCollapsed) {
      try {
        const answer = await fetch("/data" + location.search, {cache: "no-store", signal: AbortSignal.timeout(10000)});
        const text = await answer.text();
        if (answer.ok) show(text);
        note.textContent = answer.ok ? "Live: asked for again every few seconds." : text;
      } catch {
        failed = true;
        note.textContent = "The run does not answer any more: its process has ended, and this is what was seen last. " +
          "`attune report` makes a page of the whole run.";
      }
    }
    looking = false;
    timer = setTimeout(look, failed ? 5 * least : Math.min(most, Math.max(least, share * (performance.now() - began))));
  }

  document.addEventListener("visibilitychange", look);
  look();
})();
)";

constexpr char kMoreStyle[] = R"(#note{color:var(--axis);font-size:12px;margin:18px 0}
nav{margin:0 0 14px}nav a{margin-right:12px}nav a[aria-current]{font-weight:600;text-decoration:none}
)";

// Of everything that can be chosen on any report: the page's style stays while its content changes.
const std::string& Style() {
  static const std::string style =
      PageStyle({.axes = {XAxis::kTime, XAxis::kSteps, XAxis::kEpochs}, .log_loss = true}) + kMoreStyle;
  return style;
}

// How a policy names one inline style or script.
std::string HashSource(std::string_view text) { return "'sha256-" + kube::Base64Encode(Sha256Digest(text)) + "'"; }

std::string Links(const Histories& jobs, size_t chosen) {
  if (jobs.size() < 2) return "";
  std::string text = "<nav>";
  for (size_t i = 0; i < jobs.size(); ++i) {
    text += "<a href=\"/?job=" + EscapeHtml(JobName(*jobs[i])) + "\"" + (i == chosen ? " aria-current=\"page\"" : "") +
            ">" + EscapeHtml(jobs[i]->name) + "</a> ";
  }
  return text + "</nav>\n";
}

}  // namespace

std::string JobName(const RunHistory& history) { return history.name_space + "/" + history.name; }

std::string DashboardPart(const Histories& jobs, size_t chosen) {
  if (chosen < jobs.size()) return ReportPart(*jobs[chosen]);
  return MainBegin({}) + "<p>The run is starting; nothing has been seen of its job yet.</p>\n</main>\n";
}

std::string DashboardPage(const Histories& jobs, size_t chosen) {
  const std::string title = chosen < jobs.size() ? jobs[chosen]->name + " - attune" : "attune";
  return HeadBegin(title, Style()) + "</head><body>\n" + Links(jobs, chosen) + "<div id=\"page\">\n" +
         DashboardPart(jobs, chosen) +
         "</div>\n<p id=\"note\" role=\"status\">Reload the page to see how far the run is: without a script it does "
         "not do so itself.</p>\n<script>" +
         kScript + "</script>\n</body></html>\n";
}

std::string DashboardPolicy() {
  // Charts carry their colors in attributes, so attributes may hold style; an element of style may not be added.
  static const std::string policy = "default-src 'none'; script-src " + HashSource(kScript) + "; style-src " +
                                    HashSource(Style()) +
                                    "; style-src-attr 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
                                    "form-action 'none'; frame-ancestors 'none'";
  return policy;
}

}  // namespace attune::cli
