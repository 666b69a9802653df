#include "cli/display/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "cli/display/chart_axis.h"
#include "operator/api/format.h"

namespace attune::cli {
namespace {

constexpr double kLeft = 74, kRight = 16, kTop = 34, kBottom = 26, kLegendRow = 18;
constexpr double kTextWidth = 6.3, kTitleWidth = 7.8;  // of a character, on average
constexpr char kGrid[] = "var(--grid,#e3e6ea)";
constexpr char kAxisText[] = "var(--axis,#5b6570)";
constexpr char kTitleText[] = "var(--text,#1f2933)";

std::string Fixed(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

class Drawing {
 public:
  Drawing(const Chart& chart, Bounds bounds) : chart_(chart), bounds_(bounds) {
    for (const Band& band : chart.bands) AddKey(band.name, band.color, Key::kArea);
    for (const Series& series : chart.series) {
      AddKey(series.name, series.color, series.dashed ? Key::kDashed : series.faint ? Key::kFaint : Key::kLine);
    }
    PlaceKeys();
    top_ = kTop + kLegendRow * legend_rows_;
    height_ = chart.height + kLegendRow * legend_rows_;
    bottom_ = height_ - kBottom;
  }

  std::string Text() {
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"" + EscapeHtml(chart_.title) +
            "\" viewBox=\"0 0 " + Fixed(Width()) + " " + Fixed(height_) +
            "\" font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"11\">";
    Header();
    Axes();
    for (const Shade& shade : chart_.shades) AddShade(shade);
    for (const Band& band : chart_.bands) AddBand(band);
    for (const Mark& mark : chart_.marks) AddMark(mark);
    for (const Series& series : chart_.series) AddSeries(series);
    AddBadges();
    if (chart_.hover) AddHover();  // last, so that its figures lie above all else
    return text_ + "</svg>\n";
  }

 private:
  static constexpr double kBadgeWidth = 16;
  // One entry of the legend.
  struct Key {
    enum Kind { kLine, kFaint, kDashed, kArea } kind = kLine;
    std::string name, color;
    double x = 0, y = 0;
    double width() const { return 26 + kTextWidth * static_cast<double>(name.size()) + 12; }
  };
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
    return bottom_ - std::clamp(share, 0.0, 1.0) * (bottom_ - top_);
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

  void AddKey(const std::string& name, const std::string& color, Key::Kind kind) {
    if (!name.empty()) keys_.push_back({kind, name, color});
  }

  // Beside the title where they fit, else in rows of their own below it.
  void PlaceKeys() {
    double width = 0;
    for (const Key& key : keys_) width += key.width();
    const double title = 4 + kTitleWidth * static_cast<double>(chart_.title.size()) + 16;
    const bool beside = title + width <= Width() - kRight;
    double x = beside ? Width() - kRight - width : 4;
    legend_rows_ = beside ? 0 : 1;
    for (Key& key : keys_) {
      if (!beside && x > 4 && x + key.width() > Width() - kRight) {
        x = 4;
        ++legend_rows_;
      }
      key.x = x;
      key.y = 14 + kLegendRow * legend_rows_;
      x += key.width();
    }
  }

  void Header() {
    Label(4, 14, "start", chart_.title, kTitleText, " font-weight=\"600\" font-size=\"13\"");
    for (const Key& key : keys_) {
      Label(key.x + 24, key.y, "start", key.name, kAxisText);
      if (key.kind == Key::kArea) {
        text_ += "<rect x=\"" + Fixed(key.x) + "\" y=\"" + Fixed(key.y - 9) + "\" width=\"18\" height=\"10\" fill=\"" +
                 key.color + "\" fill-opacity=\"0.2\"/>";
        continue;
      }
      text_ += "<polyline points=\"" + Fixed(key.x) + "," + Fixed(key.y - 4) + " " + Fixed(key.x + 18) + "," +
               Fixed(key.y - 4) + "\" stroke=\"" + key.color + "\"" +
               (key.kind == Key::kDashed  ? " stroke-width=\"2.5\" stroke-dasharray=\"4 3\""
                : key.kind == Key::kFaint ? " stroke-width=\"1\" stroke-opacity=\"0.6\""
                                          : " stroke-width=\"2.5\"") +
               "/>";
    }
  }

  void Tick(double y) {
    Line(kLeft, Y(y), Width() - kRight, Y(y), kGrid);
    const std::string text = chart_.y_time ? TickTimeText(y) : Trimmed(YText(y));
    Label(kLeft - 8, Y(y) + 4, "end", text, kAxisText);
  }

  void LinearTicks() {
    const double span = bounds_.high - bounds_.low;
    const int count = chart_.height > 200 ? 6 : 4;
    double step = chart_.y_step   ? chart_.y_step(span)
                  : chart_.y_time ? TimeTickStep(span, count)
                                  : TickStep(span, count);
    if (chart_.whole) step = std::max(1.0, std::ceil(step));
    for (const double y : Multiples(step, bounds_.low, bounds_.high + step * 1e-9)) Tick(y);
  }

  // 1, 2 and 5 times powers of ten; where the axis has less than one power, even steps. Only what is far enough apart
  // to be read.
  void LogTicks() {
    double last = -1;
    const auto add = [&](double y) {
      if (y < bounds_.low || y > bounds_.high || (last > 0 && Y(last) - Y(y) < 16)) return;
      Tick(y);
      last = y;
    };
    if (bounds_.high < 10 * bounds_.low) {
      const double step = TickStep(bounds_.high - bounds_.low, 8);
      for (const double y : Multiples(step, bounds_.low, bounds_.high)) add(y);
      return;
    }
    const int first = static_cast<int>(std::floor(std::log10(bounds_.low)));
    for (int exponent = first; std::pow(10, exponent) <= bounds_.high; ++exponent) {
      for (const double factor : {1.0, 2.0, 5.0}) add(factor * std::pow(10, exponent));
    }
  }

  void Axes() {
    if (chart_.log_y) {
      LogTicks();
    } else {
      LinearTicks();
    }
    const double step = XStep();
    for (const double x : Multiples(step, 0, chart_.x_max * (1 + 1e-9))) {
      Line(X(x), bottom_, X(x), bottom_ + 4, kAxisText);
      Label(X(x), bottom_ + 17, "middle", chart_.x_text ? Trimmed(chart_.x_text(x)) : TickTimeText(x), kAxisText);
    }
    Line(kLeft, bottom_, Width() - kRight, bottom_, kAxisText);
  }

  double XStep() const {
    const int count = static_cast<int>(Width() / 85);
    return chart_.x_text ? TickStep(chart_.x_max, count) : TimeTickStep(chart_.x_max, count);
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
    Line(x, top_ - 4, x, bottom_, mark.color, " stroke-width=\"1\" stroke-dasharray=\"3 3\" stroke-opacity=\"0.8\"");
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
      text_ += "<rect x=\"" + Fixed(badge.x - width / 2) + "\" y=\"" + Fixed(top_ - 13) + "\" width=\"" + Fixed(width) +
               "\" height=\"16\" rx=\"8\" fill=\"" + badge.color + "\"/>";
      Label(badge.x, top_ - 1.5, "middle", label, "#ffffff", " font-size=\"9.5\" font-weight=\"600\"");
      if (!badge.target.empty()) text_ += "</a>";
    }
  }

  void AddShade(const Shade& shade) {
    const double left = X(shade.begin), right = std::max(X(shade.end), left + 1);
    text_ += "<path d=\"M" + Fixed(left) + " " + Fixed(top_) + "H" + Fixed(right) + "V" + Fixed(bottom_) + "H" +
             Fixed(left) + "Z\" fill=\"" + shade.color + "\" fill-opacity=\"0.12\"/>";
  }

  std::string XText(double x) const {
    return (chart_.x_name.empty() ? "at" : chart_.x_name) + " " + (chart_.x_text ? chart_.x_text(x) : TickTimeText(x));
  }
  std::string YText(double y) const { return chart_.format ? chart_.format(y) : api::FormatFigure(y); }

  // Slices that show their figures while the pointer rests on them, without any script.
  void AddHover() {
    const double slice = Width() > 600 ? 12 : 10;
    const int slices = static_cast<int>((Width() - kLeft - kRight) / slice);
    for (int i = 0; i < slices; ++i) {
      const double begin = chart_.x_max * i / slices, end = chart_.x_max * (i + 1) / slices;
      std::vector<std::string> lines{XText((begin + end) / 2)};
      for (const Series& series : chart_.series) {
        if (const std::optional<double> value = ValueAt(series, begin, end))
          lines.push_back((series.name.empty() ? "" : series.name + " ") + YText(*value));
      }
      if (lines.size() > 1) AddSlice(X(begin), X(end), lines);
    }
  }

  void AddSlice(double left, double right, const std::vector<std::string>& lines) {
    constexpr double kLineHeight = 14;
    size_t longest = 0;
    for (const std::string& line : lines) longest = std::max(longest, line.size());
    const double width = kTextWidth * static_cast<double>(longest) + 12;
    const double height = kLineHeight * static_cast<double>(lines.size()) + 6;
    const double x = (left + right) / 2 > Width() / 2 ? left - 6 - width : right + 6;
    text_ += "<g class=\"h\"><path d=\"M" + Fixed(left) + " " + Fixed(top_) + "H" + Fixed(right) + "V" +
             Fixed(bottom_) + "H" + Fixed(left) +
             "Z\" fill=\"#888\" fill-opacity=\"0\"/><g class=\"v\" visibility=\"hidden\"><rect x=\"" + Fixed(x) +
             "\" y=\"" + Fixed(top_) + "\" width=\"" + Fixed(width) + "\" height=\"" + Fixed(height) +
             "\" rx=\"3\"/><text>";
    double y = top_ + 1;
    for (const std::string& line : lines) {
      y += kLineHeight;
      text_ += "<tspan x=\"" + Fixed(x + 6) + "\" y=\"" + Fixed(y) + "\">" + EscapeHtml(line) + "</tspan>";
    }
    text_ += "</text></g></g>";
  }

  // The last value in a slice; where it has none, what the line shows there: between two points, or the one before.
  static std::optional<double> ValueAt(const Series& series, double begin, double end) {
    const auto& points = series.points;
    const auto after = std::partition_point(points.begin(), points.end(), [&](const auto& p) { return p.first < end; });
    if (after == points.begin()) return std::nullopt;
    const auto& [x0, y0] = *std::prev(after);
    if (!std::isfinite(y0)) return std::nullopt;
    if (x0 >= begin || series.step || series.sparse) return y0;
    if (after == points.end() || !std::isfinite(after->second)) return std::nullopt;
    const double middle = (begin + end) / 2;
    return y0 + (after->second - y0) * std::clamp((middle - x0) / (after->first - x0), 0.0, 1.0);
  }

  void AddSeries(const Series& series) {
    if (series.dots) return AddDots(series);
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
    if (series.sparse) AddDots(series);
  }

  void AddDots(const Series& series) {
    for (const auto& [x, y] : series.points) {
      if (!std::isfinite(y)) continue;
      text_ += "<circle cx=\"" + Fixed(X(x)) + "\" cy=\"" + Fixed(Y(y)) + "\" r=\"3\" fill=\"" + series.color + "\"/>";
    }
  }

  void Flush(const Series& series, std::vector<std::pair<double, double>>& piece) {
    if (piece.empty()) return;
    std::string points;
    std::string last;
    for (const auto& [x, y] : piece) {
      std::string point = Fixed(x) + "," + Fixed(y) + " ";
      if (point != last) points += point;
      last = std::move(point);
    }
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
               (series.faint  ? "1"
                : series.thin ? "1.3"
                              : "2") +
               "\" stroke-linejoin=\"round\"" + (series.faint ? " stroke-opacity=\"0.6\"" : "") +
               (series.dashed ? " stroke-dasharray=\"5 4\"" : "") + "/>";
    }
    piece.clear();
  }

  const Chart& chart_;
  const Bounds bounds_;
  double top_ = kTop, bottom_ = 0, height_ = 0;
  std::vector<Key> keys_;
  int legend_rows_ = 0;
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

Series MovingMean(const Series& raw, const std::string& name) {
  Series smooth{.name = name, .color = raw.color};
  const size_t reach = std::max<size_t>(2, raw.points.size() / 60);
  for (size_t i = 0; i < raw.points.size(); ++i) {
    if (!std::isfinite(raw.points[i].second)) {
      smooth.points.emplace_back(raw.points[i].first, std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    double sum = 0, count = 0;
    for (size_t j = i > reach ? i - reach : 0; j <= std::min(raw.points.size() - 1, i + reach); ++j) {
      if (!std::isfinite(raw.points[j].second)) continue;
      sum += raw.points[j].second;
      count += 1;
    }
    smooth.points.emplace_back(raw.points[i].first, sum / count);
  }
  return smooth;
}

}  // namespace attune::cli
