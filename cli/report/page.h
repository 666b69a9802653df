// What all pages about runs share: head, style for light and dark and for narrow screens, and charts whose axes the
// reader switches. The page holds a drawing per choice and shows one of them; that needs no script. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/display/chart.h"
#include "cli/runs/run_history.h"

namespace attune::cli {

enum class XAxis { kTime, kSteps, kEpochs };

// What the reader can choose between; the first axis and the first scale are shown at first.
struct PageChoices {
  std::vector<XAxis> axes = {XAxis::kTime};
  bool log_loss = false;        // curves of the loss can be drawn on a logarithmic axis
  bool log_loss_first = false;  // and are at first
};

// The axes on which any of the runs has values.
std::vector<XAxis> AxesOf(const std::vector<const RunHistory*>& runs);
double StartOf(const RunHistory& history);   // seconds since 1970
double LengthOf(const RunHistory& history);  // seconds
// Of each point; never goes back. Steps and epochs are 0 before the first was reported.
std::vector<double> ValuesOn(XAxis axis, const RunHistory& history);

// All that lies between <style> and </style>, for these choices.
std::string PageStyle(const PageChoices& choices);
// A head without what ends it, so that more can be put into it.
std::string HeadBegin(const std::string& title, const std::string& style);
// What the body begins with: the choices, and the element that their style shows and hides parts of.
std::string MainBegin(const PageChoices& choices);
std::string PageBegin(const std::string& title, const PageChoices& choices);
std::string PageEnd();
// The buttons for the choices; "" when there is nothing to choose.
std::string ChoicesBar(const PageChoices& choices);

// Sets up the axis of a chart: what x means and how it reads.
void SetAxis(XAxis axis, double x_max, Chart& chart);
enum class ChartSize { kWhole, kHalf };  // of the width of the page
// One drawing per axis and kind of screen; "" when there is nothing to draw.
std::string DrawOnAxes(const PageChoices& choices, ChartSize size, const std::function<Chart(XAxis)>& make);
// The same twice, with a linear and a logarithmic axis where that can be chosen.
std::string DrawLoss(const PageChoices& choices, ChartSize size, const std::function<Chart(XAxis)>& make);

// Whether such a curve reads better on a logarithmic axis, where its end would look flat otherwise.
bool SpansMuch(const Series& series);
bool HasValues(const Series& series);
bool AllPositive(const Series& series);
// "held out loss" of "held_out_loss".
std::string Words(std::string name);
// "Held out loss": as the title of a chart.
std::string Titled(std::string words);

}  // namespace attune::cli
