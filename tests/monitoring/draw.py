"""Draws the chart's dashboards as SVG from what a Prometheus has, so that a person can judge them without Grafana: same JSON, same queries, same grid."""
import html
import json
import math
import re

import catalog

COLUMN, ROW = 60, 34  # pixels of a cell of the grid
COLORS = ["#5794f2", "#73bf69", "#ff9830", "#f2495c", "#b877d9", "#37872d", "#8ab8ff", "#fade2a"]
PAPER, PANEL, INK, FAINT = "#111217", "#181b1f", "#d8d9da", "#6e7077"


def shown(value, unit):
    if value is None or not math.isfinite(value):
        return "-"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if abs(value) < 1 else f"{value:.3g} s" if value < 120 else f"{value / 60:.3g} min"
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g} {letter}" + {"bytes": "B", "Bps": "B/s"}.get(unit, "")
    return f"{value:.4g}" + {"bytes": " B", "Bps": " B/s"}.get(unit, "")


def legend_of(pattern, labels):
    if not pattern:
        return ", ".join(value for name, value in labels.items() if name != "__name__")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found.group(1), ""), pattern)


def text(x, y, words, size=12, color=INK, anchor="start", weight="normal"):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(words)}</text>'


class Board:
    """One dashboard. `ask(path, **arguments)` is Prometheus' HTTP API; `variables` are replaced in queries."""
    def __init__(self, path, ask, variables, begin, end):
        self.board, self.ask, self.variables, self.begin, self.end = json.loads(path.read_text()), ask, variables, begin, end

    def query(self, expression):
        for name, value in self.variables.items():
            expression = expression.replace(f"${name}", value)
        return expression

    def instant(self, target):
        return [(found["metric"], float(found["value"][1])) for found in self.ask("query", query=self.query(target["expr"]))["result"]]

    def lines(self, target):
        step = max(1, round((self.end - self.begin) / 120))
        found = self.ask("query_range", query=self.query(target["expr"]), start=self.begin, end=self.end, step=step)["result"]
        return [(legend_of(target["legendFormat"], series["metric"]), [(float(at), float(value)) for at, value in series["values"]]) for series in found]

    def stat(self, panel, w, h):
        unit = panel["fieldConfig"]["defaults"]["unit"]
        found = [(legend_of(t["legendFormat"], labels) if t["legendFormat"] else "", value) for t in panel["targets"] for labels, value in self.instant(t)]
        size = 30 if len(found) == 1 else 18
        for i, (name, value) in enumerate(found[:3]):
            words = name if panel["options"]["textMode"] == "name" else f"{shown(value, unit)} {name}".strip()
            yield text(w / 2, h / 2 + 20 + (i - (len(found) - 1) / 2) * 24, words, size, COLORS[1], "middle", "bold")

    def timeseries(self, panel, w, h):
        unit, stacked = panel["fieldConfig"]["defaults"]["unit"], panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"] == "normal"
        series = [line for target in panel["targets"] for line in self.lines(target)]
        if stacked:
            below = {}
            for _, points in series:
                for i, (at, value) in enumerate(points):
                    below[at] = below.get(at, 0) + (value if math.isfinite(value) else 0)
                    points[i] = (at, below[at])
        values = [value for _, points in series for _, value in points if math.isfinite(value)]
        low = min(values, default=0) if "min" not in panel["fieldConfig"]["defaults"] else 0
        high = max(values, default=1)
        high = high if high > low else low + 1
        left, top, right, bottom = 70, 34, w - 12, h - 46
        for share in (0, 0.5, 1):
            y = bottom - share * (bottom - top)
            yield f'<line x1="{left}" y1="{y:.0f}" x2="{right}" y2="{y:.0f}" stroke="#2c3235"/>'
            yield text(left - 6, y + 4, shown(low + share * (high - low), unit), 11, FAINT, "end")
        for i, (_, points) in enumerate(series):
            places = " ".join(f"{left + (at - self.begin) / (self.end - self.begin) * (right - left):.1f},{bottom - (value - low) / (high - low) * (bottom - top):.1f}"
                              for at, value in points if math.isfinite(value))
            yield f'<polyline points="{places}" fill="none" stroke="{COLORS[i % len(COLORS)]}" stroke-width="1.5"/>'
        x, y = left, h - 24
        for i, (name, _) in enumerate(series):
            if x + 26 + 7 * len(name) > right and y < h - 10:
                x, y = left, y + 16
            elif x + 26 + 7 * len(name) > right:
                yield text(x, y, f"and {len(series) - i} more", 11, FAINT)
                break
            yield f'<rect x="{x}" y="{y - 8}" width="12" height="3" fill="{COLORS[i % len(COLORS)]}"/>' + text(x + 16, y - 3, name, 11)
            x += 26 + 7 * len(name)

    def table(self, panel, w, h):
        units = {found["matcher"]["options"]: found["properties"][0]["value"] for found in panel["fieldConfig"]["overrides"] if found["properties"][0]["id"] == "unit"}
        rows, heads = {}, ["namespace", "job"]
        for target in panel["targets"]:
            heads.append(target["legendFormat"])
            for labels, value in self.instant(target):
                rows.setdefault((labels.get("namespace", ""), labels.get("job", "")), {})[target["legendFormat"]] = value
        for i, head in enumerate(heads):
            yield text(14 + i * w / len(heads), 52, head, 12, FAINT, weight="bold")
        for j, (key, cells) in enumerate(sorted(rows.items())[:8]):
            for i, head in enumerate(heads):
                yield text(14 + i * w / len(heads), 76 + 22 * j, key[i] if i < 2 else shown(cells.get(head), units.get(head, "short")), 12)

    def svg(self):
        panels = self.board["panels"]
        height = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels) * ROW + 60
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{24 * COLUMN}" height="{height}" viewBox="0 0 {24 * COLUMN} {height}" font-family="sans-serif">',
                 f'<rect width="100%" height="100%" fill="{PAPER}"/>', text(14, 34, self.board["title"], 20, weight="bold")]
        for panel in panels:
            at = panel["gridPos"]
            x, y, w, h = at["x"] * COLUMN, at["y"] * ROW + 50, at["w"] * COLUMN - 8, at["h"] * ROW - 8
            parts.append(f'<g transform="translate({x + 4},{y})">')
            if panel["type"] == "row":
                parts.append(text(6, 20, panel["title"], 15, weight="bold"))
            else:
                parts.append(f'<rect width="{w}" height="{h}" rx="3" fill="{PANEL}" stroke="#25282d"/>' + text(12, 20, panel["title"], 13, weight="bold"))
                parts += getattr(self, panel["type"])(panel, w, h)
            parts.append("</g>")
        return "\n".join([*parts, "</svg>\n"])


def draw(ask, variables, begin, end, place):
    """Writes place/dashboard-NAME.svg for each dashboard."""
    for path in sorted(catalog.DASHBOARDS.glob("*.json")):
        (place / f"dashboard-{path.stem}.svg").write_text(Board(path, ask, variables, begin, end).svg())
