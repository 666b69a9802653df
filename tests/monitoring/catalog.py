"""Names of the series that Attune exports, from the code, and those that queries use."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = ["sidecar/metrics.cpp", "operator/controller/metrics/metrics.cpp", "operator/controller/metrics/durations.cpp",
        "operator/leadership/metrics.cpp"]
DASHBOARDS = ROOT / "charts/attune/files/dashboards"
ALERTS = ROOT / "charts/attune/files/alerts.yaml"
ALERT_TESTS = ROOT / "tests/monitoring/alerts_test.yaml"


def exported():
    return {name for path in CODE for name in re.findall(r'"(attune_[a-z0-9_]+)"', (ROOT / path).read_text())}


def used(query):
    """Names of catalogs: the series of a histogram go by the histogram's."""
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"\battune_[a-z0-9_]+", query)}


def documented():
    """The names in the tables of docs/monitoring.md."""
    return set(re.findall(r"^\| `(attune_[a-z0-9_]+)`", (ROOT / "docs/monitoring.md").read_text(), re.MULTILINE))


def panels():
    """(dashboard, title, query) of every query of every panel, and of the variables and annotations of each dashboard."""
    for path in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                yield path.stem, panel["title"], target["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield path.stem, f"variable {variable['name']}", variable["definition"]
        for annotation in board["annotations"]["list"]:
            yield path.stem, annotation["name"], annotation["expr"]


def alerts():
    return re.findall(r"^ +- alert: (\w+)$", ALERTS.read_text(), re.MULTILINE)
