#include "cli/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr double kLeft = 74, kRight = 16, kTop = 34, kBottom = 26;
constexpr char kGrid[] = "var(--grid,#e3e6ea)";
constexpr char kAxisText[] = "var(--axis,#5b6570)";
constexpr char kTitleText[] = "var(--text,#1f2933)";

std::string Fixed(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Ticks of seconds are whole numbers.
std::string TimeText(double seconds) {
  if (seconds < 10) return std::to_string(static_cast<int>(std::lround(seconds))) + (seconds > 0 ? "s" : "");
  return api::FormatSeconds(seconds);
}

// Ticks are round: zeros behind the point say nothing.
std::string TickText(double value) {
  std::string text = api::FormatFigure(value);
  if (text.find('.') == std::string::npos || text.find_first_not_of("-.0123456789") != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

struct Bounds {
  double low = 0, high = 1;
};

void Widen(double value, bool& any, Bounds& bounds) {
  if (!std::isfinite(value)) return;
  bounds.low = any ? std::min(bounds.low, value) : value;
  bounds.high = any ? std::max(bounds.high, value) : value;
  any = true;
}

bool AllPositive(const Chart& chart) {
  return std::all_of(chart.series.begin(), chart.series.end(), [](const Series& series) {
    return std::none_of(series.points.begin(), series.points.end(), [](const auto& p) { return p.second <= 0; });
  });
}

// A single wild value must not flatten the rest: lines reach from the 1st to the 99th percentile, with room above.
bool FindBounds(const Chart& chart, Bounds& bounds) {
  bool any = false;
  for (const Series& series : chart.series) {
    std::vector<double> values;
    for (const auto& [x, y] : series.points) {
      if (std::isfinite(y)) values.push_back(y);
    }
    if (values.empty()) continue;
    std::sort(values.begin(), values.end());
    const size_t cut = series.faint ? values.size() / 100 : 0;
    Widen(values[cut], any, bounds);
    Widen(values[values.size() - 1 - cut], any, bounds);
  }
  if (!any) return false;
  if (chart.from_zero) bounds.low = std::min(bounds.low, 0.0);
  if (chart.log_y) {  // room above and below in the same proportion
    const double room = std::max(std::pow(bounds.high / bounds.low, 0.06), 1.02);
    bounds = {bounds.low / room, bounds.high * room};
    return true;
  }
  double span = bounds.high - bounds.low;
  if (span <= 0) span = std::max(std::abs(bounds.high), 1.0);
  bounds.high += span * 0.06;
  if (!chart.from_zero) bounds.low -= span * 0.06;
  if (chart.whole) bounds = {0, std::max(2.0, std::ceil(bounds.high))};
  return true;
}

class Drawing {
 public:
  Drawing(const Chart& chart, Bounds bounds) : chart_(chart), bounds_(bounds), bottom_(chart.height - kBottom) {}

  std::string Text() {
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + Fixed(Width()) + " " +
            std::to_string(chart_.height) + "\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"11\">";
    Header();
    Axes();
    for (const Shade& shade : chart_.shades) AddShade(shade);
    for (const Band& band : chart_.bands) AddBand(band);
    for (const Mark& mark : chart_.marks) AddMark(mark);
    for (const Series& series : chart_.series) AddSeries(series);
    if (chart_.hover) AddHover();
    AddBadges();
    return text_ + "</svg>\n";
  }

 private:
  static constexpr double kBadgeWidth = 16;
  struct Badge {
    double x;
    int first, last;
    std::string color, target;
  };

  double Width() const { return chart_.width; }
  double Scaled(double y) const { return chart_.log_y ? std::log10(y) : y; }
  double X(double x) const { return kLeft + std::clamp(x / chart_.x_max, 0.0, 1.0) * (Width() - kLeft - kRight); }
  double Y(double y) const {
    const double share = (Scaled(y) - Scaled(bounds_.low)) / (Scaled(bounds_.high) - Scaled(bounds_.low));
    return bottom_ - std::clamp(share, 0.0, 1.0) * (bottom_ - kTop);
  }
  void Label(double x, double y, const char* anchor, const std::string& label, const char* color,
             const char* more = "") {
    text_ += "<text x=\"" + Fixed(x) + "\" y=\"" + Fixed(y) + "\" text-anchor=\"" + anchor +
             "\" style=\"fill:" + color + "\"" + more + ">" + EscapeHtml(label) + "</text>";
  }
  void Line(double x1, double y1, double x2, double y2, const std::string& color, const char* more = "") {
    text_ += "<line x1=\"" + Fixed(x1) + "\" y1=\"" + Fixed(y1) + "\" x2=\"" + Fixed(x2) + "\" y2=\"" + Fixed(y2) +
             "\" style=\"stroke:" + color + "\"" + more + "/>";
  }

  void Header() {
    Label(4, 14, "start", chart_.title, kTitleText, " font-weight=\"600\" font-size=\"13\"");
    double x = Width() - kRight;
    for (auto series = chart_.series.rbegin(); series != chart_.series.rend(); ++series) {
      if (series->name.empty()) continue;
      Label(x, 14, "end", series->name, kAxisText);
      x -= static_cast<double>(series->name.size()) * 6.3 + 8;
      Line(x - 18, 10, x, 10, series->color,
           series->dashed  ? " stroke-width=\"2.5\" stroke-dasharray=\"4 3\""
           : series->faint ? " stroke-width=\"1\" stroke-opacity=\"0.5\""
                           : " stroke-width=\"2.5\"");
      x -= 32;
    }
    for (const Band& band : chart_.bands) {
      if (band.name.empty()) continue;
      Label(x, 14, "end", band.name, kAxisText);
      x -= static_cast<double>(band.name.size()) * 6.3 + 8;
      text_ += "<rect x=\"" + Fixed(x - 18) + "\" y=\"5\" width=\"18\" height=\"10\" fill=\"" + band.color +
               "\" fill-opacity=\"0.2\"/>";
      x -= 32;
    }
  }

  void Tick(double y) {
    Line(kLeft, Y(y), Width() - kRight, Y(y), kGrid);
    Label(kLeft - 8, Y(y) + 4, "end", chart_.format ? chart_.format(y) : TickText(y), kAxisText);
  }

  void LinearTicks() {
    double step = chart_.y_step ? chart_.y_step(bounds_.high - bounds_.low)
                                : TickStep(bounds_.high - bounds_.low, chart_.height > 200 ? 6 : 4);
    if (chart_.whole) step = std::max(1.0, std::ceil(step));
    for (double y = std::ceil(bounds_.low / step) * step; y <= bounds_.high + step * 1e-9; y += step)
      Tick(std::abs(y) < step * 1e-9 ? 0 : y);
  }

  // 1, 2 and 5 times powers of ten, as far as they are apart enough to be read.
  void LogTicks() {
    double last = -1;
    for (double power = std::pow(10, std::floor(std::log10(bounds_.low))); power <= bounds_.high; power *= 10) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double y = factor * power;
        if (y < bounds_.low || y > bounds_.high || (last > 0 && Y(last) - Y(y) < 16)) continue;
        Tick(y);
        last = y;
      }
    }
  }

  void Axes() {
    if (chart_.log_y) {
      LogTicks();
    } else {
      LinearTicks();
    }
    const double time_step = TimeStep();
    for (double x = 0; x <= chart_.x_max * (1 + 1e-9); x += time_step) {
      Line(X(x), bottom_, X(x), bottom_ + 4, kAxisText);
      Label(X(x), bottom_ + 17, "middle", chart_.x_text ? chart_.x_text(x) : TimeText(x), kAxisText);
    }
    Line(kLeft, bottom_, Width() - kRight, bottom_, kAxisText);
  }

  double TimeStep() const {
    if (chart_.x_text) return TickStep(chart_.x_max, static_cast<int>(Width() / 85));
    for (const double step : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0}) {
      if (chart_.x_max / step <= Width() / 85) return step;
    }
    return TickStep(chart_.x_max / 3600, static_cast<int>(Width() / 115)) * 3600;
  }

  void AddBand(const Band& band) {
    std::string there, back;
    for (size_t i = 0; i < band.x.size(); ++i) {
      there += Fixed(X(band.x[i])) + "," + Fixed(Y(band.high[i])) + " ";
      const size_t j = band.x.size() - 1 - i;
      back += Fixed(X(band.x[j])) + "," + Fixed(Y(band.low[j])) + " ";
    }
    if (band.x.size() > 1) {
      text_ += "<polygon points=\"" + there + back + "\" fill=\"" + band.color + "\" fill-opacity=\"0.2\"/>";
    }
  }

  void AddMark(const Mark& mark) {
    const double x = X(mark.x);
    Line(x, kTop - 4, x, bottom_, mark.color, " stroke-width=\"1\" stroke-dasharray=\"3 3\" stroke-opacity=\"0.8\"");
    if (mark.number == 0) return;
    // Marks at nearly the same place share a badge.
    if (!badges_.empty() && x - badges_.back().x < kBadgeWidth) {
      badges_.back().last = mark.number;
    } else {
      badges_.push_back({x, mark.number, mark.number, mark.color, mark.target});
    }
  }

  void AddBadges() {
    for (const Badge& badge : badges_) {
      const bool one = badge.first == badge.last;
      const std::string label = std::to_string(badge.first) + (one ? "" : "-" + std::to_string(badge.last));
      const double width = std::max(kBadgeWidth, 6.0 * static_cast<double>(label.size()) + 5);
      if (!badge.target.empty()) text_ += "<a href=\"#" + badge.target + "\">";
      text_ += "<rect x=\"" + Fixed(badge.x - width / 2) + "\" y=\"" + Fixed(kTop - 13) + "\" width=\"" + Fixed(width) +
               "\" height=\"16\" rx=\"8\" fill=\"" + badge.color + "\"/>";
      Label(badge.x, kTop - 1.5, "middle", label, "#ffffff", " font-size=\"9.5\" font-weight=\"600\"");
      if (!badge.target.empty()) text_ += "</a>";
    }
  }

  void AddShade(const Shade& shade) {
    const double left = X(shade.begin), right = std::max(X(shade.end), left + 1);
    text_ += "<path d=\"M" + Fixed(left) + " " + Fixed(kTop) + "H" + Fixed(right) + "V" + Fixed(bottom_) + "H" +
             Fixed(left) + "Z\" fill=\"" + shade.color + "\" fill-opacity=\"0.12\"/>";
  }

  std::string XText(double x) const { return chart_.x_text ? chart_.x_text(x) : api::FormatSeconds(x); }

  // Slices that show their figures when the pointer rests on them, without any script.
  void AddHover() {
    constexpr double kSlice = 8;
    const int slices = static_cast<int>((Width() - kLeft - kRight) / kSlice);
    for (int i = 0; i < slices; ++i) {
      const double begin = chart_.x_max * i / slices, end = chart_.x_max * (i + 1) / slices;
      std::string figures;
      for (const Series& series : chart_.series) {
        const std::optional<double> value = ValueAt(series, begin, end);
        if (!value) continue;
        figures += "\n" + (series.name.empty() ? "" : series.name + ": ") +
                   (chart_.format ? chart_.format(*value) : api::FormatFigure(*value));
      }
      if (figures.empty()) continue;
      text_ += "<path class=\"h\" d=\"M" + Fixed(X(begin)) + " " + Fixed(kTop) + "H" + Fixed(X(end)) + "V" +
               Fixed(bottom_) + "H" + Fixed(X(begin)) + "Z\" fill=\"#888\" fill-opacity=\"0\"><title>" +
               EscapeHtml("at " + XText((begin + end) / 2) + figures) + "</title></path>";
    }
  }

  // The last value in a slice; of a line of two points, which may have none there, what lies between them.
  static std::optional<double> ValueAt(const Series& series, double begin, double end) {
    std::optional<double> found;
    for (const auto& [x, y] : series.points) {
      if (x >= end && found) break;
      if (x >= begin && x < end && std::isfinite(y)) found = y;
    }
    if (found || series.points.size() != 2) return found;
    const auto& [x0, y0] = series.points[0];
    const auto& [x1, y1] = series.points[1];
    const double middle = (begin + end) / 2;
    if (x1 <= x0 || middle < x0 || middle > x1) return found;
    return y0 + (y1 - y0) * (middle - x0) / (x1 - x0);
  }

  void AddSeries(const Series& series) {
    if (series.dots) {
      for (const auto& [x, y] : series.points) {
        if (!std::isfinite(y)) continue;
        text_ +=
            "<circle cx=\"" + Fixed(X(x)) + "\" cy=\"" + Fixed(Y(y)) + "\" r=\"3\" fill=\"" + series.color + "\"/>";
      }
      return;
    }
    std::vector<std::pair<double, double>> piece;
    for (const auto& [x, y] : series.points) {
      if (!std::isfinite(y)) {
        Flush(series, piece);
        continue;
      }
      if (series.step && !piece.empty()) piece.emplace_back(X(x), piece.back().second);
      piece.emplace_back(X(x), Y(y));
    }
    Flush(series, piece);
  }

  void Flush(const Series& series, std::vector<std::pair<double, double>>& piece) {
    if (piece.empty()) return;
    std::string points;
    for (const auto& [x, y] : piece) points += Fixed(x) + "," + Fixed(y) + " ";
    if (series.filled) {
      text_ += "<polygon points=\"" + Fixed(piece.front().first) + "," + Fixed(bottom_) + " " + points +
               Fixed(piece.back().first) + "," + Fixed(bottom_) + "\" fill=\"" + series.color +
               "\" fill-opacity=\"0.15\"/>";
    }
    if (piece.size() == 1) {
      text_ += "<circle cx=\"" + Fixed(piece[0].first) + "\" cy=\"" + Fixed(piece[0].second) + "\" r=\"1.5\" fill=\"" +
               series.color + "\"/>";
    } else {
      text_ += "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + series.color + "\" stroke-width=\"" +
               (series.faint ? "1" : "2") + "\" stroke-linejoin=\"round\"" +
               (series.faint ? " stroke-opacity=\"0.5\"" : "") + (series.dashed ? " stroke-dasharray=\"5 4\"" : "") +
               "/>";
    }
    piece.clear();
  }

  const Chart& chart_;
  const Bounds bounds_;
  const double bottom_;
  std::vector<Badge> badges_;
  std::string text_;
};

}  // namespace

std::string SvgText(const Chart& chart) {
  Bounds bounds;
  if (chart.log_y && !AllPositive(chart)) {
    Chart linear = chart;
    linear.log_y = false;
    return SvgText(linear);
  }
  if (!FindBounds(chart, bounds) || chart.x_max <= 0) return "";
  return Drawing(chart, bounds).Text();
}

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

double TickStep(double span, int count) {
  if (!(span > 0) || count < 1) return 1;
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace attune::cli
