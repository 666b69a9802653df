#!/usr/bin/env python3
"""Draws the charts of the documentation from the figures in bench/figures: bench/charts.py [--check]
--check: nothing is written; exit code 1 when a chart in docs/charts is not what its figures give."""
import csv
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES, CHARTS = ROOT / "bench" / "figures", ROOT / "docs" / "charts"
COLORS = ["#8a8f98", "#1f77b4", "#d9a441", "#c0504d"]
STYLE = ("text{font:12px system-ui,sans-serif;fill:#30343b}.title{font-size:14px;font-weight:600}"
         ".small{font-size:11px;fill:#6a7079}"
         "@media(prefers-color-scheme:dark){text{fill:#d7dae0}.small{fill:#9aa0a8}}")
LABEL, BAR, GAP, WIDTH, RIGHT = 210, 13, 12, 760, 60


def read(name):
    with open(FIGURES / f"{name}.csv", encoding="utf-8") as file:
        source = file.readline().lstrip("# ").strip()
        rows = list(csv.reader(file))
    return source, rows[0][1:], [(row[0], [float(value) for value in row[1:]]) for row in rows[1:]]


def bars(name, title, unit, cap=None):
    """Groups of horizontal bars. A bar beyond `cap` ends in an arrow; its figure stands beside it."""
    source, series, groups = read(name)
    most = min(cap or float("inf"), max(value for _, values in groups for value in values))
    out, y = [], 58
    x = LABEL
    for color, text in zip(COLORS, series):
        out.append(f'<rect x="{x}" y="32" width="11" height="11" fill="{color}"/><text x="{x + 16}" y="42">{escape(text)}</text>')
        x += 36 + 7 * len(text)
    for label, values in groups:
        height = len(values) * BAR
        out.append(f'<text x="{LABEL - 10}" y="{y + height / 2 + 4:.0f}" text-anchor="end">{escape(label)}</text>')
        for index, value in enumerate(values):
            width = min(value, most) / most * (WIDTH - LABEL - RIGHT)
            top = y + index * BAR
            out.append(f'<rect x="{LABEL}" y="{top}" width="{width:.1f}" height="{BAR - 2}" fill="{COLORS[index]}"/>')
            if value > most:
                tip = LABEL + width
                out.append(f'<path d="M{tip:.1f} {top} l7 {(BAR - 2) / 2} l-7 {(BAR - 2) / 2} z" fill="{COLORS[index]}"/>')
            out.append(f'<text class="small" x="{LABEL + width + (11 if value > most else 4):.1f}" y="{top + 10}">{value:g}</text>')
        y += height + GAP
    out.append(f'<text class="small" x="{LABEL}" y="{y + 8}">{escape(unit)}</text>')
    height = y + 20
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
            f'aria-label="{escape(title)}">\n<desc>{escape(source)}</desc>\n<style>{STYLE}</style>\n'
            f'<text class="title" x="{LABEL}" y="20">{escape(title)}</text>\n' + "\n".join(out) + "\n</svg>\n")


def shares(name, title, unit):
    """A bar per group, divided by its values, which are percents."""
    source, series, groups = read(name)
    row, scale, out, x = 17, (WIDTH - LABEL - RIGHT) / 100, [], 20
    for color, text in zip(COLORS, series):
        out.append(f'<rect x="{x}" y="32" width="11" height="11" fill="{color}"/><text x="{x + 16}" y="42">{escape(text)}</text>')
        x += 36 + 7 * len(text)
    for place, (label, values) in enumerate(groups):
        y, left = 54 + place * row, LABEL
        out.append(f'<text x="{LABEL - 10}" y="{y + 11}" text-anchor="end">{escape(label)}</text>')
        for color, value in zip(COLORS, values):
            if value > 0:
                out.append(f'<rect x="{left:.1f}" y="{y}" width="{value * scale:.1f}" height="{row - 3}" fill="{color}"/>')
            left += value * scale
    bottom = 54 + len(groups) * row
    out.append(f'<text class="small" x="{LABEL}" y="{bottom + 14}">{escape(unit)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 24}" width="{WIDTH}" height="{bottom + 24}" role="img" '
            f'aria-label="{escape(title)}">\n<desc>{escape(source)}</desc>\n<style>{STYLE}</style>\n'
            f'<text class="title" x="{LABEL}" y="20">{escape(title)}</text>\n' + "\n".join(out) + "\n</svg>\n")


def gains():
    """A line per kind of job: how many times sooner the tuner is there than the mean static setting; a tick where the best one would be."""
    source, _, groups = read("live_tuning")
    row, scale = 19, (WIDTH - LABEL - RIGHT) / 7
    out = [f'<rect x="{LABEL}" y="32" width="11" height="11" fill="{COLORS[1]}"/><text x="{LABEL + 16}" y="42">tunes itself, from the worst setting on</text>',
           f'<path d="M{LABEL + 276} 30v15" stroke="{COLORS[3]}" stroke-width="3"/><text x="{LABEL + 284}" y="42">the best setting, if it were known</text>']
    for place, (label, (best, tuner, mean, _)) in enumerate(groups):
        y = 54 + place * row
        out += [f'<text x="{LABEL - 10}" y="{y + 12}" text-anchor="end">{escape(label)}</text>',
                f'<rect x="{LABEL}" y="{y}" width="{mean / tuner * scale:.1f}" height="14" fill="{COLORS[1]}"/>',
                f'<path d="M{LABEL + mean / best * scale:.1f} {y - 1}v16" stroke="{COLORS[3]}" stroke-width="3"/>',
                f'<text class="small" x="{LABEL + max(mean / tuner, mean / best) * scale + 7:.1f}" y="{y + 11}">{mean / tuner:.1f}</text>']
    bottom = 54 + len(groups) * row
    out += [f'<path d="M{LABEL + scale:.1f} 50V{bottom}" stroke="{COLORS[0]}" stroke-dasharray="4 3"/>',
            f'<text class="small" x="{LABEL}" y="{bottom + 14}">times sooner at the goal than with the mean of all static settings (dashed: 1); exploration included</text>']
    title = "Jobs that tune themselves, on real processes"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 24}" width="{WIDTH}" height="{bottom + 24}" role="img" '
            f'aria-label="{escape(title)}">\n<desc>{escape(source)}</desc>\n<style>{STYLE}</style>\n'
            f'<text class="title" x="{LABEL}" y="20">{escape(title)}</text>\n' + "\n".join(out) + "\n</svg>\n")


def main():
    charts = {
        "gain": gains(),
        "live-tuning": bars("live_tuning", "Jobs that tune themselves, on real processes", "seconds to the same goal; the tuner starts at the worst setting, exploration included", cap=800),
        "transport": bars("transport", "Remote pulls and pushes", "million rows of 64 values per second, 8 calls of 256 keys in flight, one server thread"),
        "rows-early": bars("rows_early", "Time on rows in a step, by how early they are announced", "milliseconds within Pull, PushAsync and Step, median; 2 ms of thinking a step, TCP"),
        "rows-places": shares("rows_places", "Where an adaptive job finds its rows, over a run", "percent of the rows asked for; after its trial the job keeps what was faster"),
        "rows-ranks": shares("rows_ranks", "What becomes of announced rows, by rank", "percent of the rows of each rank, at both workers; rank 1 is used most"),
        "scaling": bars("scaling", "Changing the number of servers under training, 1 GB of rows", "seconds of full rate lost"),
    }
    stale = []
    for name, text in charts.items():
        path = CHARTS / f"{name}.svg"
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(str(path.relative_to(ROOT)))
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        print("charts are not what bench/figures gives: " + ", ".join(stale) + "; run bench/charts.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
