#include "cli/report/page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "operator/api/format.h"

namespace attune::cli {
namespace {

struct AxisName {
  XAxis axis;
  const char* id;
  const char* name;
};
constexpr std::array<AxisName, 3> kAxes{
    {{XAxis::kTime, "time", "time"}, {XAxis::kSteps, "steps", "steps"}, {XAxis::kEpochs, "epochs", "epochs"}}};

const AxisName& NameOf(XAxis axis) { return kAxes[static_cast<size_t>(axis)]; }

// Widths at which drawings are made, so that their text keeps its size: it shrinks and grows with a drawing.
constexpr int kWideWidth = 940, kHalfWidth = 460, kNarrowWidth = 400;

constexpr char kStyle[] = R"(:root{color-scheme:light dark;--text:#1f2933;--axis:#5b6570;--grid:#e3e6ea;--ground:#fff}
@media(prefers-color-scheme:dark){:root{--text:#e6e9ec;--axis:#9aa5b1;--grid:#333b43;--ground:#14181c}
svg polyline,svg polygon,svg circle,.bar{filter:brightness(1.35)}}
body{font:14px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--text);background:var(--ground);max-width:960px;
margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 2px}h2{font-size:16px;margin:22px 0 6px}
.sub{color:var(--axis);margin:0 0 14px}.headline{font-size:16px;margin:0 0 14px}
.about{display:grid;grid-template-columns:max-content 1fr;gap:0 12px;margin:0 0 14px;font-size:13px}
.about dt{color:var(--axis)}.about dd{margin:0;overflow-wrap:anywhere}
.figures{display:flex;flex-wrap:wrap;gap:10px;margin:0 0 14px}
.figures div{border:1px solid var(--grid);border-radius:6px;padding:6px 12px}
.figures b{display:block;font-size:16px}.figures span{color:var(--axis);font-size:12px}
svg{display:block;width:100%;margin:0 0 10px}
.halves{display:grid;grid-template-columns:1fr 1fr;gap:0 16px}
.choice{position:absolute;opacity:0;pointer-events:none}
.choices{position:sticky;top:0;background:var(--ground);padding:6px 0;margin:0 0 8px;display:flex;flex-wrap:wrap;
gap:4px 16px;border-bottom:1px solid var(--grid);font-size:13px;z-index:1}
.choices span{color:var(--axis);margin-right:4px}
.choices label{display:inline-block;border:1px solid var(--grid);padding:1px 9px;cursor:pointer;border-radius:4px}
.on-steps,.on-epochs,.as-log,.narrow{display:none}
table{border-collapse:collapse;width:100%}.scroll{overflow-x:auto;margin:0 0 14px}
td,th{text-align:left;padding:3px 10px 3px 0;vertical-align:top;border-bottom:1px solid var(--grid)}
td{white-space:nowrap}.runs td{white-space:normal;overflow-wrap:anywhere;min-width:120px}
.events td:last-child{white-space:normal;overflow-wrap:anywhere}th.bars{width:36%}
.n{display:inline-block;min-width:18px;border-radius:9px;color:#fff;text-align:center;font-size:11px;
text-decoration:none;margin-right:3px}svg a:hover rect,a.n:hover{opacity:.8}
.bar{display:block;height:9px;margin-top:6px;background:#6fc28f;border-radius:2px;min-width:2px}
.h:hover>path{fill-opacity:.15}.h:hover .v{visibility:visible}.v{pointer-events:none}
.v rect{fill:var(--ground);stroke:var(--grid)}.v text{fill:var(--text)}
details{font-size:13px;color:var(--axis)}summary{cursor:pointer}
tr:target{background:#d9730d33}a{color:inherit}
@media(max-width:720px){.wide{display:none}.narrow{display:block}.narrow svg{max-width:520px}.halves{display:block}
body{margin:12px auto;padding:0 10px}.about{display:block}.about dt{float:left;margin-right:8px}
.about dd{margin:0 0 2px}
td,th{padding-right:7px;font-size:13px}th.bars,td.bars{display:none}
.settings td{white-space:normal}
.events tr{display:block;border-bottom:1px solid var(--grid);padding:4px 0}
.events td{display:inline;border:0;white-space:normal}
.events tr:first-child,.cards tr:first-child{display:none}
.cards tr{display:block;border-bottom:1px solid var(--grid);padding:5px 0}
.cards td{display:inline-block;border:0;padding:0 14px 0 0}
.cards td[data-label]::before{content:attr(data-label) " ";color:var(--axis)}}
)";

// Which drawings are shown for a choice that is not the first one of its kind.
std::string ChoiceStyle(const PageChoices& choices) {
  std::string text;
  for (const XAxis axis : choices.axes) {
    const std::string id = NameOf(axis).id;
    text += "#x-" + id + ":checked~main label[for=x-" + id + "]{background:var(--text);color:var(--ground)}\n";
    for (const AxisName& other : kAxes)
      text +=
          "#x-" + id + ":checked~main .on-" + other.id + "{display:" + (other.axis == axis ? "block" : "none") + "}\n";
  }
  if (!choices.log_loss) return text;
  return text +
         "#y-linear:checked~main label[for=y-linear],#y-log:checked~main "
         "label[for=y-log]{background:var(--text);color:var(--ground)}\n"
         "#y-log:checked~main .as-log{display:block}#y-log:checked~main .as-linear{display:none}\n";
}

std::string Choice(const std::string& group, const std::string& id, bool checked) {
  return "<input class=\"choice\" type=\"radio\" name=\"" + group + "\" id=\"" + group + "-" + id + "\"" +
         (checked ? " checked" : "") + ">";
}

std::string ForScreens(Chart chart, ChartSize size) {
  chart.hover = true;
  chart.width = size == ChartSize::kHalf ? kHalfWidth : kWideWidth;
  const std::string wide = SvgText(chart);
  if (wide.empty()) return "";
  chart.width = kNarrowWidth;
  return "<div class=\"wide\">" + wide + "</div><div class=\"narrow\">" + SvgText(chart) + "</div>";
}

}  // namespace

double StartOf(const RunHistory& history) {
  if (history.started > 0) return history.started;
  return history.points.empty() ? 0 : history.points.front().time;
}

double LengthOf(const RunHistory& history) {
  const double last = history.points.empty() ? StartOf(history) : history.points.back().time;
  return std::max({history.ended, last, StartOf(history)}) - StartOf(history);
}

std::vector<double> ValuesOn(XAxis axis, const RunHistory& history) {
  std::vector<double> values;
  values.reserve(history.points.size());
  double last = 0;
  for (const RunPoint& point : history.points) {
    if (axis == XAxis::kTime) last = std::max(last, point.time - StartOf(history));
    const std::optional<double>& done = axis == XAxis::kSteps ? point.steps : point.epochs;
    if (axis != XAxis::kTime && done && std::isfinite(*done)) last = std::max(last, *done);
    values.push_back(last);
  }
  return values;
}

std::vector<XAxis> AxesOf(const std::vector<const RunHistory*>& runs) {
  std::vector<XAxis> axes;
  for (const AxisName& each : kAxes) {
    const bool any = std::any_of(runs.begin(), runs.end(), [&](const RunHistory* run) {
      const std::vector<double> values = ValuesOn(each.axis, *run);
      return !values.empty() && values.back() > 0;
    });
    if (any || each.axis == XAxis::kTime) axes.push_back(each.axis);
  }
  return axes;
}

std::string PageStyle(const PageChoices& choices) { return "\n" + (kStyle + ChoiceStyle(choices)); }

std::string HeadBegin(const std::string& title, const std::string& style) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width,initial-scale=1\"><title>" +
         EscapeHtml(title) + "</title>\n<style>" + style + "</style>";
}

std::string MainBegin(const PageChoices& choices) {
  std::string text;
  for (const XAxis axis : choices.axes) text += Choice("x", NameOf(axis).id, axis == choices.axes.front());
  if (choices.log_loss)
    text += Choice("y", "linear", !choices.log_loss_first) + Choice("y", "log", choices.log_loss_first);
  return text + "<main>\n";
}

std::string PageBegin(const std::string& title, const PageChoices& choices) {
  return HeadBegin(title, PageStyle(choices)) + "</head><body>\n" + MainBegin(choices);
}

std::string PageEnd() { return "</main></body></html>\n"; }

std::string ChoicesBar(const PageChoices& choices) {
  std::string text;
  if (choices.axes.size() > 1) {
    text += "<div><span>curves over</span>";
    for (const XAxis axis : choices.axes)
      text += std::string("<label for=\"x-") + NameOf(axis).id + "\">" + NameOf(axis).name + "</label> ";
    text += "</div>";
  }
  if (choices.log_loss) {
    text +=
        "<div><span>loss</span><label for=\"y-linear\">linear</label> <label "
        "for=\"y-log\">logarithmic</label></div>";
  }
  return text.empty() ? "" : "<div class=\"choices\">" + text + "</div>\n";
}

void SetAxis(XAxis axis, double x_max, Chart& chart) {
  chart.x_max = std::max(x_max, axis == XAxis::kTime ? 1.0 : 1e-9);
  if (axis == XAxis::kSteps) {
    chart.x_name = "step";
    chart.x_text = [](double x) { return api::FormatCount(std::round(x)); };
  } else if (axis == XAxis::kEpochs) {
    chart.x_name = "epoch";
    chart.x_text = [](double x) { return api::FormatFigure(x); };
  }
}

std::string DrawOnAxes(const PageChoices& choices, ChartSize size, const std::function<Chart(XAxis)>& make) {
  std::string text;
  for (const XAxis axis : choices.axes) {
    const std::string drawn = ForScreens(make(axis), size);
    if (!drawn.empty()) text += std::string("<div class=\"on-") + NameOf(axis).id + "\">" + drawn + "</div>\n";
  }
  return text;
}

std::string DrawLoss(const PageChoices& choices, ChartSize size, const std::function<Chart(XAxis)>& make) {
  std::string linear = DrawOnAxes(choices, size, make);
  if (!choices.log_loss || linear.empty()) return linear;
  const std::string logarithmic = DrawOnAxes(choices, size, [&](XAxis axis) {
    Chart chart = make(axis);
    chart.log_y = true;
    return chart;
  });
  return "<div class=\"as-linear\">" + linear + "</div><div class=\"as-log\">" + logarithmic + "</div>\n";
}

bool SpansMuch(const Series& series) {
  constexpr double kTimes = 6;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const auto& [x, y] : series.points) {
    if (!std::isfinite(y)) continue;
    low = std::min(low, y);
    high = std::max(high, y);
  }
  return low > 0 && high > kTimes * low;
}

bool HasValues(const Series& series) {
  return std::any_of(series.points.begin(), series.points.end(), [](const auto& p) { return std::isfinite(p.second); });
}

bool AllPositive(const Series& series) {
  return HasValues(series) &&
         std::none_of(series.points.begin(), series.points.end(), [](const auto& p) { return p.second <= 0; });
}

std::string Words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string Titled(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

}  // namespace attune::cli
