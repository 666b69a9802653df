// A line chart as one <svg> element that needs nothing around it: fonts and colors are inline, and follow the custom
// properties --text, --axis, --grid and --ground of what surrounds it (a dark page). Pure.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attune::cli {

struct Series {
  std::string name;  // "" is not listed
  std::string color;
  std::vector<std::pair<double, double>> points;  // x ascending; a y that is not finite leaves a gap
  bool step = false;                              // holds its value until the next point
  bool faint = false, thin = false;
  bool dashed = false;
  bool filled = false;
  bool dots = false;    // points, no line
  bool sparse = false;  // each point is marked, and holds as figure until the next
};

// An area between two lines: an interval.
struct Band {
  std::string name, color;
  std::vector<double> x, low, high;
};

struct Mark {
  double x = 0;
  int number = 0;  // shown on top; 0: only the line
  std::string color;
  std::string target;  // id of the element that explains it; "" for none
};

// From one time to another something was tried.
struct Shade {
  double begin = 0, end = 0;
  std::string color;
};

struct Chart {
  std::string title, note;
  std::vector<Series> series;
  std::vector<Band> bands;
  std::vector<Mark> marks;
  std::vector<Shade> shades;
  double x_max = 1;                           // seconds, unless x_text says otherwise
  std::function<std::string(double)> x_text;  // of x; empty: a time
  std::string x_name;                         // before a value of x, "step"; "": "at"
  bool from_zero = false;
  bool whole = false;  // y counts things
  bool log_y = false;  // where all values are positive
  // Figures under the pointer, or where a finger was: hidden until a style around the chart shows `.v` in `.h:hover`.
  bool hover = false;
  bool y_time = false;  // y is in seconds
  int width = 940, height = 190;
  std::function<std::string(double)> format;  // of y
  std::function<double(double)> y_step;       // of a span; empty: decimal
};

// Mean of each point and its neighbors, a thirtieth of the points and at least five; where `raw` has a gap, so has it.
Series MovingMean(const Series& raw, const std::string& name);
// Empty when there is nothing to draw.
std::string SvgText(const Chart& chart);
// For text between tags and in attributes.
std::string EscapeHtml(std::string_view text);
// A step that makes about `count` ticks over `span`: 1, 2 or 5 times a power of ten.
double TickStep(double span, int count);

}  // namespace attune::cli
